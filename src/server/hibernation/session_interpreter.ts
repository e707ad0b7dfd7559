import { CheckpointError } from "../../errors.ts";
import type { CaptureOptions, Checkpoint } from "../../sandbox/contract/checkpoint.ts";
import type { PythonSession, SessionLease } from "../../sandbox/contract/pool.ts";
import type { CheckpointTransfers } from "../checkpoints/transfers.ts";
import { ServerError, toPublicError } from "../http/http_errors.ts";
import { type HibernatedState, toUnusableError } from "./hibernated_state.ts";
import type { HibernationStore, UnfitState } from "./hibernation_store.ts";
import { type Hibernating, type LeasedInterpreter, Lifecycle } from "./lifecycle.ts";
import { clientBytes, type SessionRecord, type SessionRecordParts } from "./session_record.ts";

/** Parts with which a session hibernates and wakes. */
export interface HibernationParts {
  readonly owner: string;
  readonly store: HibernationStore;
  readonly transfers: CheckpointTransfers;
  /** Random numbers that the session gets at the first wake. By default, the random numbers of the state continue. */
  readonly reseeding?: SessionRecord["reseeding"];
  /** Returns a signal that aborts when the session ends. */
  endSignal(): AbortSignal;
  /** Waits for a slot, and leases an interpreter: the interpreter of an earlier lease, if free. */
  acquire(near: SessionLease | undefined): Promise<LeasedInterpreter>;
  /** Returns the present record of the session. */
  describe(): SessionRecordParts;
  /** True while requests use the session. */
  isUsed(): boolean;
  /** Called when the session has left the interpreter, and when the session has an interpreter again. */
  onChange(isAwake: boolean): void;
  /** Called with what the host's log shows. */
  onError(thrown: unknown): void;
  /** True if a later server continues the session. A state that cannot be restored stays then; else the session ends. */
  readonly outlivesServer: boolean;
  /** Called when the state cannot be restored, and does not stay. */
  onLost(): void;
}

/**
 * The interpreter of a session of the server. A session that hibernates leaves the interpreter, and is a checkpoint
 * until the next use. Then the session continues in any free interpreter, if possible in the interpreter that it left.
 */
export class SessionInterpreter implements AsyncDisposable {
  /** What the session is at the moment. */
  readonly lifecycle: Lifecycle;
  readonly #parts: HibernationParts | undefined;
  /** Why the session could not hibernate since the last use. */
  #refusal: ServerError | undefined;
  /** The state for which there was no room then, in memory or on the disk. */
  #unfit: UnfitState | undefined;
  #reseeding: SessionRecord["reseeding"];
  /** Number of uses, which a checkpoint must not miss. */
  #uses = 0;
  #isSuspending = false;

  /** @param parts Without them, the session never hibernates. */
  constructor(start: LeasedInterpreter | HibernatedState, parts: HibernationParts | undefined) {
    this.#parts = parts;
    this.#reseeding = parts?.reseeding;
    this.lifecycle = new Lifecycle(
      "lease" in start
        ? { kind: "awake", leased: start }
        : { kind: "asleep", state: start, near: undefined, left: undefined },
    );
  }

  /** True if the session can leave the interpreter now. */
  get canHibernate(): boolean {
    const parts = this.#parts;
    if (!parts || this.lifecycle.phase.kind !== "awake" || parts.isUsed()) return false;
    if (!this.#refusal) return true;
    return this.#unfit !== undefined && parts.store.hasRoom(parts.owner, this.#unfit);
  }

  /** Random numbers that the session gets at the wake, if they do not continue. */
  get reseeding(): SessionRecord["reseeding"] {
    return this.#reseeding;
  }

  /** Why the session could not hibernate, if tried since the last use. */
  get refusal(): ServerError | undefined {
    return this.#refusal;
  }

  /** Why this server cannot continue the session, if that is so. The state stays for a later server. */
  get unusable(): CheckpointError | undefined {
    return this.lifecycle.state?.unusable;
  }

  /** @throws {ServerError} with the reason of a checkpoint, if this server cannot continue the session. */
  requireUsable(): void {
    if (this.unusable) throw toUnusableError(this.unusable);
  }

  /**
   * Returns the woken session. Without `memory`, the session wakes with files only.
   *
   * @throws {ServerError} `busy` or `timeout` if no slot becomes free; with the `reason` of a checkpoint if the
   * state cannot be restored.
   */
  async session({ memory = true }: Pick<CaptureOptions, "memory"> = {}): Promise<PythonSession> {
    this.#uses++;
    const { phase: before } = this.lifecycle;
    // Else a server that is killed now leaves an older state than clients have seen.
    if (before.kind === "leaving") await before.stored?.catch(() => {});
    this.#refusal = this.#unfit = undefined;
    const { phase, leased } = this.lifecycle;
    if (leased) return leased.lease.session;
    this.requireUsable();
    if (phase.kind === "waking") return await phase.woken;
    if (phase.kind !== "asleep" || !this.#parts) throw new ServerError("conflict", "The session has ended");
    const { state, near, left } = phase;
    state.beginWake();
    const woken = this.#wake(this.#parts, { state, near, memory });
    this.lifecycle.enter({ kind: "waking", state, near, left, woken });
    return await woken;
  }

  /**
   * Leaves the interpreter, without `memory` with the files alone. Returns false if the session is used, or has what no
   * checkpoint has, or finds no room.
   */
  async hibernate({ memory = true }: Pick<CaptureOptions, "memory"> = {}): Promise<boolean> {
    const { phase } = this.lifecycle;
    if (phase.kind === "ended" || phase.kind === "waking" || !this.#parts) return false;
    if (phase.kind !== "awake") return await phase.left ?? true;
    if (!memory) this.#refusal = undefined; // the reason may be what is not kept
    if (!this.canHibernate) return false;
    const { leased } = phase;
    const left = this.#leave(leased, this.#parts, { memory });
    this.lifecycle.enter({ kind: "leaving", leased, left, stored: undefined });
    return await left;
  }

  /**
   * Hibernates so that a later server continues the session. The caller reports a failure.
   *
   * @throws {ServerError} if the session is used, has something that no checkpoint can hold, or finds no room.
   */
  async suspend(): Promise<void> {
    this.#isSuspending = true;
    const { phase } = this.lifecycle;
    if (phase.kind === "leaving") await phase.left; // fails if the session was used meanwhile
    this.#refusal = undefined; // the reason may be over: another attempt
    const isHibernating = await this.hibernate();
    const { state } = this.lifecycle;
    if (!isHibernating || !state) throw this.#refusal ?? new ServerError("conflict", "The session is in use");
    await state.suspend();
  }

  /**
   * Returns the state in which the session hibernates, which stays; `undefined` if the session is awake or wakes.
   *
   * @throws {ServerError} `timeout` if the state is not read in time; with the `reason` of a checkpoint if unreadable.
   */
  async readState(signal: AbortSignal): Promise<Checkpoint | undefined> {
    const [parts, { phase, state }] = [this.#parts, this.lifecycle];
    if (!parts || !state || phase.kind === "waking") return undefined;
    const { owner, transfers } = parts;
    try {
      return await transfers.read(state, { owner, signal });
    } catch (error) {
      if (this.lifecycle.state !== state) return undefined; // the session has woken meanwhile, and the files are removed
      throw error;
    }
  }

  /** Saves the record of the session again if a directory has the state. */
  async saveRecord(): Promise<void> {
    await this.lifecycle.state?.update();
  }

  /** Ends the lease, or drops the state unless suspended. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { phase } = this.lifecycle;
    if (phase.kind === "ended") return;
    this.lifecycle.enter({ kind: "ended" });
    if (phase.kind === "waking") await phase.woken.catch(() => {}); // the waiting session gets the error
    if ("left" in phase) await phase.left;
    try {
      if ("state" in phase) await phase.state[Symbol.asyncDispose]();
    } catch (error) {
      this.#parts?.onError(error); // the files remain
    }
    if ("leased" in phase) await release(phase.leased);
  }

  async #leave(
    leased: LeasedInterpreter,
    parts: HibernationParts,
    { memory }: Pick<CaptureOptions, "memory">,
  ): Promise<boolean> {
    const { owner, transfers } = parts;
    const uses = this.#uses;
    const isFirst = this.#refusal === undefined;
    this.#refusal = this.#unfit = undefined;
    try {
      const { session } = leased.lease;
      const checkpoint = await transfers.capture(session, {
        owner,
        memory,
        signal: parts.endSignal(),
        refuseLost: true,
      });
      if (this.#uses !== uses) return this.#stay(leased);
      const { id, storedBytes } = checkpoint;
      this.#unfit = { id, storedBytes, clientBytes: clientBytes(parts.describe()) };
      const stored = this.#store(checkpoint, parts);
      if (this.lifecycle.phase.kind === "leaving") this.lifecycle.phase.stored = stored;
      const state = await stored;
      this.#unfit = undefined;
      const { phase } = this.lifecycle;
      if (!state) return this.#stay(leased);
      if (phase.kind === "leaving") {
        this.lifecycle.enter({ kind: "asleep", state, near: leased.lease, left: phase.left });
      } else { // the session has ended
        await state[Symbol.asyncDispose]();
        return false;
      }
    } catch (error) {
      if (this.#uses !== uses) return this.#stay(leased); // refused, as the session is used or may have changed
      this.#refusal = toPublicError(error);
      if (isFirst && !this.#isSuspending) parts.onError(this.#refusal);
      return this.#stay(leased);
    }
    parts.onChange(false);
    await release(leased);
    return true;
  }

  /** Keeps the interpreter, unless the session has ended. */
  #stay(leased: LeasedInterpreter): false {
    if (this.lifecycle.phase.kind === "leaving") this.lifecycle.enter({ kind: "awake", leased });
    return false;
  }

  /** Stores a state. Returns `undefined` if the session was used or has ended meanwhile. */
  async #store(
    checkpoint: Checkpoint,
    { owner, store, describe, outlivesServer }: HibernationParts,
  ): Promise<HibernatedState | undefined> {
    const uses = this.#uses;
    const state = await store.put(owner, checkpoint, { describe, outlivesServer });
    if (this.#uses === uses && this.lifecycle.phase.kind !== "ended") return state;
    await state[Symbol.asyncDispose]();
    return undefined;
  }

  async #wake(
    parts: HibernationParts,
    { state, near, memory }: Pick<Hibernating, "state" | "near"> & { memory: boolean },
  ): Promise<PythonSession> {
    let leased: LeasedInterpreter | undefined;
    let isRestoring = false;
    try {
      leased = await parts.acquire(near);
      const { session } = leased.lease;
      const { owner, transfers } = parts;
      const signal = parts.endSignal();
      const random = this.#reseeding && { reseed: true, ...this.#reseeding };
      isRestoring = true;
      await transfers.restoreIn(session, state, { owner, signal, ...random });
      isRestoring = false;
      if (!memory) await transfers.forget(session, { owner, signal, ...random });
      await state.removeFiles();
      if (this.lifecycle.phase.kind === "ended") throw new ServerError("conflict", "The session has ended");
    } catch (error) {
      state.cancelWake();
      if (leased) await release(leased);
      const reason = isRestoring ? this.#refuse(state, parts, error) : error;
      const { phase } = this.lifecycle;
      if (phase.kind === "waking") this.lifecycle.enter({ kind: "asleep", state, near, left: phase.left });
      throw reason;
    }
    this.lifecycle.enter({ kind: "awake", leased });
    this.#reseeding = undefined;
    parts.onChange(true);
    await state[Symbol.asyncDispose]();
    return leased.lease.session;
  }

  /** Keeps a state that cannot be restored for a later server, or ends the session. Returns the error of the request. */
  #refuse(state: HibernatedState, { outlivesServer, onLost }: HibernationParts, error: unknown): unknown {
    if (!(error instanceof ServerError) || !(error.cause instanceof CheckpointError)) return error;
    state.setUnusable(error.cause);
    if (outlivesServer) return toUnusableError(error.cause);
    onLost();
    return error;
  }
}

async function release({ lease, slot }: LeasedInterpreter): Promise<void> {
  using _slot = slot;
  await lease[Symbol.asyncDispose]();
}
