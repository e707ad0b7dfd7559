import { toEpisodeFailure } from "../errors.ts";
import type { InteractionResult } from "../rollout/interaction.ts";
import { Budget, type BudgetLease } from "../server/admission/budget.ts";
import { ServerError } from "../server/http/http_errors.ts";
import { Metrics } from "../server/metrics.ts";
import type { KeyedSandbox } from "../server/peers/e2b/keyed_sandboxes.ts";
import { outputOf } from "./dialects/response_answer.ts";
import { addGauges, countTurn, type GatewayStats } from "./gateway_metrics.ts";
import { LiveSession } from "./live_session.ts";
import type { GatewayOptions } from "./gateway_options.ts";
import { PauseGate } from "./model/pause_gate.ts";
import { GatewaySession } from "./session/gateway_session.ts";
import { restoreOrigin } from "./session/session_origin.ts";
import { keysOf, newIdentity, type SessionIdentity } from "./session_keys.ts";
import { type SandboxRequest, SessionSandboxes } from "./session_sandboxes.ts";
import { SessionGrading } from "./session_grading.ts";
import { abortedEnd, lostSandboxEnd } from "./session/session_row.ts";
import type {
  JournaledSession,
  JournalTurn,
  SessionJournal,
  SessionSettings,
} from "./state/session_journal.ts";

/** How a session is opened. */
export interface NewSession extends Omit<SessionSettings, "openedAt" | "sandboxId" | "origin"> {
  readonly sandbox?: SandboxRequest | undefined;
}

/** Ends the work of a request after the client has left. */
interface RequestOptions {
  readonly signal: AbortSignal;
}

/** A session that is added: a new session, or a session of a journal. */
interface AddedSession extends SessionIdentity {
  readonly settings: SessionSettings;
  readonly sandbox?: KeyedSandbox | undefined;
  readonly origin?: GatewaySession | undefined;
  readonly journal?: SessionJournal | undefined;
  readonly lease: BudgetLease;
}

/** What all sessions of one owner share. */
interface OwnerState {
  readonly gate: PauseGate;
  policyVersion: number | string | undefined;
}

const GIB = 1024 ** 3;

/** The sessions of agents, which ask one model server. */
export class Gateway implements Disposable {
  readonly #options: GatewayOptions;
  readonly #budget: Budget;
  readonly #byId = new Map<string, LiveSession>();
  readonly #byKey = new Map<string, LiveSession>();
  readonly #owners = new Map<string, OwnerState>();
  readonly #followers = new Set<(live: LiveSession) => void>();
  readonly metrics: Metrics;
  readonly grading: SessionGrading;
  readonly #sandboxes: SessionSandboxes;

  constructor(options: GatewayOptions) {
    const { bytes = GIB, owners, metrics = new Metrics() } = options;
    this.#options = options;
    this.metrics = metrics;
    this.grading = new SessionGrading(options);
    this.#sandboxes = new SessionSandboxes(options.sandboxes);
    this.#budget = new Budget({
      total: bytes,
      owners,
      unit: "bytes of gateway sessions",
      advice: "delete sessions that have ended, or raise --session-memory",
    });
    addGauges(metrics, this);
  }

  /** Name of the model. */
  get model(): string {
    return this.#options.sampler.name;
  }

  /** True if the model server returns no token ids, so that rows have no tokens to train on. */
  get isEvaluation(): boolean {
    return this.#options.format === undefined;
  }

  /**
   * Opens a session.
   *
   * @throws {ServerError} `busy` if the owner has no memory or no sandbox for the session; `invalid` if there
   * is no such sandbox.
   */
  async open({ sandbox: request, ...settings }: NewSession, options: RequestOptions): Promise<LiveSession> {
    const identity = newIdentity();
    const { owner } = settings;
    const sandbox = request && await this.#sandboxes.open(request, { ...identity, ...options, owner });
    return await this.#begin({ ...identity, settings, sandbox });
  }

  /**
   * Opens a copy of a session: the copy knows the turns so far, and the sandbox is copied too. A chat that
   * continues such a turn is a branch of the turn's row.
   *
   * @throws {ServerError} `conflict` if the session's sandbox has ended; `busy` if the owner has no room.
   */
  async fork(live: LiveSession, options: RequestOptions): Promise<LiveSession> {
    const identity = newIdentity();
    live.requireSandbox();
    const sandbox = live.sandbox && await this.#sandboxes.fork(live.sandbox, { ...identity, ...options });
    const turns = live.journal?.turns() ?? [];
    const origin = { id: live.id, turns: turns.length, origin: live.settings.origin };
    const settings = { ...live.settings, origin };
    return await this.#begin({ ...identity, settings, sandbox, origin: live.session }, turns);
  }

  /** Adds a new session, with a journal. If that fails, the sandbox ends. */
  async #begin(
    { settings: given, ...added }: Omit<AddedSession, "journal" | "lease">,
    turns: readonly JournalTurn[] = [],
  ): Promise<LiveSession> {
    const settings = { ...given, openedAt: new Date().toISOString(), sandboxId: added.sandbox?.id };
    try {
      const lease = this.#budget.take(settings.owner, 0);
      const journal = this.#options.journals?.create(added.id);
      journal?.open({ ...added, settings });
      for (const turn of turns) journal?.add(turn);
      return this.#add({ ...added, settings, journal, lease });
    } catch (error) {
      await added.sandbox?.[Symbol.asyncDispose]();
      throw error;
    }
  }

  /**
   * Continues the sessions of an earlier gateway. A session ends if the session's sandbox is lost, or if the
   * template cannot show the turns any more, which is reported.
   */
  async restore({ onError }: { onError: (error: unknown) => void }): Promise<number> {
    const saved = await this.#options.journals?.readAll() ?? [];
    for (const session of saved) this.#restore(session, { onError });
    return saved.length;
  }

  #restore(
    { turns, end, settings, ...identity }: JournaledSession,
    { onError }: { onError: (error: unknown) => void },
  ): void {
    const { origin: copied } = settings;
    const lease = this.#budget.hold(settings.owner, 0);
    const sandbox = this.#sandboxes.find(settings, { key: identity.key, onError });
    const add = (origin?: GatewaySession) => this.#add({ ...identity, settings, lease, sandbox, origin });
    let live: LiveSession | undefined;
    try {
      const options = { ...this.#options, ...settings, id: identity.id };
      live = add(copied && restoreOrigin(copied, { turns, options }));
      for (const turn of turns.slice(copied?.turns ?? 0)) {
        live.session.restore(turn);
        live.items.addItems(outputOf(turn.answer));
      }
      if (end !== undefined) live.finishAgain(end);
      else if (live.hasLostSandbox) live.finish(lostSandboxEnd());
    } catch (error) {
      onError(error);
      (live ?? add()).finish({ reward: null, isComplete: false, error: toEpisodeFailure(error) });
    }
  }

  #add({ id, key, settings, sandbox, origin, journal, lease }: AddedSession): LiveSession {
    const { idleMs: commonIdleMs = 1_800_000, onError = () => {} } = this.#options;
    const live = new LiveSession({
      key,
      settings,
      session: this.#makeSession({ id, settings, origin, journal }),
      sandbox,
      lease,
      journal,
      idleMs: settings.idleMs ?? commonIdleMs,
      onEnd: (live, rows) => this.#noteEnd(live, rows),
      onForget: (live) => this.delete(live),
      onError,
    });
    this.#byId.set(live.id, live);
    for (const key of keysOf(live.key)) this.#byKey.set(key, live);
    return live;
  }

  #makeSession(
    { id, settings, origin, journal }: Pick<AddedSession, "id" | "settings" | "origin" | "journal">,
  ): GatewaySession {
    const { sampling: common, ...shared } = this.#options;
    const { owner, sampling, rewritten, ...rest } = settings;
    const state = this.#ownerState(owner);
    return new GatewaySession({
      ...shared,
      ...rest,
      id,
      sampling: { ...common, ...sampling },
      rewritten: rewritten ?? shared.rewritten,
      gate: state.gate,
      policyVersion: () => state.policyVersion,
      onTurn: (turn) => {
        journal?.add(turn);
        countTurn(this.metrics, owner, turn);
      },
    }, origin);
  }

  #noteEnd(live: LiveSession, rows: readonly InteractionResult[]): void {
    this.#options.onRows?.(rows, live.owner);
    for (const follow of this.#followers) follow(live);
  }

  /** Calls back with each session of an owner that ends. Returns a function that stops this. */
  follow(owner: string, onEnd: (live: LiveSession) => void): () => void {
    const follow = (live: LiveSession) => live.owner === owner && onEnd(live);
    this.#followers.add(follow);
    return () => this.#followers.delete(follow);
  }

  /** Returns the session that a key opens. */
  findByKey(key: string): LiveSession | undefined {
    return this.#byKey.get(key);
  }

  /**
   * Returns a session of an owner.
   *
   * @throws {ServerError} `not_found` if the owner has no such session.
   */
  find(owner: string, id: string): LiveSession {
    const live = this.#byId.get(id);
    if (live?.owner === owner) return live;
    throw new ServerError("not_found", `There is no session ${id.slice(0, 80)}`);
  }

  /** Returns the sessions of an owner, oldest first. */
  list(owner: string): LiveSession[] {
    return this.#byId.values().filter((live) => live.owner === owner).toArray();
  }

  /** Ends a session as aborted, unless it has ended, and forgets the session. */
  delete(live: LiveSession): void {
    live.finish(abortedEnd("The session was deleted before it ended"));
    this.#byId.delete(live.id);
    for (const key of keysOf(live.key)) this.#byKey.delete(key);
    live.forget();
    live[Symbol.dispose]();
  }

  /** Holds back the samples of an owner's sessions, and resolves when none runs any more. */
  async pause(owner: string, { signal }: { signal: AbortSignal }): Promise<void> {
    await this.#ownerState(owner).gate.pause(signal);
  }

  /** Lets the samples of an owner's sessions go on. Later turns have the version, if given. */
  resume(owner: string, policyVersion?: number | string): void {
    const state = this.#ownerState(owner);
    if (policyVersion !== undefined) state.policyVersion = policyVersion;
    state.gate.resume();
  }

  /** Returns the figures of an owner, or of all owners. */
  stats(owner?: string): GatewayStats {
    const own = owner === undefined ? [...this.#byId.values()] : this.list(owner);
    const sum = (count: (live: LiveSession) => number) => own.reduce((sum, live) => sum + count(live), 0);
    const ended = sum(({ session }) => session.end === undefined ? 0 : 1);
    return {
      open: own.length - ended,
      ended,
      turns: sum(({ session }) => session.turns),
      rows: sum(({ session }) => session.rowCount),
      bytes: this.#budget.used(owner),
    };
  }

  /** Ends all sessions as aborted. Those with journals continue in a later gateway. */
  [Symbol.dispose](): void {
    for (const live of this.#byId.values()) {
      if (this.#options.journals === undefined) {
        live.finish(abortedEnd("The gateway has stopped"));
      }
      live[Symbol.dispose]();
    }
    this.#byId.clear();
    this.#byKey.clear();
  }

  #ownerState(owner: string): OwnerState {
    return this.#owners.getOrInsertComputed(
      owner,
      () => ({ gate: new PauseGate(), policyVersion: undefined }),
    );
  }
}
