import { Deadline } from "../async/abort.ts";
import { type Waiter, WaitList } from "../async/wait_list.ts";
import { PoolFullError, SandboxLostError } from "../errors.ts";
import { NoReceiverError, UnansweredError } from "./call_codec.ts";
import type { Caller } from "./caller.ts";
import type { NatsSubscription } from "./nats/client.ts";
import type { NodeProperties } from "./nodes_bucket.ts";
import { type Admission, admit, Rate } from "./placement.ts";

/** Options of {@linkcode SlotQueue}. */
export interface SlotQueueOptions {
  readonly caller: Caller;
  /** Profile of the slots. */
  readonly profile: string;
  /** Calls that may wait for a slot. */
  readonly maxWaiting: number;
  /** Milliseconds that a call waits for a slot. */
  readonly waitMs: number;
  /** Aborted when the pool is disposed. */
  readonly stop: AbortSignal;
}

interface WaitingCall {
  /** Sends the call. Returns `undefined` if no slot is free. */
  readonly send: () => Promise<{ value: unknown } | undefined>;
  isSending: boolean;
}

/** Calls of the queue that are sent at once. */
const MAX_SENDING = 16;
/** Calls of the queue that are sent in case an announcement was lost. */
const PROBES = 2;
/** Milliseconds after which they are. */
const POLL_MS = 250;
/** Milliseconds without a waiting call after which announcements are not received any more. */
const LISTEN_MS = 2_000;

/** The calls of one caller that wait for a free slot of a cluster, in order. */
export class SlotQueue implements Disposable {
  readonly #options: SlotQueueOptions;
  readonly #waiting = new WaitList<unknown, WaitingCall>();
  readonly #grants = new Rate();
  readonly #poll: ReturnType<typeof setInterval>;
  #sending = 0;
  /** Slots that were announced and not asked for since. Other callers may have taken them. */
  #announced = 0;
  #announcements: NatsSubscription | undefined;
  #waitedAt = 0;

  constructor(options: SlotQueueOptions) {
    this.#options = options;
    options.caller.countWaiting = () => this.#waiting.size;
    this.#poll = setInterval(() => {
      if (this.#waiting.size > 0) this.#probe();
      else if (performance.now() - this.#waitedAt > LISTEN_MS) this.#stopListening();
    }, POLL_MS);
  }

  /** Nodes with the profile that are alive. */
  get nodes(): NodeProperties[] {
    return this.#options.caller.directory.ofProfile(this.#options.profile);
  }

  /** Number of sessions of these nodes. */
  get slots(): number {
    return this.nodes.reduce((sum, { slots }) => sum + slots, 0);
  }

  /** Number of calls that wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Sends a call until it finds a free slot.
   *
   * @throws {PoolFullError} if too many calls wait already, or none was free within `waitMs`.
   * @throws the error of the call, or the reason of `signal` if it aborts.
   */
  async run<T>(
    send: (signal: AbortSignal) => Promise<T>,
    { signal: given }: { signal?: AbortSignal | undefined } = {},
  ): Promise<T> {
    const { stop, waitMs } = this.#options;
    const signal = given ? AbortSignal.any([stop, given]) : stop;
    signal.throwIfAborted();
    if (this.#waiting.size === 0 && this.#mayBeFree()) {
      const found = await this.#send(send, signal);
      if (found) return found.value;
    }
    const { isAdmitted, waitMs: expectedMs } = this.#admission();
    if (!isAdmitted) throw this.fullError("too many calls wait", expectedMs);
    using deadline = new Deadline(waitMs, {
      signal,
      reason: () => this.fullError(`none was free within ${waitMs} ms`),
    });
    return await this.#wait(send, deadline.signal);
  }

  /** Returns the error of a call that finds no slot. */
  fullError(reason: string, waitMs: number = this.#admission().waitMs): PoolFullError {
    const { nodes, slots, waiting } = this;
    const { caller, profile } = this.#options;
    const state = nodes.length === 0
      ? `no node of cluster '${caller.peer.subjects.cluster}' has profile '${profile}'${caller.peer.keyAdvice}`
      : `all ${slots} sessions of ${nodes.length} nodes are in use, ${waiting} calls wait, ` +
        `and one is likely to be free in ${(waitMs / 1000).toFixed(1)} s`;
    return new PoolFullError(`Cannot acquire session as ${reason}: ${state}`, { retryAfterMs: waitMs });
  }

  [Symbol.dispose](): void {
    clearInterval(this.#poll);
    this.#stopListening();
  }

  /** Returns `undefined` if no slot is free. */
  async #send<T>(
    send: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<{ value: T } | undefined> {
    if (this.#announced > 0) this.#announced--;
    try {
      const value = await send(signal);
      this.#grants.count(performance.now());
      return { value };
    } catch (error) {
      // NATS was away for a moment: nothing has run, so that another node may have the call.
      if (!(error instanceof NoReceiverError || error instanceof SandboxLostError)) throw error;
      if (!(error instanceof UnansweredError)) this.#announced = 0; // a slot may have become free meanwhile
      return undefined;
    }
  }

  async #wait<T>(send: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    const call = { send: () => this.#send(send, signal), isSending: false };
    const { promise } = this.#waiting.add(call, signal);
    this.#listen();
    return await promise as T; // the value of its own call
  }

  /** False if all slots were taken and none was announced since. */
  #mayBeFree(): boolean {
    return this.#announcements === undefined || this.#announced > 0;
  }

  /** Receives announcements of free slots. Without waiting calls they would only take time. */
  #listen(): void {
    this.#waitedAt = performance.now();
    if (this.#announcements !== undefined) return;
    const { caller: { peer }, profile } = this.#options;
    this.#announcements = peer.receive(peer.subjects.free(profile), () => {
      this.#announced++;
      this.#sendWaiting();
    });
    this.#probe(); // a slot may have become free before
  }

  #probe(): void {
    this.#waitedAt = performance.now();
    this.#announced = Math.max(this.#announced, PROBES);
    this.#sendWaiting();
  }

  #stopListening(): void {
    this.#announcements?.unsubscribe();
    this.#announcements = undefined;
    this.#announced = 0;
  }

  /** Sends as many waiting calls as slots may be free, the oldest first. */
  #sendWaiting(): void {
    for (const waiter of this.#waiting) {
      if (this.#announced === 0 || this.#sending >= MAX_SENDING) return;
      if (!waiter.request.isSending) this.#sendCall(waiter); // it takes one of the announced slots
    }
  }

  async #sendCall({ request, resolve, reject }: Waiter<unknown, WaitingCall>): Promise<void> {
    request.isSending = true;
    this.#sending++;
    try {
      const found = await request.send();
      if (found) resolve(found.value);
    } catch (error) {
      reject(error);
    }
    request.isSending = false;
    this.#sending--;
    this.#sendWaiting();
  }

  #admission(): Admission {
    return admit({
      waiting: this.#waiting.size,
      maxWaiting: this.#options.maxWaiting,
      slots: this.slots,
      grantsPerSecond: this.#grants.at(performance.now()),
    });
  }
}
