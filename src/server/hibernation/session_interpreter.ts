import { CheckpointError } from "../../errors.ts";
import type { CaptureOptions, Checkpoint, PythonSession, SessionLease } from "../../sandbox/exec.ts";
import type { CheckpointTransfers } from "../checkpoints/transfers.ts";
import { ServerError, toPublicError } from "../http/http_errors.ts";
import { type HibernatedState, toUnusableError } from "./hibernated_state.ts";
import type { HibernationStore, UnfitState } from "./hibernation_store.ts";
import { clientBytes, type SessionRecord, type SessionRecordParts } from "./session_record.ts";

/** A leased interpreter, and the slot that it takes. */
export interface LeasedInterpreter {
  readonly lease: SessionLease;
  readonly slot: Disposable | undefined;
}

/** Parts with which a session hibernates and wakes. */
export interface HibernationParts {
  readonly owner: string;
  readonly store: HibernationStore;
  readonly transfers: CheckpointTransfers;
  /** Random numbers that it gets when it wakes for the first time. Without them, those of its state continue. */
  readonly reseeding: SessionRecord["reseeding"];
  /** Aborts when the session ends. */
  readonly endSignal: AbortSignal;
  /** Waits for a slot, and leases an interpreter: that of an earlier lease, if it is free. */
  acquire(near: SessionLease | undefined): Promise<LeasedInterpreter>;
  /** Returns the record of the session as it is now. */
  describe(): SessionRecordParts;
  /** True while requests use the session. */
  isUsed(): boolean;
  /** Called when the session has left its interpreter, and when it has one again. */
  onChange(isAwake: boolean): void;
  /** Called with what the host's log shows. */
  onError(thrown: unknown): void;
  /** True if a later server continues the session. A state that cannot be restored stays then; else the session ends. */
  readonly outlivesServer: boolean;
  /** Called when the state cannot be restored, and does not stay. */
  onLost(): void;
}

/**
 * The interpreter of a session of the server. A session that hibernates leaves its interpreter, and is a checkpoint until
 * it is used again. Then it continues in any free interpreter, if possible in the one that it left.
 */
export class SessionInterpreter implements AsyncDisposable {
  readonly #parts: HibernationParts | undefined;
  #leased: LeasedInterpreter | undefined;
  #state: HibernatedState | undefined;
  /** The lease that ended when the session began to hibernate. */
  #left: SessionLease | undefined;
  #waking: Promise<PythonSession> | undefined;
  #leaving: Promise<boolean> | undefined;
  /** Resolves when its state is stored, or dropped as it was used meanwhile. */
  #storing: Promise<HibernatedState | undefined> | undefined;
  /** Why it could not hibernate since its last use. */
  #refusal: ServerError | undefined;
  /** The state for which there was no room then, in memory or on the disk. */
  #unfit: UnfitState | undefined;
  #reseeding: SessionRecord["reseeding"];
  /** Number of uses, which a checkpoint must not miss. */
  #uses = 0;
  #isSuspending = false;
  #isDisposed = false;

  /** @param parts Without them, the session never hibernates. */
  constructor(start: LeasedInterpreter | HibernatedState, parts: HibernationParts | undefined) {
    this.#parts = parts;
    this.#reseeding = parts?.reseeding;
    if ("lease" in start) this.#leased = start;
    else this.#state = start;
  }

  /** True if the session has an interpreter. */
  get isAwake(): boolean {
    return this.#leased !== undefined;
  }

  /** Why this server cannot continue the session, if that is so. */
  get unusable(): CheckpointError | undefined {
    return this.#state?.unusable;
  }

  /** True if the session can leave its interpreter now. */
  get canHibernate(): boolean {
    const parts = this.#parts;
    if (!parts || !this.isAwake || this.#leaving || parts.isUsed()) return false;
    if (!this.#refusal) return true;
    return this.#unfit !== undefined && parts.store.hasRoom(parts.owner, this.#unfit);
  }

  /** Random numbers that it gets when it wakes, if they do not continue. */
  get reseeding(): SessionRecord["reseeding"] {
    return this.#reseeding;
  }

  /** True while the session leaves its interpreter. */
  get isLeaving(): boolean {
    return this.#leaving !== undefined;
  }

  /** Why the session could not hibernate, if that was tried since its last use. */
  get refusal(): ServerError | undefined {
    return this.#refusal;
  }

  /**
   * Returns the session, which has woken. Without `memory`, it wakes with its files alone.
   *
   * @throws {ServerError} `busy` or `timeout` if no slot becomes free; with the `reason` of a checkpoint if its state
   * cannot be restored.
   */
  async session({ memory = true }: Pick<CaptureOptions, "memory"> = {}): Promise<PythonSession> {
    this.#uses++;
    await this.#storing?.catch(() => {}); // else a server that is killed now leaves an older state than clients have seen
    this.#refusal = this.#unfit = undefined;
    if (this.#leased) return this.#leased.lease.session;
    if (this.unusable) throw toUnusableError(this.unusable);
    return await (this.#waking ??= this.#wake({ memory }).finally(() => this.#waking = undefined));
  }

  /**
   * Leaves the interpreter, without `memory` with the files alone. Returns false if the session is used, or has what no
   * checkpoint has, or finds no room.
   */
  async hibernate({ memory = true }: Pick<CaptureOptions, "memory"> = {}): Promise<boolean> {
    if (this.#isDisposed || !this.#parts) return false;
    if (this.#leaving) return await this.#leaving;
    if (!this.#leased) return !this.#waking;
    if (!memory) this.#refusal = undefined; // the reason may be what is not kept
    if (!this.canHibernate) return false;
    return await (this.#leaving = this.#leave(this.#leased, this.#parts, { memory }).finally(() =>
      this.#leaving = undefined
    ));
  }

  /**
   * Hibernates so that a later server continues the session. The caller reports why that is not possible.
   *
   * @throws {ServerError} if it is used, or has what no checkpoint has, or finds no room.
   */
  async suspend(): Promise<void> {
    this.#isSuspending = true;
    await this.#leaving; // it fails if the session was used meanwhile
    this.#refusal = undefined; // the reason may be over: it is tried once more
    const isHibernating = await this.hibernate();
    if (!isHibernating || !this.#state) {
      throw this.#refusal ?? new ServerError("conflict", "The session is in use");
    }
    await this.#state.suspend();
  }

  /**
   * Returns the state in which the session hibernates, which stays; `undefined` if it does not, or wakes.
   *
   * @throws {ServerError} `timeout` if it is not read in time; with the `reason` of a checkpoint if it cannot be read.
   */
  async readState(signal: AbortSignal): Promise<Checkpoint | undefined> {
    const [parts, state] = [this.#parts, this.#state];
    if (!parts || !state || this.#waking) return undefined;
    const { owner, transfers } = parts;
    try {
      return await transfers.read(state, { owner, signal });
    } catch (error) {
      if (this.#state !== state) return undefined; // it has woken meanwhile, and its files are removed
      throw error;
    }
  }

  /** Saves the record of the session again if a directory has its state. */
  async saveRecord(): Promise<void> {
    await this.#state?.update();
  }

  /** Ends the lease, or drops the state unless it was suspended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    await this.#waking?.catch(() => {}); // the session that waits for it gets the error
    await this.#leaving;
    const [leased, state] = [this.#leased, this.#state];
    this.#leased = this.#state = undefined;
    try {
      await state?.[Symbol.asyncDispose]();
    } catch (error) {
      this.#parts?.onError(error); // its files remain
    }
    if (leased) await release(leased);
  }

  async #leave(
    leased: LeasedInterpreter,
    parts: HibernationParts,
    { memory }: Pick<CaptureOptions, "memory">,
  ): Promise<boolean> {
    const { owner, transfers, endSignal } = parts;
    const uses = this.#uses;
    const isFirst = this.#refusal === undefined;
    this.#refusal = this.#unfit = undefined;
    try {
      const { session } = leased.lease;
      const checkpoint = await transfers.capture(session, {
        owner,
        memory,
        signal: endSignal,
        refuseLost: true,
      });
      if (this.#uses !== uses) return false;
      const { id, storedBytes } = checkpoint;
      this.#unfit = { id, storedBytes, clientBytes: clientBytes(parts.describe()) };
      this.#storing = this.#store(checkpoint, parts);
      const state = await this.#storing;
      this.#unfit = undefined;
      if (!state) return false;
      this.#leased = undefined;
      this.#state = state;
      this.#left = leased.lease;
    } catch (error) {
      if (this.#uses !== uses) return false; // it was refused as it is used, or may have changed
      this.#refusal = toPublicError(error);
      if (isFirst && !this.#isSuspending) parts.onError(this.#refusal);
      return false;
    } finally {
      this.#storing = undefined;
    }
    parts.onChange(false);
    await release(leased);
    return true;
  }

  /** Stores a state. Returns `undefined` if the session was used or has ended meanwhile. */
  async #store(
    checkpoint: Checkpoint,
    { owner, store, describe, outlivesServer }: HibernationParts,
  ): Promise<HibernatedState | undefined> {
    const uses = this.#uses;
    const state = await store.put(owner, checkpoint, { describe, outlivesServer });
    if (this.#uses === uses && !this.#isDisposed) return state;
    await state[Symbol.asyncDispose]();
    return undefined;
  }

  async #wake({ memory }: { memory: boolean }): Promise<PythonSession> {
    const [parts, state] = [this.#parts, this.#state];
    if (!parts || !state) throw new ServerError("conflict", "The session has ended");
    state.beginWake();
    const leased = await this.#acquire(parts, state);
    let isRestored = false;
    try {
      const { session } = leased.lease;
      const { owner, transfers, endSignal: signal } = parts;
      const random = this.#reseeding && { reseed: true, ...this.#reseeding };
      await transfers.restoreIn(session, state, { owner, signal, ...random });
      isRestored = true;
      if (!memory) await transfers.forget(session, { owner, signal, ...random });
      await state.removeFiles();
      if (this.#isDisposed) throw new ServerError("conflict", "The session has ended");
    } catch (error) {
      state.cancelWake();
      await release(leased);
      if (isRestored || !(error instanceof ServerError) || !(error.cause instanceof CheckpointError)) {
        throw error;
      }
      state.setUnusable(error.cause);
      if (parts.outlivesServer) throw toUnusableError(error.cause);
      parts.onLost();
      throw error;
    }
    this.#leased = leased;
    this.#state = this.#reseeding = undefined;
    parts.onChange(true);
    await state[Symbol.asyncDispose]();
    return leased.lease.session;
  }

  async #acquire(parts: HibernationParts, state: HibernatedState): Promise<LeasedInterpreter> {
    try {
      return await parts.acquire(this.#left);
    } catch (error) {
      state.cancelWake();
      throw error;
    }
  }
}

async function release({ lease, slot }: LeasedInterpreter): Promise<void> {
  using _slot = slot;
  await lease[Symbol.asyncDispose]();
}
