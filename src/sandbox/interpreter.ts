import type { CheckpointScope } from "./checkpoint/checkpoint.ts";
import { Recovery, type RecoveryOptions, type RecoveryParts } from "./checkpoint/recovery.ts";
import type { RestoredFrom } from "./contract/checkpoint.ts";
import type { ExecOutcome } from "./contract/exec.ts";
import type { GuestLink } from "./guest_link.ts";
import { FrameKind } from "./protocol.ts";

/** Source of the interpreters of a session. */
export interface InterpreterSource {
  openLink(seed: number | undefined): Promise<GuestLink>;
  /** Returns what checkpoints of the interpreter's sessions are bound to. */
  checkpointScope(): Promise<CheckpointScope>;
}

/** A result that reports whether the interpreter was lost. */
type Result = Pick<ExecOutcome, "stateKept" | "restarted" | "restoredFrom">;

/**
 * The interpreter of a session. A lost interpreter is replaced: by a fresh interpreter, or by an interpreter in the
 * state of the last checkpoint. Calls must not overlap.
 */
export class Interpreter {
  readonly #source: InterpreterSource;
  #seed: number | undefined;
  #link: Promise<GuestLink>;
  #recovery: Recovery | undefined;
  /** True if a fresh interpreter replaced a lost interpreter, which no result has reported yet. */
  #restarted = false;
  /** The checkpoint to which the session returned, which no result has reported yet. */
  #restoredFrom: RestoredFrom | undefined;
  /** The rewind after the last exec. */
  #rewound: Promise<boolean> | undefined;
  /** True if nothing has run since a rewind without a seed. */
  #isPristine = false;

  constructor(source: InterpreterSource, seed: number | undefined) {
    this.#source = source;
    this.#seed = seed;
    this.#link = this.#open();
  }

  /** Resolves when the interpreter has started. */
  get started(): Promise<unknown> {
    return this.#link;
  }

  /** True if the interpreter replaced a lost interpreter, which no result has reported yet. */
  get hasUnreportedLoss(): boolean {
    return this.#restarted || this.#restoredFrom !== undefined;
  }

  /**
   * Lets the session return to a checkpoint when the interpreter is lost. Without options, the session starts again
   * then.
   */
  setRecovery(
    options: Pick<RecoveryOptions, "every" | "memory"> | undefined,
    parts: Pick<RecoveryParts, "onDue" | "store">,
  ): void {
    this.#recovery?.[Symbol.dispose]();
    this.#recovery = options && new Recovery(options, {
      ...parts,
      maxBytes: async () => (await this.#source.checkpointScope()).maxBytes,
    });
  }

  /** Returns the running interpreter; starts another interpreter after a loss. */
  async ensure(): Promise<GuestLink> {
    await this.#settleRewind();
    this.#isPristine = false;
    const link = await this.#link.catch(() => undefined); // if the start fails, another interpreter is tried
    if (link?.alive) return link;
    this.#reopen({ wasLost: link !== undefined });
    return await this.#link;
  }

  /** Reports on a result that the interpreter replaced a lost interpreter. */
  noteLoss(result: Result): void {
    if (this.#restoredFrom) result.restoredFrom = this.#restoredFrom;
    if (this.#restarted) result.restarted = true;
    this.#setReported();
  }

  /** Replaces the interpreter if a call has lost the interpreter; otherwise takes a checkpoint, if due. */
  async afterCall(link: GuestLink, result?: Result): Promise<void> {
    if (this.#rewound) return;
    if (link.alive) return await this.#recovery?.afterCall(link);
    this.#reopen({ wasLost: true });
    if (!this.#recovery) return;
    await this.#link.catch(() => {}); // the next call tries again
    if (!result || !this.#restoredFrom) return;
    result.stateKept = true;
    this.noteLoss(result);
  }

  /** Takes a checkpoint that is due. */
  async takeDueCheckpoint(): Promise<void> {
    const link = await this.#link.catch(() => undefined); // the next call tries again
    if (link?.alive && !this.#rewound) await this.#recovery?.capture(link);
  }

  /** Sets the state that was restored in the interpreter. Returns true if the state is kept, for the recovery. */
  setState(state: Uint8Array): boolean {
    const isKept = this.#recovery?.keep(state) ?? false;
    this.#setReported();
    return isKept;
  }

  /** Rewinds after an exec: `rewound` is the guest's own rewind with that exec. */
  rewindAfterExec(rewound: Promise<boolean> | undefined): void {
    this.#rewound = rewound ?? this.#rewind(undefined);
  }

  /** Returns to the state at the start. */
  async reset({ mode, seed }: { mode: "fresh" | "rewind"; seed: number | undefined }): Promise<void> {
    await this.#settleRewind();
    if (mode === "rewind" && seed === undefined && this.#isPristine) return;
    this.#seed = seed;
    if (mode === "fresh" || !await this.#rewind(seed)) await this.replace();
    this.#recovery?.clear();
    this.#setReported();
  }

  /** Replaces the interpreter by a fresh interpreter. */
  async replace(): Promise<GuestLink> {
    await this.end("the session was reset");
    this.#link = this.#open();
    return await this.#link;
  }

  /** Ends the interpreter. */
  async end(message: string): Promise<void> {
    const link = await this.#link.catch(() => undefined); // an interpreter that did not start needs no end
    link?.fail({ reason: "closed", message });
  }

  /** Waits for the rewind after the last exec. If the rewind failed, a fresh interpreter replaces the session's. */
  async #settleRewind(): Promise<void> {
    if (!this.#rewound) return;
    const isRewound = await this.#rewound;
    this.#rewound = undefined;
    this.#seed = undefined;
    if (!isRewound) await this.replace();
    this.#recovery?.clear();
    this.#setReported();
    this.#isPristine = true;
  }

  #setReported(): void {
    this.#restarted = false;
    this.#restoredFrom = undefined;
  }

  /** Starts an interpreter in place of an interpreter that was lost, or that did not start. */
  #reopen({ wasLost }: { wasLost: boolean }): void {
    this.#restarted ||= wasLost;
    const recovery = this.#recovery;
    this.#link = recovery && this.#restarted ? this.#recover(recovery) : this.#open();
    this.#link.catch(() => {}); // callers that need the interpreter await the promise
  }

  async #recover(recovery: Recovery): Promise<GuestLink> {
    const { link, from } = await recovery.reopen(() => this.#source.openLink(this.#seed));
    if (from) this.#restarted = false;
    this.#restoredFrom = from;
    return link;
  }

  #open(): Promise<GuestLink> {
    const link = this.#source.openLink(this.#seed);
    link.catch(() => {}); // callers that need the interpreter await the promise
    return link;
  }

  /** Writes the image back over the heap. Returns false if a fresh interpreter is needed. */
  async #rewind(seed: number | undefined): Promise<boolean> {
    const link = await this.#link.catch(() => undefined); // an interpreter that did not start is replaced
    if (!link?.alive) return false;
    try {
      await link.request(FrameKind.rewind, JSON.stringify({ seed }));
      return true;
    } catch {
      return false; // the interpreter was lost: the caller replaces the interpreter
    }
  }
}
