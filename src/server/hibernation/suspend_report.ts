import { errorMessage } from "../../errors.ts";
import { ServerError } from "../http/http_errors.ts";
import { countSessions } from "./saved_sessions.ts";

/** Report of the sessions of a server that has stopped. */
export interface SuspendReport {
  /** Sessions that a later server continues. */
  readonly saved: number;
  /** Sessions that this server could not continue, and whose files are unchanged. */
  readonly kept: number;
  /** Sessions that have ended as they could not be saved. */
  readonly lost: number;
  /** Why they could not, most frequent first. Messages of the same kind are joined. */
  readonly reasons: readonly LossReason[];
}

/** Why sessions could not be saved. */
export interface LossReason {
  readonly count: number;
  /** Message of the first of them, for the host. */
  readonly message: string;
}

/** Reasons that a report has. */
const MAX_REASONS = 8;

/** Returns the report of sessions whose saving has failed with these errors. */
export function toSuspendReport(
  { saved, kept, errors }: { saved: number; kept: number; errors: readonly unknown[] },
): SuspendReport {
  const causes = errors.map((error) =>
    error instanceof ServerError && error.code === "internal" ? error.cause : error
  );
  const reasons = Map.groupBy(causes, kindOf).values()
    .map((alike) => ({ count: alike.length, message: errorMessage(alike[0]) })).toArray();
  reasons.sort((one, other) => other.count - one.count);
  return { saved, kept, lost: errors.length, reasons: reasons.slice(0, MAX_REASONS) };
}

/** Returns what errors of the same kind share: the code of a refusal or of the system, such as ENOSPC. */
function kindOf(error: unknown): string {
  if (error instanceof ServerError) return error.reason ?? error.code;
  if (!(error instanceof Error)) return "";
  return "code" in error ? `${error.name} ${error.code}` : error.name;
}

/** Returns a report in a line. */
export function formatSuspendReport({ saved, kept, lost, reasons }: SuspendReport, folder: string): string {
  const unchanged = kept === 0 ? "" : `, beside ${countSessions(kept)} that this server could not continue`;
  const listed = reasons.map(({ count, message }) => reasons.length === 1 ? message : `${count}: ${message}`);
  const ended = lost === 0
    ? ""
    : `; lost ${countSessions(lost)} that could not be saved (${listed.join("; ")})`;
  return `Saved ${countSessions(saved)} in ${folder}${unchanged}${ended}`;
}
