import type { InteractionResult } from "../rollout/interaction.ts";
import type { BudgetLease } from "../server/admission/budget.ts";
import { ServerError } from "../server/http/http_errors.ts";
import type { KeyedSandbox } from "../server/peers/e2b/keyed_sandboxes.ts";
import { ResponseItems } from "./dialects/response_items.ts";
import { GatewayError } from "./gateway_error.ts";
import type { ModelRequest } from "./model_request.ts";
import type { SessionJournal, SessionSettings } from "./state/session_journal.ts";
import type { GatewaySession } from "./session/gateway_session.ts";
import { abortedEnd, type SampledTurn, type SessionEnd } from "./session/session_row.ts";

/** Options of {@linkcode LiveSession}. */
export interface LiveSessionOptions {
  /** Secret with which the agent asks the model. */
  readonly key: string;
  /** How the session was opened. */
  readonly settings: SessionSettings;
  readonly session: GatewaySession;
  /** Memory of the owner, of which the session takes a part. */
  readonly lease: BudgetLease;
  /** Milliseconds without a request after which the session ends, and after the end is forgotten. */
  readonly idleMs: number;
  /** Sandbox of the session, which ends with the session. */
  readonly sandbox?: KeyedSandbox | undefined;
  /** Journal of the session, if sessions are kept over a restart. */
  readonly journal?: SessionJournal | undefined;
  /** Called once with the rows, when the session ends. */
  readonly onEnd: (live: LiveSession, rows: readonly InteractionResult[]) => void;
  /** Called when the session has ended because of idle time. */
  readonly onForget: (live: LiveSession) => void;
  /** Called with failures that no request gets. */
  readonly onError: (error: unknown) => void;
}

/** A session of a gateway: with owner, key, memory and time. */
export class LiveSession implements Disposable {
  readonly owner: string;
  readonly key: string;
  readonly session: GatewaySession;
  readonly createdAt: Date;
  /** Items of the session's responses. */
  readonly items: ResponseItems = new ResponseItems();
  readonly #options: LiveSessionOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running = 0;

  constructor(options: LiveSessionOptions) {
    const { settings, key, session } = options;
    this.owner = settings.owner;
    this.createdAt = new Date(settings.openedAt ?? Date.now());
    this.key = key;
    this.session = session;
    this.#options = options;
    this.#restartTimer();
  }

  get id(): string {
    return this.session.id;
  }

  get settings(): SessionSettings {
    return this.#options.settings;
  }

  get journal(): SessionJournal | undefined {
    return this.#options.journal;
  }

  get sandbox(): KeyedSandbox | undefined {
    return this.#options.sandbox;
  }

  /** Number of requests that wait for an answer. */
  get running(): number {
    return this.#running;
  }

  /**
   * Answers a request of the agent.
   *
   * @throws {GatewayError} if there is no answer.
   * @throws {ServerError} `busy` or `too_large` if the owner has no memory for the request.
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

  /** True if the session had a sandbox that ended before the session. */
  get hasLostSandbox(): boolean {
    if (this.session.end !== undefined) return this.session.end.hasLostSandbox ?? false;
    const { sandbox, settings } = this.#options;
    return settings.sandboxId !== undefined && (sandbox?.session.ended ?? true);
  }

  /**
   * @throws {ServerError} `conflict` if the session had a sandbox that is lost: a grade would be the grade of
   * an empty sandbox.
   */
  requireSandbox(): void {
    if (!this.hasLostSandbox) return;
    throw new ServerError(
      "conflict",
      `The session ${this.id} has lost its sandbox, and what the agent left in it`,
    );
  }

  /** Ends a session that had ended in an earlier gateway, which has reported the end. */
  finishAgain(end: SessionEnd): void {
    this.session.finish(end);
    this.#endSandbox();
  }

  /** Ends the session, and reports the rows. The first end counts. */
  finish(given: SessionEnd): void {
    if (this.session.end !== undefined) return;
    const end = this.hasLostSandbox ? { ...given, hasLostSandbox: true } : given;
    this.#options.journal?.end(end);
    this.session.finish(end);
    this.#restartTimer();
    this.#endSandbox();
    this.#options.onEnd(this, this.session.results());
  }

  /** Removes the session's journal, if any. */
  forget(): void {
    this.#options.journal?.remove();
  }

  /**
   * Stops the timer and frees the memory. The sandbox of a session that has not ended may continue in a later
   * server.
   */
  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#options.lease[Symbol.dispose]();
  }

  #restartTimer(ms = this.#options.idleMs): void {
    clearTimeout(this.#timer);
    if (this.#running > 0) return;
    this.#timer = setTimeout(() => this.#expire(), ms);
    Deno.unrefTimer(Number(this.#timer));
  }

  #endSandbox(): void {
    const { sandbox, onError } = this.#options;
    sandbox?.[Symbol.asyncDispose]().catch(onError);
  }

  /** Ends the session, or forgets an ended session. An agent may work in the session's sandbox meanwhile. */
  #expire(): void {
    if (this.session.end !== undefined) return this.#options.onForget(this);
    const { sandbox, idleMs } = this.#options;
    if (sandbox && sandbox.unusedMs < idleMs) {
      return this.#restartTimer(Math.max(1, idleMs - sandbox.unusedMs));
    }
    const message = `The agent sent no request within ${this.#options.idleMs} ms`;
    this.finish(abortedEnd(message));
  }
}

/** Memory that a session takes in any case, and that a turn may add. */
const MIN_BYTES = 16 * 1024;
const TURN_BYTES = 64 * 1024;

/** The error of a key that opens no session. */
export function unknownKey(): GatewayError {
  return new GatewayError("unauthorized", "The API key must be that of a session of the gateway: it is not");
}
