import type {
  BranchingLease,
  BranchingSession,
  CaptureOptions,
  Checkpoint,
  PythonSession,
} from "../../sandbox/exec.ts";
import { ServerError, toPublicError } from "../http/errors.ts";
import { MAX_CHECKPOINT_TRANSFERS, SESSION_WAIT_MS } from "../limits.ts";
import { AdmissionQueue } from "../sessions/admission.ts";

/** Options of {@linkcode CheckpointTransfers.fork}. */
export interface ForkCopyOptions {
  readonly seed?: number | undefined;
  readonly signal: AbortSignal;
}

/** Parts of a state that is captured, and the signal that ends its transfer. */
export interface CaptureStateOptions extends Pick<CaptureOptions, "memory"> {
  readonly signal: AbortSignal;
}

/** Owner of a state, and the signal that ends its transfer. */
export interface TransferOptions {
  readonly owner: string;
  readonly signal: AbortSignal;
}

/** A session of the server, whose interpreter is used by a function. */
export interface UsableSession {
  readonly owner: string;
  use<T>(work: (session: PythonSession) => Promise<T>): Promise<T>;
}

/**
 * Reads and writes the states of sessions. A state is large before it is compressed, so only some are in memory at
 * once, and the owner with the fewest is next. A session that runs a program is captured when that has ended.
 */
export class CheckpointTransfers {
  readonly #slots: AdmissionQueue;

  /** @param options.waitMs milliseconds that a transfer may take, with its waits; default: 30_000 */
  constructor(
    { owners, waitMs = SESSION_WAIT_MS }: { owners?: number | undefined; waitMs?: number | undefined },
  ) {
    this.#slots = new AdmissionQueue({
      slots: MAX_CHECKPOINT_TRANSFERS,
      owners,
      waitMs,
      name: "transfer of a checkpoint",
      advice: "retry later",
    });
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
  async forget(session: PythonSession, options: TransferOptions): Promise<void> {
    const files = await this.capture(session, { ...options, memory: false });
    await this.restoreIn(session, () => Promise.resolve(files), options);
  }

  /**
   * Replaces the state of a session.
   *
   * @throws {ServerError} if the checkpoint must not be restored here, or the session is in use for too long.
   */
  async restore(session: UsableSession, checkpoint: Checkpoint, signal: AbortSignal): Promise<void> {
    const { owner } = session;
    await session.use((inner) => this.restoreIn(inner, () => Promise.resolve(checkpoint), { owner, signal }));
  }

  /**
   * Returns leases of copies of a session. Its pool must have as many free sessions.
   *
   * @throws {ServerError} as {@linkcode CheckpointTransfers.checkpoint} does.
   */
  async fork(session: UsableSession, count: number, options: ForkCopyOptions): Promise<BranchingLease[]> {
    const { seed, signal } = options;
    return await session.use((inner) =>
      this.run(session.owner, signal, (signal) => requireBranching(inner).fork(count, { seed, signal }))
    );
  }

  /** Returns the state of an interpreter, as {@linkcode CheckpointTransfers.checkpoint} does. */
  async capture(session: PythonSession, options: TransferOptions & CaptureOptions): Promise<Checkpoint> {
    const { owner, signal } = options;
    return await this.run(
      owner,
      signal,
      async (signal) => await requireBranching(session).checkpoint({ ...options, signal }),
    );
  }

  /** Replaces the state of an interpreter, as {@linkcode CheckpointTransfers.restore} does, by one that is read first. */
  async restoreIn(
    session: PythonSession,
    read: () => Promise<Checkpoint>,
    { owner, signal }: TransferOptions,
  ): Promise<void> {
    await this.run(
      owner,
      signal,
      async (signal) => await requireBranching(session).restore(await read(), { owner, signal }),
    );
  }

  /** Runs work on a state as one of a bounded number. Throws only {@linkcode ServerError}. */
  async run<T>(owner: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      const { result, slot } = await this.#slots.run(work, { owner, signal });
      slot[Symbol.dispose]();
      return result;
    } catch (error) {
      throw toPublicError(error);
    }
  }
}

function requireBranching(session: PythonSession): BranchingSession {
  if ("fork" in session) return session as BranchingSession;
  throw new ServerError("invalid", "The sessions of this server have no checkpoints");
}
