import type { ExecResult } from "../../sandbox/contract/exec.ts";
import type { ShellResult } from "../../sandbox/contract/shell.ts";

/** Loss of an interpreter while the server used the session, which the next result of the client's programs states. */
export class InterpreterLoss {
  #noted: Pick<ExecResult, "restarted" | "restoredFrom"> = {};

  /** Notes the loss that the result of a program of the server states. */
  note({ restarted, restoredFrom }: ExecResult): void {
    if (restarted) this.#noted = { restarted };
    if (restoredFrom) this.#noted = { ...this.#noted, restoredFrom };
  }

  /** Adds the noted loss to the result of a program of the client. */
  report(result: ExecResult | ShellResult): void {
    const { restarted, restoredFrom } = this.#noted;
    if (restarted) result.restarted = true;
    if (restoredFrom) result.restoredFrom ??= restoredFrom;
    this.#noted = {};
  }
}
