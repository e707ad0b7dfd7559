import type { EpisodeFailure } from "../errors.ts";
import type { InteractionResult } from "../rollout/interaction.ts";
import type { BudgetLease } from "../server/admission/budget.ts";
import { ResponseItems } from "./dialects/response_items.ts";
import { GatewayError } from "./gateway_error.ts";
import type { ModelRequest } from "./model_request.ts";
import type { SessionJournal } from "./state/session_journal.ts";
import type { GatewaySession } from "./session/gateway_session.ts";
import type { SampledTurn, SessionEnd } from "./session/session_row.ts";

/** Options of {@linkcode LiveSession}. */
export interface LiveSessionOptions {
  readonly owner: string;
  /** Secret with which the agent asks the model. */
  readonly key: string;
  readonly session: GatewaySession;
  /** Memory of the owner, of which the session takes a part. */
  readonly lease: BudgetLease;
  /** Milliseconds without a request after which the session ends, and after its end is forgotten. */
  readonly idleMs: number;
  /** Journal of the session, if sessions are kept over a restart. */
  readonly journal?: SessionJournal | undefined;
  /** Called once with the rows, when the session ends. */
  readonly onEnd: (live: LiveSession, rows: readonly InteractionResult[]) => void;
  /** Called when the session has ended for its idle time. */
  readonly onForget: (live: LiveSession) => void;
}

/** A session of a gateway: with its owner, its key, its memory and its time. */
export class LiveSession implements Disposable {
  readonly owner: string;
  readonly key: string;
  readonly session: GatewaySession;
  readonly createdAt: Date = new Date();
  /** Items of the session's responses. */
  readonly items: ResponseItems = new ResponseItems();
  readonly #options: LiveSessionOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running = 0;

  constructor(options: LiveSessionOptions) {
    const { owner, key, session } = options;
    this.owner = owner;
    this.key = key;
    this.session = session;
    this.#options = options;
    this.#restartTimer();
  }

  get id(): string {
    return this.session.id;
  }

  /** Number of requests that wait for an answer. */
  get running(): number {
    return this.#running;
  }

  /**
   * Answers a request of the agent.
   *
   * @throws {GatewayError} if there is no answer.
   * @throws {ServerError} `busy` or `too_large` if the owner has no memory for it.
   */
  async answer(request: ModelRequest, { signal }: { signal: AbortSignal }): Promise<SampledTurn> {
    const { lease } = this.#options;
    lease.resize(Math.max(this.session.bytes, MIN_BYTES) + TURN_BYTES);
    this.#running++;
    clearTimeout(this.#timer);
    try {
      return await this.session.answer(request, { signal });
    } finally {
      this.#running--;
      this.#restartTimer();
    }
  }

  /** Ends the session, and reports its rows. The first end counts. */
  finish(end: SessionEnd): void {
    if (this.session.end !== undefined) return;
    this.#options.journal?.end(end);
    this.session.finish(end);
    this.#restartTimer();
    this.#options.onEnd(this, this.session.results());
  }

  /** Removes the session's journal, if it has one. */
  forget(): void {
    this.#options.journal?.remove();
  }

  /** Stops the timer and frees the memory. */
  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#options.lease[Symbol.dispose]();
  }

  #restartTimer(): void {
    clearTimeout(this.#timer);
    if (this.#running > 0) return;
    this.#timer = setTimeout(() => this.#expire(), this.#options.idleMs);
    Deno.unrefTimer(Number(this.#timer));
  }

  /** Ends the session, or forgets the session if it has ended. */
  #expire(): void {
    if (this.session.end !== undefined) return this.#options.onForget(this);
    const message = `The agent sent no request within ${this.#options.idleMs} ms`;
    const error: EpisodeFailure = { boundary: "env", name: "EnvError", message };
    this.finish({ reward: null, isComplete: false, error });
  }
}

/** Memory that a session takes in any case, and that a turn may add. */
const MIN_BYTES = 16 * 1024;
const TURN_BYTES = 64 * 1024;

/** The error of a key that opens no session. */
export function unknownKey(): GatewayError {
  return new GatewayError("unauthorized", "The API key must be that of a session of the gateway: it is not");
}
