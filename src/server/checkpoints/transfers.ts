import { Deadline } from "../../async/abort.ts";
import type { CaptureOptions, Checkpoint, RestoreOptions } from "../../sandbox/contract/checkpoint.ts";
import type { StateMemory } from "../../sandbox/checkpoint/state_memory.ts";
import type { WaitingCall } from "../../sandbox/contract/exec.ts";
import type { BranchingLease, BranchingSession, PythonSession } from "../../sandbox/contract/pool.ts";
import { AdmissionQueue } from "../admission/admission_queue.ts";
import { ServerError, toPublicError } from "../http/http_errors.ts";
import { SESSION_WAIT_MS, TRANSFER_BYTES } from "../limits.ts";

/** Options of {@linkcode CheckpointTransfers}. */
export interface CheckpointTransfersOptions {
  /**
   * Memory of all states together while they are not compressed, in bytes.
   *
   * @default 1 GiB
   */
  readonly bytes?: number | undefined;
  /**
   * Number of owners. Half of the bytes is divided among them and reserved.
   *
   * @default 1
   */
  readonly owners?: number | undefined;
  /**
   * Milliseconds that a transfer may take, with all waits.
   *
   * @default 30_000
   */
  readonly waitMs?: number | undefined;
}

/** Options of {@linkcode CheckpointTransfers.fork}. */
export interface ForkCopyOptions {
  readonly seed?: number | undefined;
  readonly signal: AbortSignal;
}

/** Parts of a state that is captured, and the signal that ends the transfer. */
export interface CaptureStateOptions extends Pick<CaptureOptions, "memory"> {
  readonly signal: AbortSignal;
}

/** Owner of a state, and the signal that ends the transfer. */
export interface TransferOptions {
  readonly owner: string;
  readonly signal: AbortSignal;
}

/** Owner of a state, the random numbers in the session, and the signal that ends the transfer. */
export interface RestoreStateOptions extends TransferOptions, Pick<RestoreOptions, "reseed" | "seed"> {}

/** A state that is read before being restored. */
export interface ReadableState {
  /** Memory that the state takes meanwhile, in bytes. */
  readonly transferBytes: number;
  read(): Promise<Checkpoint>;
}

/** A session of the server, with an interpreter that a function uses. */
export interface UsableSession {
  readonly owner: string;
  use<T>(work: (session: PythonSession) => Promise<T>): Promise<T>;
  /** Sets the call that a program of the session waits for, which a checkpoint may have. */
  setWaiting(call: WaitingCall | undefined): void;
}

/**
 * Reads and writes the states of sessions. A session that runs a program is captured at the program's end. Before
 * compression, a state takes memory of the owner's share, and only when nothing else must be waited for.
 */
export class CheckpointTransfers {
  /** Bytes of memory: the states of an owner get room in their order, and the owner with the fewest bytes is next. */
  readonly #memory: AdmissionQueue;
  readonly #waitMs: number;

  constructor(options: CheckpointTransfersOptions = {}) {
    const { bytes = TRANSFER_BYTES, owners, waitMs = SESSION_WAIT_MS } = options;
    this.#memory = new AdmissionQueue({
      slots: bytes,
      owners,
      waitMs: SESSION_WAIT_MS,
      name: "byte for states",
      keepsOrder: true, // a state that is restored or compressed gives the room back
    });
    this.#waitMs = waitMs;
  }

  /**
   * Returns the state of a session, which goes on.
   *
   * @throws {ServerError} `conflict` if it has what no checkpoint has; `timeout` if it is in use for too long.
   */
  async checkpoint(session: UsableSession, options: CaptureStateOptions): Promise<Checkpoint> {
    const { owner } = session;
    return await session.use((inner) => this.capture(inner, { ...options, owner }));
  }

  /**
   * Gives an interpreter the memory of a new one. Its files remain.
   *
   * @throws {ServerError} as {@linkcode CheckpointTransfers.checkpoint} does.
   */
  async forget(session: PythonSession, options: RestoreStateOptions): Promise<void> {
    const { owner, signal } = options;
    const files = await this.capture(session, { owner, signal, memory: false });
    const transferBytes = files.stateBytes ?? Infinity;
    await this.restoreIn(session, { transferBytes, read: () => Promise.resolve(files) }, options);
  }

  /**
   * Replaces the state of a session.
   *
   * @throws {ServerError} if the checkpoint must not be restored here, or the session is in use for too long.
   */
  async restore(session: UsableSession, checkpoint: Checkpoint, signal: AbortSignal): Promise<void> {
    const { owner } = session;
    await session.use(async (inner) => {
      await this.run({ owner, signal }, (options) => requireBranching(inner).restore(checkpoint, options));
      session.setWaiting(await requireBranching(inner).waitingCall());
    });
  }

  /** Returns the memory of an owner's states. A state that is larger than all of the memory takes all of it. */
  memoryOf(owner: string): StateMemory {
    const most = this.#memory.slotsPerOwner;
    return {
      reserve: (bytes, signal) =>
        this.#memory.acquire({ owner, slots: Math.min(Math.max(1, bytes), most), signal }),
    };
  }

  /**
   * Returns leases of copies of a session. Its pool must have as many free sessions.
   *
   * @throws {ServerError} as {@linkcode CheckpointTransfers.checkpoint} does.
   */
  async fork(session: UsableSession, count: number, options: ForkCopyOptions): Promise<BranchingLease[]> {
    const { owner } = session;
    const { seed, signal } = options;
    return await session.use((inner) =>
      this.run({ owner, signal }, (options) => requireBranching(inner).fork(count, { ...options, seed }))
    );
  }

  /** Returns the state of an interpreter, as {@linkcode CheckpointTransfers.checkpoint} does. */
  async capture(
    session: PythonSession,
    { owner, signal, memory, refuseLost }: TransferOptions & Pick<CaptureOptions, "memory" | "refuseLost">,
  ): Promise<Checkpoint> {
    return await this.run(
      { owner, signal },
      (options) => requireBranching(session).checkpoint({ ...options, memory, refuseLost }),
    );
  }

  /** Replaces the state of an interpreter that nothing else uses by one that is read first. */
  async restoreIn(
    session: PythonSession,
    state: ReadableState,
    { owner, signal, ...random }: RestoreStateOptions,
  ): Promise<void> {
    await this.run({ owner, signal }, async ({ states, signal }) => {
      using _room = await states.reserve(state.transferBytes, signal);
      await requireBranching(session).restore(await state.read(), { owner, signal, ...random });
    });
  }

  /** Returns a state that is read, and restored later. */
  async read(state: ReadableState, { owner, signal }: TransferOptions): Promise<Checkpoint> {
    return await this.run({ owner, signal }, async ({ states, signal }) => {
      using _room = await states.reserve(state.transferBytes, signal);
      return await state.read();
    });
  }

  /** Runs work on a state within a time, and with the memory of an owner. Throws only {@linkcode ServerError}. */
  async run<T>(
    { owner, signal }: TransferOptions,
    work: (options: TransferOptions & { readonly states: StateMemory }) => Promise<T>,
  ): Promise<T> {
    using deadline = new Deadline(this.#waitMs, { signal, reason: () => this.#timeout() });
    try {
      return await work({ owner, states: this.memoryOf(owner), signal: deadline.signal });
    } catch (error) {
      throw toPublicError(error);
    }
  }

  #timeout(): ServerError {
    return new ServerError(
      "timeout",
      `The state of the session was not captured or restored within ${this.#waitMs} ms, as programs of the session ` +
        "run or other states are captured and restored: retry later",
      { retryAfter: 1 },
    );
  }
}

/** Returns a session that has checkpoints. */
export function requireBranching(session: PythonSession): BranchingSession {
  if ("fork" in session) return session as BranchingSession;
  throw new ServerError("invalid", "The sessions of this server have no checkpoints");
}
