import { type EpisodeFailure, toEpisodeFailure } from "../errors.ts";
import { History } from "../history.ts";
import { randomId } from "../random_id.ts";
import type { GraderPool } from "../rewards/worker/grader_pool.ts";
import type { InteractionResult } from "../rollout/interaction.ts";
import { Budget, type BudgetLease } from "../server/admission/budget.ts";
import { gradeOrThrow, type Graders, guardGrader } from "../server/graders.ts";
import { ServerError } from "../server/http/http_errors.ts";
import { outputOf } from "./dialects/response_answer.ts";
import { LiveSession } from "./live_session.ts";
import type { Sampling } from "./model_request.ts";
import { PauseGate } from "./model/pause_gate.ts";
import { GatewaySession, type GatewaySessionOptions } from "./session/gateway_session.ts";
import type { SessionEnd } from "./session/session_row.ts";
import type { JournalFolder, SessionJournal, SessionSettings } from "./state/session_journal.ts";

/** Options of {@linkcode Gateway}. */
export interface GatewayOptions
  extends
    Pick<GatewaySessionOptions, "sampler" | "parser" | "format" | "mode" | "rewritten" | "contextTokens"> {
  /** Parameters of sampling of all sessions. Those of a session replace them one by one. */
  sampling?: Sampling | undefined;
  /** Milliseconds without a request after which a session ends. @default 1_800_000 */
  idleMs?: number | undefined;
  /** Memory of sessions in bytes. Half of it is divided among the owners and reserved. @default 1 GiB */
  bytes?: number | undefined;
  /** Number of owners. @default 1 */
  owners?: number | undefined;
  /** Graders that sessions may name, and the workers in which they run. */
  graders?: Graders | undefined;
  graderPool?: GraderPool | undefined;
  /** Journals by which sessions continue after a restart. The caller disposes the folder. @default none */
  journals?: JournalFolder | undefined;
  /** Called with the rows of each session that ends. */
  onRows?: ((rows: readonly InteractionResult[], owner: string) => void) | undefined;
}

/** Figures of an owner. */
export interface GatewayStats {
  readonly open: number;
  readonly ended: number;
  readonly turns: number;
  readonly rows: number;
  readonly bytes: number;
}

/** A session that is added: a new one, or one of a journal. */
interface AddedSession {
  readonly id: string;
  readonly key: string;
  readonly settings: SessionSettings;
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

  constructor(options: GatewayOptions) {
    const { bytes = GIB, owners } = options;
    this.#options = options;
    this.#budget = new Budget({
      total: bytes,
      owners,
      unit: "bytes of gateway sessions",
      advice: "delete sessions that have ended, or raise --session-memory",
    });
  }

  /** Name of the model. */
  get model(): string {
    return this.#options.sampler.name;
  }

  /**
   * Opens a session.
   *
   * @throws {ServerError} `busy` if the owner has no memory for it.
   */
  open(settings: SessionSettings): LiveSession {
    const identity = { id: `gs-${crypto.randomUUID()}`, key: `paddock-${randomId()}`, settings };
    const lease = this.#budget.take(settings.owner, 0);
    const journal = this.#options.journals?.create(identity.id);
    journal?.open(identity);
    return this.#add({ ...identity, journal, lease });
  }

  /**
   * Continues the sessions of an earlier gateway. Turns that the template cannot show any more end the session, and are
   * reported.
   */
  async restore({ onError }: { onError: (error: unknown) => void }): Promise<number> {
    const saved = await this.#options.journals?.readAll() ?? [];
    for (const { turns, end, settings, ...identity } of saved) {
      const lease = this.#budget.hold(settings.owner, 0);
      const live = this.#add({ ...identity, settings, lease });
      try {
        for (const turn of turns) {
          live.session.restore(turn);
          live.items.addItems(outputOf(turn.answer));
        }
        if (end !== undefined) live.session.finish(end);
      } catch (error) {
        onError(error);
        live.finish({ reward: null, isComplete: false, error: toEpisodeFailure(error) });
      }
    }
    return saved.length;
  }

  #add({ id, key, settings, journal, lease }: AddedSession): LiveSession {
    const { sampling: common, idleMs: commonIdleMs = 1_800_000, onRows, ...shared } = this.#options;
    const { owner, idleMs, sampling, rewritten, ...rest } = settings;
    const state = this.#ownerState(owner);
    const session = new GatewaySession({
      ...shared,
      ...rest,
      id,
      sampling: { ...common, ...sampling },
      rewritten: rewritten ?? shared.rewritten,
      gate: state.gate,
      policyVersion: () => state.policyVersion,
      onTurn: journal && ((turn) => journal.add(turn)),
    });
    const live = new LiveSession({
      owner,
      key,
      session,
      lease,
      journal,
      idleMs: idleMs ?? commonIdleMs,
      onEnd: (live, rows) => onRows?.(rows, live.owner),
      onForget: (live) => this.delete(live),
    });
    this.#byId.set(live.id, live);
    this.#byKey.set(live.key, live);
    return live;
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

  /**
   * Ends a session with the score of a grader, which reads the chat of the session's first row.
   *
   * @throws {ServerError} `invalid` if there is no such grader; `conflict` if the session has no turn.
   */
  async grade(live: LiveSession, name: string, { signal }: { signal: AbortSignal }): Promise<SessionEnd> {
    const { graders = new Map(), graderPool: pool } = this.#options;
    const make = graders.get(name);
    if (make === undefined || pool === undefined) {
      throw new ServerError("invalid", `grader must be one of ${[...graders.keys()].join(", ")}`);
    }
    const [row] = live.session.results();
    if (row === undefined) throw new ServerError("conflict", `The session ${live.id} has no turn`);
    const context = { task: live.session.task, history: History.fromChats(row.messages), signal };
    const end = await this.#score(guardGrader(make(), { pool, owner: live.owner }), context);
    live.finish(end);
    return live.session.end ?? end;
  }

  async #score(...args: Parameters<typeof gradeOrThrow>): Promise<SessionEnd> {
    const [grader] = args;
    const { score, parts, reason } = await gradeOrThrow(...args);
    const rewardParts = { [grader.name]: score, ...parts };
    return {
      reward: score,
      rewardParts,
      isComplete: true,
      ...(reason !== undefined && { unscored: reason }),
    };
  }

  /** Ends a session as aborted, unless it has ended, and forgets the session. */
  delete(live: LiveSession): void {
    live.finish({
      reward: null,
      isComplete: false,
      error: failureOf("The session was deleted before it ended"),
    });
    this.#byId.delete(live.id);
    this.#byKey.delete(live.key);
    live.forget();
    live[Symbol.dispose]();
  }

  /** Holds back the samples of an owner's sessions, and resolves when none runs any more. */
  async pause(owner: string, { signal }: { signal: AbortSignal }): Promise<void> {
    await this.#ownerState(owner).gate.pause(signal);
  }

  /** Lets the samples of an owner's sessions go on. Later turns have the version, if one is given. */
  resume(owner: string, policyVersion?: number | string): void {
    const state = this.#ownerState(owner);
    if (policyVersion !== undefined) state.policyVersion = policyVersion;
    state.gate.resume();
  }

  /** Returns the figures of an owner. */
  stats(owner: string): GatewayStats {
    const own = this.list(owner);
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
        live.finish({ reward: null, isComplete: false, error: failureOf("The gateway has stopped") });
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

function failureOf(message: string): EpisodeFailure {
  return { boundary: "env", name: "EnvError", message };
}
