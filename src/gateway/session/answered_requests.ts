import type { ModelRequest } from "../model_request.ts";
import type { SampledTurn } from "./session_row.ts";

/** The requests of a session that have an answer, by which repeated requests are recognized. */
export class AnsweredRequests {
  /** Answers by the identity of their request, oldest first. */
  readonly #answers = new Map<string, { turn: SampledTurn; idempotencyKey: string | undefined }[]>();
  /** Turns whose answer the agent does not have. */
  readonly #lost = new WeakSet<SampledTurn>();
  #count = 0;

  /** Number of answers. */
  get count(): number {
    return this.#count;
  }

  /** Adds an answer. It counts as lost until {@linkcode noteTaken}. */
  add({ identity, retry: { idempotencyKey } }: ModelRequest, turn: SampledTurn): void {
    this.#answers.getOrInsertComputed(identity, () => []).push({ turn, idempotencyKey });
    this.#lost.add(turn);
    this.#count++;
  }

  /**
   * Returns the answer that a request gets again: an answer with the same idempotency key, or the last answer of an
   * equal request, if that was lost or the client counts its retries. Any other equal request is a new sample.
   */
  find({ identity, retry: { idempotencyKey: key, count } }: ModelRequest): SampledTurn | undefined {
    const answers = this.#answers.get(identity) ?? [];
    const keyed = key === undefined
      ? undefined
      : answers.find(({ idempotencyKey }) => idempotencyKey === key);
    if (keyed !== undefined) return keyed.turn;
    const last = answers.at(-1)?.turn;
    return last !== undefined && (count > 0 || this.#lost.has(last)) ? last : undefined;
  }

  /** Records that the agent has an answer, or begins to read the answer. */
  noteTaken(turn: SampledTurn): void {
    this.#lost.delete(turn);
  }

  /** Records that the agent did not get a whole answer. */
  noteLost(turn: SampledTurn): void {
    this.#lost.add(turn);
  }
}
