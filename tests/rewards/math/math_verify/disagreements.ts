import { z } from "zod";
import { parse } from "@std/jsonc";

/** Verdicts of both graders on a pair. */
export interface Verdicts {
  /** Name of the class of pairs, or number of the row. */
  readonly name: string;
  readonly truth: string;
  readonly reply: string;
  /** Verdict of math-verify. `undefined` if it cannot parse the expected answer. */
  readonly byMathVerify: boolean | undefined;
  readonly byMath: boolean;
  /** Verdict of Hendrycks' comparison. */
  readonly byHendrycks: boolean;
}

/**
 * Why two verdicts differ:
 * - `too easily`: math-verify accepts what is not equal.
 * - `escaped`: the row is escaped twice in math-verify's tests.
 * - `misread`: math-verify reads an equal answer in another way and refuses it.
 * - `missed`: `math()` refuses an equal answer.
 */
const CAUSES = ["too easily", "escaped", "misread", "missed"] as const;

const acceptedSchema = z.array(z.strictObject({
  name: z.string(),
  /** The grader that accepts the answer. */
  accepts: z.enum(["math", "math-verify"]),
  cause: z.enum(CAUSES),
  reason: z.string().min(10),
}));

/** An accepted disagreement. */
export type Accepted = z.infer<typeof acceptedSchema>[number];

/** Reads the list of accepted disagreements. */
export async function readAccepted(): Promise<Accepted[]> {
  const text = await Deno.readTextFile(new URL("accepted_disagreements.jsonc", import.meta.url));
  return acceptedSchema.parse(parse(text));
}

/** Pairs of the same name on which the graders differ in the same way. */
export interface Disagreement {
  readonly name: string;
  readonly accepts: Accepted["accepts"];
  readonly pairs: readonly Verdicts[];
}

/** Returns the disagreements by name. A pair without a verdict of math-verify is none. */
export function findDisagreements(verdicts: readonly Verdicts[]): Disagreement[] {
  const differing = verdicts.filter(({ byMathVerify, byMath }) =>
    byMathVerify !== undefined && byMathVerify !== byMath
  );
  const groups = Map.groupBy(differing, ({ name, byMath }) => `${byMath ? "math" : "math-verify"} ${name}`);
  return [...groups.values()].flatMap((pairs) => {
    const [first] = pairs;
    return first === undefined
      ? []
      : [{ name: first.name, accepts: first.byMath ? "math" as const : "math-verify" as const, pairs }];
  });
}

/** Shares of the pairs that math-verify calls equal. */
export interface Agreement {
  /** Pairs that math-verify calls equal, without those that it accepts too easily or that are escaped wrongly. */
  readonly equal: number;
  /** Pairs of these that `math()` accepts. */
  readonly agreed: number;
}

/** Counts on how many pairs `math()` agrees. */
export function countAgreement(verdicts: readonly Verdicts[], accepted: readonly Accepted[]): Agreement {
  const excused = new Set(
    accepted.filter(({ cause }) => cause === "too easily" || cause === "escaped").map(({ name }) => name),
  );
  const equal = verdicts.filter(({ name, byMathVerify, byMath }) =>
    byMathVerify === true && (byMath || !excused.has(name))
  );
  return { equal: equal.length, agreed: equal.filter(({ byMath }) => byMath).length };
}

/** Formats disagreements as a table, each with an example. */
export function formatDisagreements(
  disagreements: readonly Disagreement[],
  accepted: readonly Accepted[],
): string {
  const rows = disagreements.map(({ name, accepts, pairs }) => {
    const entry = accepted.find((other) => other.name === name && other.accepts === accepts);
    const [example] = pairs;
    const texts = [example?.truth, example?.reply].map((text) => JSON.stringify(text).slice(0, 120));
    return `${String(pairs.length).padStart(4)}  ${name}: only ${accepts} accepts (${
      entry?.cause ?? "UNKNOWN"
    })\n` +
      `        ${texts.join(" <- ")}${entry ? `\n        ${entry.reason}` : ""}`;
  });
  return rows.toSorted().join("\n");
}
