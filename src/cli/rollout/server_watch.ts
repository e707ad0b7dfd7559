import type { PolicyError } from "../../errors.ts";
import type { ModelServerOptions } from "../../policy/model_server.ts";
import { type Policy, type Reply, toReply } from "../../policy/policy.ts";
import { escapeLine } from "../../terminal_text.ts";

/** Options of model servers that a run watches. */
export type WatchedServerOptions = Pick<ModelServerOptions, "waitMs" | "onAway" | "onBack" | "onUnusable">;

/** Default seconds that a run waits for a server that has answered before. */
export const DEFAULT_SERVER_WAIT = 600;

/** The model servers of a run: of the policy, the simulated users and the judge. */
export class ServerWatch {
  /** Error that all later episodes would have too. */
  unusable: PolicyError | undefined;
  /** Options for the clients of the servers. */
  readonly options: WatchedServerOptions;
  readonly #firstReply = new AbortController();
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

  /** Returns the policy, whose first reply ends {@linkcode hintAfter}. `onReply` is called with each reply. */
  watch(policy: Policy, onReply: (reply: Reply) => void = () => {}): Policy {
    return {
      ...policy,
      reply: async (history, context) => {
        const reply = await policy.reply(history, context);
        this.#firstReply.abort();
        onReply(toReply(reply));
        return reply;
      },
    };
  }

  /** Prints a hint if there is no reply after some time. Disposal stops the clock. */
  hintAfter(ms: number = HINT_MS): Disposable {
    const print = () =>
      this.#print(
        `No reply after ${
          ms / 1000
        } s: --max-tokens N shortens replies, --concurrency N sends fewer requests at once\n`,
      );
    const timer = setTimeout(print, ms);
    const stop = () => clearTimeout(timer);
    this.#firstReply.signal.addEventListener("abort", stop, { once: true });
    return { [Symbol.dispose]: stop };
  }
}

/** Time without a reply after which a hint is printed, in milliseconds. */
const HINT_MS = 30_000;
