import type { PolicyError } from "../../errors.ts";
import type { ModelServerOptions } from "../../policy/model_server.ts";
import { escapeLine } from "../../terminal_text.ts";

/** Options of model servers that a run watches. */
export type WatchedServerOptions = Pick<ModelServerOptions, "waitMs" | "onAway" | "onBack" | "onUnusable">;

/** Default seconds that a run waits for a server that has answered before. */
export const DEFAULT_SERVER_WAIT = 600;

/** The model servers of a run: of its policy, its simulated users and its judge. */
export class ServerWatch {
  /** Error that all later episodes would have too. */
  unusable: PolicyError | undefined;
  /** Options for the clients of the servers. */
  readonly options: WatchedServerOptions;
  #print: (text: string) => void = () => {};

  constructor({ waitSeconds }: { waitSeconds: number }) {
    this.options = {
      waitMs: waitSeconds * 1000,
      onAway: ({ reason }) =>
        this.#print(
          `The model server ${escapeLine(reason)}: waiting up to ${waitSeconds} s for it (--server-wait)\n`,
        ),
      onBack: ({ awayMs }) =>
        this.#print(`The model server answers again after ${(awayMs / 1000).toFixed(0)} s\n`),
      onUnusable: (error) => this.unusable ??= error,
    };
  }

  /** Sets where notices are printed. */
  printTo(print: (text: string) => void): void {
    this.#print = print;
  }
}
