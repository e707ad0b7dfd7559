import type { SlotLease } from "./slot_offers.ts";

/** Options of {@linkcode NodeSession}. */
export interface NodeSessionOptions {
  readonly id: string;
  readonly lease: SlotLease;
  /** Member that opened it. */
  readonly caller: string;
  readonly owner: string;
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
  /** Number of calls that run or wait. */
  users = 0;
  readonly #options: NodeSessionOptions;
  readonly #createdAt = performance.now();
  #isConfirmed = false;
  #ended: Promise<void> | undefined;

  constructor(options: NodeSessionOptions) {
    const { id, lease, caller, owner } = options;
    this.id = id;
    this.lease = lease;
    this.caller = caller;
    this.owner = owner;
    this.#options = options;
  }

  /** True if the caller may use it. */
  isOf({ caller, owner }: { caller: string; owner: string }): boolean {
    return caller === this.caller && owner === this.owner;
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
      },
    };
  }

  /** True if its caller has not used or confirmed it in time: the message about it was lost. */
  isAbandoned(): boolean {
    return !this.#isConfirmed && performance.now() - this.#createdAt > CONFIRM_MS;
  }

  /** Ends it, and with it the calls that run. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended ??= this.#end();
    await this.#ended;
  }

  async #end(): Promise<void> {
    this.#options.onEnd();
    await this.lease[Symbol.asyncDispose]();
  }
}
