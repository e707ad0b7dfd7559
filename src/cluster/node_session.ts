import { MAX_TIMER_MS } from "../async/abort.ts";
import type { SharedInfo } from "./calls.ts";
import type { SlotLease } from "./slot_offers.ts";

/** Options of {@linkcode NodeSession}. */
export interface NodeSessionOptions {
  readonly id: string;
  readonly lease: SlotLease;
  /** Member that opened it. */
  readonly caller: string;
  readonly owner: string;
  /** Set if every caller of its owner may use it. */
  readonly shared?: {
    readonly record: string;
    readonly idleMs?: number | undefined;
    readonly expiresAt?: number | undefined;
  } | undefined;
  /** Called once, when it begins to end. */
  readonly onEnd: () => void;
}

/** Milliseconds within which the caller must use a new session or confirm that it has it. */
const CONFIRM_MS = 10_000;

/** A session of a node that a caller has leased. */
export class NodeSession implements AsyncDisposable {
  readonly id: string;
  readonly lease: SlotLease;
  readonly caller: string;
  readonly owner: string;
  readonly isShared: boolean;
  /** Number of calls that run or wait. */
  users = 0;
  execs = 0;
  readonly #options: NodeSessionOptions;
  readonly #createdAt = Date.now();
  #usedAt = Date.now();
  #expiresAt: number | undefined;
  #expiry: ReturnType<typeof setTimeout> | undefined;
  #isConfirmed = false;
  #ended: Promise<void> | undefined;

  constructor(options: NodeSessionOptions) {
    const { id, lease, caller, owner, shared } = options;
    this.id = id;
    this.lease = lease;
    this.caller = caller;
    this.owner = owner;
    this.isShared = shared !== undefined;
    this.#options = options;
    if (shared?.expiresAt !== undefined) this.expireAt(shared.expiresAt);
  }

  /** What other callers learn of it. */
  get info(): SharedInfo {
    return {
      session: this.id,
      record: this.#options.shared?.record ?? "",
      createdAt: this.#createdAt,
      usedAt: this.#usedAt,
      execs: this.execs,
      ...(this.#expiresAt !== undefined && { expiresAt: this.#expiresAt }),
    };
  }

  /** True if the caller may use it. */
  isOf({ caller, owner }: { caller: string; owner: string }): boolean {
    return this.isShared ? owner === this.owner : caller === this.caller && owner === this.owner;
  }

  /** The caller has it: it waits for use without a limit. */
  confirm(): void {
    this.#isConfirmed = true;
  }

  /** Begins a use, which ends when the returned object is disposed. */
  use(): Disposable {
    this.#isConfirmed = true;
    this.users++;
    return {
      [Symbol.dispose]: () => {
        this.users--;
        this.#usedAt = Date.now();
      },
    };
  }

  /** Lets it end at a Unix time, used or not. */
  expireAt(unixMs: number): void {
    clearTimeout(this.#expiry);
    this.#expiresAt = unixMs;
    this.#expiry = setTimeout(
      () => this[Symbol.asyncDispose](),
      Math.min(MAX_TIMER_MS, Math.max(0, unixMs - Date.now())),
    );
  }

  /** True if its caller never had it, or nothing used it for its idle time. */
  isAbandoned(): boolean {
    if (this.users > 0) return false;
    const unusedMs = Date.now() - this.#usedAt;
    return this.#isConfirmed ? unusedMs > (this.#options.shared?.idleMs ?? Infinity) : unusedMs > CONFIRM_MS;
  }

  /** Ends it, and with it the calls that run. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended ??= this.#end();
    await this.#ended;
  }

  async #end(): Promise<void> {
    clearTimeout(this.#expiry);
    this.#options.onEnd();
    await this.lease[Symbol.asyncDispose]();
  }
}
