import { ArgumentRangeError, ArgumentTypeError } from "../../errors.ts";
import type { BranchingLease, BranchingSession } from "../../sandbox/contract/pool.ts";
import { CheckpointStore } from "../../server/checkpoints/checkpoint_store.ts";
import { ServerError } from "../../server/http/http_errors.ts";

/** Owner of all checkpoints: the program that drives the command. */
const OWNER = "";
/** Copies of sessions at once. */
const MAX_COPIES = 64;

/** A session, the copies and the checkpoints, by their ids. */
export class SessionBranches implements AsyncDisposable {
  readonly #root: BranchingSession;
  readonly #copies = new Map<string, BranchingLease>();
  readonly #store = new CheckpointStore({ lifeMs: Infinity, advice: "forget some" });
  #made = 0;

  constructor(root: BranchingSession) {
    this.#root = root;
  }

  /**
   * Returns the session of an id; without an id, the first session.
   *
   * @throws {ArgumentTypeError} if there is no such session.
   */
  find(id: string | undefined): BranchingSession {
    return id === undefined ? this.#root : this.#copy(id).session;
  }

  /**
   * Makes copies of a session and returns their ids.
   *
   * @throws {ArgumentRangeError} if there are too many.
   * @throws {CheckpointError} if the session has something that no checkpoint can hold.
   */
  async fork(
    session: BranchingSession,
    { count, seed, signal }: { count: number; seed: number | undefined; signal: AbortSignal },
  ): Promise<string[]> {
    const most = MAX_COPIES - this.#copies.size;
    if (count > most) {
      throw new ArgumentRangeError(
        `Cannot fork session as there may be ${MAX_COPIES} copies at once: ${most} more are possible, found ${count}`,
      );
    }
    const leases = await session.fork(count, { seed, signal });
    return leases.map((lease) => {
      const id = `s${++this.#made}`;
      this.#copies.set(id, lease);
      return id;
    });
  }

  /**
   * Ends a copy.
   *
   * @throws {ArgumentTypeError} if there is no checkpoint of this id.
   */
  async end(id: string): Promise<void> {
    const lease = this.#copy(id);
    this.#copies.delete(id);
    await lease[Symbol.asyncDispose]();
  }

  /**
   * Keeps the state of a session, or only the files.
   *
   * @throws {ArgumentRangeError} if there is no room.
   * @throws {CheckpointError} if the session has something that no checkpoint can hold.
   */
  async checkpoint(
    session: BranchingSession,
    { memory }: { memory: boolean },
    signal: AbortSignal,
  ): Promise<{ checkpoint: string; bytes: number }> {
    this.#stored((store) => store.requireRoom(OWNER));
    const made = await session.checkpoint({ owner: OWNER, memory, signal });
    const { id, bytes } = this.#stored((store) => store.put(OWNER, made));
    return { checkpoint: id, bytes };
  }

  /**
   * Returns a session to a checkpoint, also to a checkpoint of another session.
   *
   * @throws {ArgumentTypeError} if there is no checkpoint of this id.
   */
  async restore(session: BranchingSession, id: string, signal: AbortSignal): Promise<void> {
    using held = this.#stored((store) => store.hold(OWNER, id));
    await session.restore(held.checkpoint, { owner: OWNER, signal });
  }

  /**
   * Deletes a checkpoint.
   *
   * @throws {ArgumentTypeError} if there is no checkpoint of this id.
   */
  forget(id: string): void {
    this.#stored((store) => store.delete(OWNER, id));
  }

  /** Ends the copies and deletes the checkpoints. The first session stays open. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#store[Symbol.dispose]();
    await Promise.all([...this.#copies.values()].map((lease) => lease[Symbol.asyncDispose]()));
  }

  #copy(id: string): BranchingLease {
    const lease = this.#copies.get(id);
    if (lease) return lease;
    throw new ArgumentTypeError(`Cannot use session as there is none with this id: found '${id}'`);
  }

  /** Uses the store, and reports refusals as errors of arguments. */
  #stored<T>(use: (store: CheckpointStore) => T): T {
    try {
      return use(this.#store);
    } catch (cause) {
      if (!(cause instanceof ServerError)) throw cause;
      const Fault = cause.code === "not_found" ? ArgumentTypeError : ArgumentRangeError;
      throw new Fault(cause.message, { cause });
    }
  }
}
