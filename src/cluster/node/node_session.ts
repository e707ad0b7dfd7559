import { NotDoneError } from "../call_codec.ts";
import type { KeptState } from "./session_states.ts";
import type { SlotLease } from "./slot_offers.ts";

/** Options of {@linkcode NodeSession}. */
export interface NodeSessionOptions {
  readonly id: string;
  readonly lease: SlotLease;
  /** Member that opened the session. */
  readonly caller: string;
  readonly owner: string;
  /** Checkpoints of the session, with which the session can continue on another node. */
  readonly kept?: KeptState | undefined;
  /** Called once, when the caller uses or confirms the session. */
  readonly onConfirm: () => void;
  /** Called once, when the session begins to end. */
  readonly onEnd: () => void;
}

/** Milliseconds within which the caller must use a new session or confirm that the caller has the session. */
const CONFIRM_MS = 10_000;
/** Milliseconds that a shared session waits for a new caller, after the last caller was lost. */
const ORPHAN_MS = 600_000;

/** A session of a node that a caller has leased. */
export class NodeSession implements AsyncDisposable {
  readonly id: string;
  readonly lease: SlotLease;
  readonly owner: string;
  readonly kept: KeptState | undefined;
  readonly #options: NodeSessionOptions;
  readonly #createdAt = performance.now();
  /** Number of calls that run or wait. */
  #users = 0;
  #whenUnused = Promise.withResolvers<void>();
  #isConfirmed = false;
  #caller: string;
  #isShared = false;
  #orphanedAt: number | undefined;
  #moving: Promise<void> | undefined;
  #ended: Promise<void> | undefined;

  constructor(options: NodeSessionOptions) {
    const { id, lease, caller, owner, kept } = options;
    this.id = id;
    this.lease = lease;
    this.#caller = caller;
    this.owner = owner;
    this.kept = kept;
    this.#options = options;
  }

  /** Number of calls that run or wait. */
  get users(): number {
    return this.#users;
  }

  /** Member that has used the session last. */
  get caller(): string {
    return this.#caller;
  }

  /** True if other callers may use the session for the owner. */
  get isShared(): boolean {
    return this.#isShared;
  }

  /** Lets other callers use the session for the owner. */
  share(): void {
    this.#isShared = true;
  }

  /** True if the caller may use the session. */
  isOf({ caller, owner }: { caller: string; owner: string }): boolean {
    return owner === this.owner && (this.#isShared || caller === this.#caller);
  }

  /** True if the caller has neither used nor confirmed the session. */
  isUnusedBy(caller: string): boolean {
    return !this.#isConfirmed && caller === this.#caller;
  }

  /** Notes who uses the session. */
  noteCaller(caller: string): void {
    this.#caller = caller;
    this.#orphanedAt = undefined;
  }

  /** Notes that the last caller is lost. */
  orphan(): void {
    this.#orphanedAt = performance.now();
  }

  /** The caller has the session, which waits for use without a limit. */
  confirm(): void {
    if (!this.#isConfirmed) this.#options.onConfirm();
    this.#isConfirmed = true;
  }

  /** Begins a use, which ends when the returned object is disposed. */
  use(): Disposable {
    this.confirm();
    this.#users++;
    return {
      [Symbol.dispose]: () => {
        if (--this.#users > 0) return;
        this.#whenUnused.resolve();
        this.#whenUnused = Promise.withResolvers();
      },
    };
  }

  /**
   * True if the caller has not used or confirmed the session in time, as the message about the session was lost; or if
   * no other caller has used the session in time after the last caller was lost.
   */
  isAbandoned(): boolean {
    const now = performance.now();
    if (this.#orphanedAt !== undefined) return now - this.#orphanedAt > ORPHAN_MS;
    return !this.#isConfirmed && now - this.#createdAt > CONFIRM_MS;
  }

  /** Stores the state after the running calls, and ends the session. Later calls get {@linkcode NotDoneError}. */
  async move(): Promise<void> {
    this.#moving ??= this.#move();
    await this.#moving;
  }

  /** @throws {NotDoneError} after the state was stored, if the session moves to another node. */
  async requireHere(): Promise<void> {
    if (this.#moving === undefined) return;
    await this.#moving;
    throw new NotDoneError("The session continues on another node");
  }

  /** Ends the session with the running calls. The checkpoint in the store remains. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended ??= this.#end();
    await this.#ended;
  }

  async #move(): Promise<void> {
    while (this.#users > 0) await this.#whenUnused.promise;
    await this.kept?.settle().catch(() => {}); // the earlier checkpoint remains
    await this[Symbol.asyncDispose]();
  }

  async #end(): Promise<void> {
    this.#options.onEnd();
    await this.lease[Symbol.asyncDispose]();
    await this.kept?.[Symbol.asyncDispose]();
  }
}
