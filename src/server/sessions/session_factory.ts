import type { CheckpointError } from "../../errors.ts";
import type { CheckpointMemoryOptions } from "../../sandbox/checkpoint/state_memory.ts";
import type { Checkpoint } from "../../sandbox/contract/checkpoint.ts";
import {
  isBranchingPool,
  type SandboxAcquireOptions,
  type SessionLease,
  type SessionPool,
} from "../../sandbox/contract/pool.ts";
import { sessionToolsSchema } from "../../wire/v1_tools.ts";
import type { CheckpointStore } from "../checkpoints/checkpoint_store.ts";
import type { CheckpointTransfers } from "../checkpoints/transfers.ts";
import type { HibernatedState } from "../hibernation/hibernated_state.ts";
import type { HibernationStore } from "../hibernation/hibernation_store.ts";
import type { LeasedInterpreter } from "../hibernation/lifecycle.ts";
import type { SavedSession } from "../hibernation/saved_sessions.ts";
import { asOf, type PausesAtEnd } from "../hibernation/session_record.ts";
import { HIBERNATE_AFTER_MS } from "../limits.ts";
import type { Metrics } from "../metrics.ts";
import { type Attachment, LiveSession, type LiveSessionOptions } from "./live_session.ts";
import type { SessionSlots } from "./session_slots.ts";
import { SessionTools } from "./session_tools.ts";
import type { SharedSessions } from "./shared_sessions.ts";

/** Hibernation of the sessions of a server. */
export interface HibernationSettings {
  /**
   * Milliseconds without use after which a session hibernates. A session that is idle for less hibernates
   * when a request waits for an interpreter.
   *
   * @default 60_000
   */
  readonly afterMs?: number | undefined;
  /** The states of sessions that hibernate. */
  readonly store: HibernationStore;
  /** Sessions of an earlier server, which continue. */
  readonly saved?: readonly SavedSession[] | undefined;
  /** Why sessions of an earlier server cannot be read, by their id. */
  readonly unreadable?: ReadonlyMap<string, CheckpointError> | undefined;
}

/** Options of an opened session. */
export interface OpenOptions
  extends Pick<LiveSessionOptions, "tools" | "limits" | "metadata" | "checkpointEvery" | "ttlMs"> {
  /** Owner of the session; no other owner can find the session. */
  owner: string;
  /** The owner's name for the session, by which it can be found. */
  name?: string | undefined;
  seed?: number | undefined;
  /** State that the session starts with. */
  from?: Checkpoint | undefined;
  /** State of the client's peer, with which a later server continues the session. */
  attachment?: Attachment | undefined;
  /**
   * True if no client finds the session in a later server, so that the session is not saved when this server
   * stops.
   *
   * @default false
   */
  endsWithServer?: boolean | undefined;
  /**
   * True if the session pauses when `ttlMs` are over, instead of ending; `files` if only the files are then
   * kept.
   *
   * @default false
   */
  pausesAtEnd?: PausesAtEnd | undefined;
  /**
   * True if other servers over the same pool find the session by its id, where the pool can do that.
   *
   * @default false
   */
  isShared?: boolean | undefined;
  /**
   * True if the session runs one program and then ends. The pool may then rewind it with the program.
   *
   * @default false
   */
  once?: boolean | undefined;
  /**
   * Milliseconds without use after which the session ends; `Infinity` disables this end.
   *
   * @default the service's `idleMs`; `Infinity` with `ttlMs`
   */
  idleMs?: number | undefined;
  /**
   * Milliseconds without use after which the session may end in favour of another session of the same owner,
   * when no session is free. In favour of another owner the session ends only if that owner has fewer
   * sessions, and after 10 seconds without use.
   *
   * @default Infinity; the service's `idleMs` with `ttlMs`
   */
  spareMs?: number | undefined;
  /**
   * Milliseconds that the request waits for a session.
   *
   * @default the service's `waitMs`
   */
  waitMs?: number | undefined;
  signal: AbortSignal;
}

/** Options of a {@linkcode LiveSession} that its factory gives. */
type FactoryOptions =
  | "clock"
  | "hibernation"
  | "metrics"
  | "onEnd"
  | "onError"
  | "onEvent"
  | "onUnused"
  | "onChange"
  | "poolLimits"
  | "states"
  | "stop";

/** Parts of {@linkcode SessionFactory}. */
export interface SessionFactoryParts
  extends Pick<LiveSessionOptions, "idleMs" | "clock" | "onError" | "onEvent"> {
  readonly pool: SessionPool;
  readonly metrics: Metrics;
  readonly slots: SessionSlots;
  readonly shared: SharedSessions;
  readonly transfers: CheckpointTransfers;
  readonly checkpointStore: CheckpointStore | undefined;
  readonly hibernation: HibernationSettings | undefined;
  /** Sessions that have an interpreter, which the factory keeps. */
  readonly awake: Set<LiveSession>;
  /** Aborted when the server stops. */
  readonly stop: AbortSignal;
  /** Called when a session has ended. */
  readonly onEnd: (session: LiveSession) => void;
}

/** Options of a lease, and those that other servers read. */
type LeaseRequest =
  & Pick<
    OpenOptions,
    "owner" | "seed" | "once" | "checkpointEvery" | "waitMs" | "signal" | "isShared" | "ttlMs"
  >
  & Pick<LiveSessionOptions, "limits" | "metadata" | "tools">;

/** Makes the sessions of a server, each with an interpreter or a state in which the session hibernates. */
export class SessionFactory {
  readonly #parts: SessionFactoryParts;
  readonly #open = new Set<LiveSession>();

  constructor(parts: SessionFactoryParts) {
    this.#parts = parts;
  }

  /** The sessions that have not ended. */
  get open(): Iterable<LiveSession> {
    return this.#open;
  }

  /** Waits for a slot, and leases an interpreter. */
  async lease(
    options: LeaseRequest,
    { isCounted, near }: { isCounted: boolean; near?: SessionLease | undefined },
  ): Promise<LeasedInterpreter> {
    const { seed, once, checkpointEvery, owner, isShared = false } = options;
    const { pool, shared, slots, transfers, checkpointStore } = this.#parts;
    const checkpointMemory = checkpointEvery === undefined
      ? undefined
      : checkpointStore?.recoveryMemory(owner, transfers.memoryOf(owner));
    const request: SandboxAcquireOptions & CheckpointMemoryOptions = {
      seed,
      once,
      checkpointEvery,
      checkpointMemory,
      owner,
      near,
    };
    const acquire = async (signal: AbortSignal) => {
      const lease = await pool.acquire({ ...request, signal });
      return isShared ? await shared.share(lease, options) : lease;
    };
    const { result: lease, slot } = await slots.admit(acquire, { ...options, isCounted });
    return { lease, slot };
  }

  /** Makes a session that starts in an interpreter, or hibernates. */
  add(
    start: LeasedInterpreter | HibernatedState,
    options:
      & OpenOptions
      & Pick<LiveSessionOptions, "createdAt" | "expiresAt" | "reseeding">,
  ): LiveSession {
    const hasEnd = options.ttlMs !== undefined || options.expiresAt !== undefined;
    const { idleMs = hasEnd ? Infinity : this.#parts.idleMs } = options;
    const { spareMs = hasEnd ? this.#parts.idleMs : undefined } = options;
    if (!("lease" in start)) return this.#make({ ...options, start, idleMs, spareMs });
    const { lease } = start;
    const { awake, shared } = this.#parts;
    const session = this.#make({ ...options, ...shared.identityOf(lease), start, idleMs, spareMs });
    awake.add(session);
    shared.add(session, lease);
    return session;
  }

  /** Makes a session that continues a session of an earlier server. */
  continue(saved: SavedSession, { store }: HibernationSettings): LiveSession {
    const record = asOf(saved.record, this.#parts.clock.now());
    const { idleMs = Infinity } = record;
    const expiresAt = record.expiresAt === undefined ? undefined : new Date(record.expiresAt);
    const tools = record.tools && new SessionTools(sessionToolsSchema.parse(record.tools));
    const start = store.adopt(saved, () => session.describe());
    const options = { record, start, expiresAt, idleMs, tools, createdAt: undefined, attachment: undefined };
    const session = this.#make({ ...record, ...options });
    return session;
  }

  #make(
    options: Omit<LiveSessionOptions, FactoryOptions> & Pick<OpenOptions, "once">,
  ): LiveSession {
    const { owner, once = false, checkpointEvery, endsWithServer = false } = options;
    const { pool, metrics, slots, awake, transfers, hibernation, stop, clock, onError, onEvent } =
      this.#parts;
    const session: LiveSession = new LiveSession({
      ...options,
      hibernation: hibernation && !once && isBranchingPool(pool)
        ? {
          store: hibernation.store,
          transfers,
          outlivesServer: hibernation.store.isDurable && !endsWithServer,
          afterMs: hibernation.afterMs ?? HIBERNATE_AFTER_MS,
          acquire: (near) =>
            this.lease({ owner, checkpointEvery, signal: session.life.endSignal }, {
              isCounted: true,
              near,
            }),
        }
        : undefined,
      clock,
      metrics,
      onEnd: () => this.#forget(session),
      onError,
      onEvent,
      onUnused: () => slots.makeRoom(owner),
      onChange: (isAwake) => isAwake ? awake.add(session) : awake.delete(session),
      poolLimits: pool.limits,
      states: transfers.memoryOf(owner),
      stop,
    });
    this.#open.add(session);
    return session;
  }

  #forget(session: LiveSession): void {
    this.#parts.onEnd(session);
    this.#open.delete(session);
    this.#parts.awake.delete(session);
  }
}
