import { PolicyError } from "../errors.ts";

/**
 * A limit of a reply's tokens that the caller has not asked for. A server that refuses the limit, as the context is
 * smaller or the model has another name for the limit, gets the request again without the limit.
 */
export class DefaultMaxTokens {
  readonly #limit: number | undefined;
  #isRefused = false;

  constructor(limit: number | undefined) {
    this.#limit = limit;
  }

  /** Calls `send` with the limit, and without the limit if the server refuses. */
  async apply<T>(send: (maxTokens: number | undefined) => Promise<T>): Promise<T> {
    if (this.#limit === undefined || this.#isRefused) return await send(undefined);
    try {
      return await send(this.#limit);
    } catch (error) {
      const fault = error instanceof PolicyError ? error.fault : undefined;
      if (fault !== "refused" && fault !== "context_overflow") throw error;
      const reply = await send(undefined).catch(() => {
        throw error; // the limit was not the reason
      });
      // a long conversation leaves less room than the next conversation
      this.#isRefused = fault === "refused";
      return reply;
    }
  }
}
