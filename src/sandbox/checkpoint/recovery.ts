import { CheckpointError, SandboxError } from "../../errors.ts";
import type { Checkpoint, CheckpointEvery, RestoredFrom } from "../contract/checkpoint.ts";
import { checkEvery } from "../exec/exec_check.ts";
import type { GuestLink } from "../guest_link.ts";
import { captureState, restoreState } from "./state.ts";
import type { CheckpointMemory } from "./state_memory.ts";

/** Options of a session that returns to checkpoints that it takes by itself. */
export interface RecoveryOptions {
  readonly every: CheckpointEvery;
  /**
   * Room for the checkpoint.
   *
   * @default no limit but the limit of the profile
   */
  readonly memory?: CheckpointMemory | undefined;
  /**
   * Owner of the checkpoints that `store` gets.
   *
   * @default ""
   */
  readonly owner?: string | undefined;
  /**
   * Stores each checkpoint elsewhere, before the call that made it due ends. `calls` is the number of execs, commands
   * and written files that had ended since the session has these options. A `SandboxError` means that the earlier
   * checkpoint remains.
   */
  readonly store?: ((checkpoint: Checkpoint, at: { readonly calls: number }) => Promise<void>) | undefined;
}

/** Parts of the session that {@linkcode Recovery} uses. */
export interface RecoveryParts {
  /** Maximum size of a checkpoint, in bytes. */
  readonly maxBytes: () => Promise<number>;
  /**
   * Stores a checkpoint elsewhere. A `SandboxError` or `CheckpointError` means that the earlier checkpoint remains.
   */
  readonly store: ((state: Uint8Array<ArrayBuffer>, at: { calls: number }) => Promise<void>) | undefined;
  /** Called when a checkpoint is due and no call has come. */
  readonly onDue: () => void;
}

/** The last checkpoint of a session, to which it returns if its interpreter is lost. It is never compressed. */
export class Recovery implements Disposable {
  readonly #options: Pick<RecoveryOptions, "every" | "memory">;
  readonly #parts: RecoveryParts;
  /** Undefined in the state at the start of the session. */
  #state: Uint8Array | undefined;
  /** False if a restored state found no room, so that there is no state to return to. */
  #hasState = true;
  #takenAt = performance.now();
  /** Number of calls since then that may have changed the state. */
  #calls = 0;
  /** Number of these calls since the first. */
  #allCalls = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: Pick<RecoveryOptions, "every" | "memory">, parts: RecoveryParts) {
    checkEvery(options.every);
    this.#options = options;
    this.#parts = parts;
  }

  /** Begins again: a lost interpreter is replaced by a fresh interpreter. */
  clear(): void {
    this.#options.memory?.resize(0);
    this.#replace(undefined);
    this.#hasState = true;
  }

  /**
   * Takes a state that was restored. If there is no room for the state, a lost interpreter is replaced by a fresh
   * interpreter. Returns true if the state is kept.
   */
  keep(state: Uint8Array): boolean {
    this.clear();
    return this.#hasState = this.#tryKeep(state);
  }

  /**
   * Takes a checkpoint after a call if due. If the checkpoint is refused or finds no room, the earlier checkpoint
   * remains.
   */
  async afterCall(link: GuestLink): Promise<void> {
    this.#calls++;
    this.#allCalls++;
    if (this.#dueMs() <= 0) return await this.capture(link);
    this.#timer ??= setTimeout(this.#parts.onDue, this.#dueMs());
  }

  /** Takes a checkpoint, unless nothing has happened since the last checkpoint. */
  async capture(link: GuestLink): Promise<void> {
    if (this.#calls === 0) return;
    const { memory } = this.#options;
    try {
      const maxBytes = Math.min(await this.#parts.maxBytes(), memory?.availableBytes ?? Infinity);
      const { bytes, room } = await captureState(link, {
        maxBytes,
        states: memory?.states,
        earlierBytes: this.#state?.length,
      });
      using _room = room;
      await this.#parts.store?.(bytes, { calls: this.#allCalls });
      this.#tryKeep(bytes);
    } catch (error) {
      if (!(error instanceof CheckpointError || error instanceof SandboxError)) throw error;
      this.#stopTimer(); // the session refused it, or the next call replaces its interpreter
    }
  }

  /**
   * Starts an interpreter in place of a lost interpreter, in the state of the checkpoint. If that cannot be restored,
   * the interpreter is a fresh one, and `from` is absent.
   */
  async reopen(
    open: () => Promise<GuestLink>,
  ): Promise<{ link: GuestLink; from?: RestoredFrom }> {
    let link = await open();
    if (!this.#hasState) {
      this.clear();
      return { link };
    }
    const from = { lostCalls: this.#calls, ageMs: performance.now() - this.#takenAt };
    const replace = async () => {
      link.fail({ reason: "closed", message: "a checkpoint could not be restored" });
      return link = await open();
    };
    try {
      if (this.#state) await restoreState(this.#state, { link, replace, reseed: false });
      this.#calls = 0;
      return { link, from };
    } catch (error) {
      if (!(error instanceof CheckpointError || error instanceof SandboxError)) throw error;
      this.clear();
      return { link: link.alive ? link : await open() };
    }
  }

  /** Drops the checkpoint, and takes no further checkpoint. */
  [Symbol.dispose](): void {
    this.clear();
  }

  /** Milliseconds until a checkpoint is due. */
  #dueMs(): number {
    const { every } = this.#options;
    return every === "exec" ? 0 : this.#takenAt + 1000 * every - performance.now();
  }

  /** Returns false if there is no room: the earlier checkpoint remains. */
  #tryKeep(state: Uint8Array): boolean {
    try {
      this.#options.memory?.resize(state.length);
    } catch {
      this.#stopTimer();
      return false; // the owner's room is in use
    }
    this.#replace(state);
    this.#hasState = true;
    return true;
  }

  #replace(state: Uint8Array | undefined): void {
    this.#state = state;
    this.#takenAt = performance.now();
    this.#calls = 0;
    this.#stopTimer();
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
