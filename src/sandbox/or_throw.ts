import type { ExecResult, ExecStatus } from "./contract/exec.ts";

/** Result of a program that ran to its end. */
export type OkResult = Extract<ExecResult, { status: "ok" }>;

/** The error of {@linkcode orThrow}: a program raised an exception, exceeded a limit, or ended in another way. */
export class ProgramError extends Error {
  override readonly name = "ProgramError";
  /** Status of the result, which is not `ok`. */
  readonly code: Exclude<ExecStatus, "ok">;
  readonly result: Exclude<ExecResult, OkResult>;

  constructor(result: Exclude<ExecResult, OkResult>) {
    super(describe(result));
    this.code = result.status;
    this.result = result;
  }
}

/**
 * Returns the result of a program that ran to its end, and throws for any other one. Sessions themselves never throw for
 * what a program does.
 *
 * @example The value of an expression
 * ```ts
 * import { assertEquals, assertRejects } from "@std/assert";
 * import { orThrow, ProgramError, Sandbox } from "@paddock/paddock";
 *
 * await using sandbox = await Sandbox.start();
 * await using session = await sandbox.openSession();
 * const { value } = await orThrow(session.exec("6 * 7"));
 * assertEquals(value, "42");
 * await assertRejects(() => orThrow(session.exec("1 / 0")), ProgramError, "ZeroDivisionError");
 * ```
 *
 * @throws {ProgramError} if the status is not `ok`. The message has the traceback, if there is one.
 */
export async function orThrow(result: ExecResult | Promise<ExecResult>): Promise<OkResult> {
  const settled = await result;
  if (settled.status === "ok") return settled;
  throw new ProgramError(settled);
}

function describe(result: Exclude<ExecResult, OkResult>): string {
  if (result.status === "exited") return `The program called sys.exit(${result.exitCode})`;
  if (result.status === "waiting") {
    return `The program waits for the answer to '${result.call.callId}' (${result.call.name})`;
  }
  const { type, message, traceback } = result.error;
  const text = [type, message].filter(Boolean).join(": ");
  const end = traceback.trimEnd() === "" ? "" : `\n${traceback.trimEnd()}`;
  return `The program ended with status '${result.status}': ${text}${end}`;
}
