/** Outcomes of tests by their ids: `passed`, `skipped`, or the reason of a failure. */
export type Outcomes = Readonly<Record<string, string>>;

/** A test with another outcome in the session than natively. */
export interface Difference {
  readonly id: string;
  readonly native: string;
  readonly session: string;
}

/** How the outcomes of a suite compare. */
export interface SuiteComparison {
  /** Number of tests with the same outcome. Two failures are the same, whatever their texts. */
  readonly same: number;
  /** Number of tests that pass in the session. */
  readonly passed: number;
  /** Number of listed tests that differ. */
  readonly listed: number;
  readonly unexpected: Difference[];
}

const MISSING = "not collected";

/** Compares the outcomes of a suite. `expected` has beginnings of the ids of tests that may differ, by reason. */
export function differencesOf(
  native: Outcomes,
  session: Outcomes,
  expected: Readonly<Record<string, readonly string[]>>,
): SuiteComparison {
  const ids = [...new Set([...Object.keys(native), ...Object.keys(session)])];
  const differences = ids.map((id) => ({
    id,
    native: native[id] ?? MISSING,
    session: session[id] ?? MISSING,
  }))
    .filter(({ native, session }) => kindOf(native) !== kindOf(session));
  const beginnings = Object.values(expected).flat();
  const isListed = ({ id }: Difference) => beginnings.some((beginning) => id.startsWith(beginning));
  return {
    same: ids.length - differences.length,
    passed: Object.values(session).filter((outcome) => outcome === "passed").length,
    listed: differences.filter(isListed).length,
    unexpected: differences.filter((difference) => !isListed(difference)),
  };
}

/** The kind of an outcome, without the reason of a failure. */
function kindOf(outcome: string): string {
  return outcome.startsWith("failed") ? "failed" : outcome;
}
