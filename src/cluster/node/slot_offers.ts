import { delay } from "@std/async";
import { ArgumentRangeError } from "../../errors.ts";
import { Semaphore } from "../../async/semaphore.ts";
import { WaitList } from "../../async/wait_list.ts";
import { forkSession } from "../../sandbox/checkpoint/fork.ts";
import { checkEvery, checkSeed } from "../../sandbox/exec/exec_check.ts";
import { checkpointMemoryOf } from "../../sandbox/checkpoint/state_memory.ts";
import type { Checkpoint, CheckpointOptions, ForkOptions } from "../../sandbox/contract/checkpoint.ts";
import type {
  BranchingLease,
  BranchingPool,
  SandboxAcquireOptions,
  SessionPool,
} from "../../sandbox/contract/pool.ts";
import { disposeUnless, Lease, type Recoverable } from "../../sandbox/lease.ts";
import type { SandboxPool } from "../../sandbox/pool.ts";
import type { NatsSubscription } from "../nats/client.ts";
import type { NatsPeer, Received } from "../nats/nats_peer.ts";

/** Options of {@linkcode SlotOffers}. */
export interface SlotOffersOptions {
  readonly peer: NatsPeer;
  readonly pool: SandboxPool;
  /** Number of sessions of the pool. */
  readonly slots: number;
  /** Profile of its sessions, as in the subject of its work. */
  readonly profile: string;
  /**
   * True if the pool rewinds its sessions after a lease.
   *
   * @default false
   */
  readonly rewinds?: boolean | undefined;
  /** Takes a message with a session that is ready. Returns false if it does not use the session. */
  readonly onWork: (lease: SlotLease, received: Received) => boolean;
  /** Called when no session can be started. */
  readonly onError: (error: unknown) => void;
}

/** A session of a slot. Disposing the lease offers the slot again. */
export interface SlotLease extends BranchingLease {
  readonly recovery: Recoverable | undefined;
}

interface Offer {
  readonly lease: SlotLease;
  subscription: NatsSubscription | undefined;
}

/** Milliseconds until a session that could not be started is tried again. */
const RETRY_MS = 1_000;

/**
 * Offers the sessions of a pool to the cluster. A slot leases a started session and then subscribes to the work of its
 * profile for a single message, in a queue group with all free slots of all nodes. So NATS gives work only to sessions
 * that are ready, and each gets one piece of it. The server of this process takes its sessions here, too, and goes
 * first.
 */
export class SlotOffers implements BranchingPool, AsyncDisposable {
  readonly limits: SessionPool["limits"];
  readonly #options: SlotOffersOptions;
  readonly #offers = new Set<Offer>();
  readonly #waiting = new WaitList<SlotLease>();
  readonly #withdrawals = new Semaphore(1);
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[];
  #isOpen = true;

  constructor(options: SlotOffersOptions) {
    const { pool, slots, peer } = options;
    this.#options = options;
    this.limits = pool.limits;
    this.#running = Array.from({ length: slots }, () => this.#serveSlot());
    peer.onConnection((isConnected) => {
      if (isConnected) this.#offerAgain();
    });
  }

  /** Number of slots that wait for work. */
  get free(): number {
    return this.#isOpen ? this.#offers.size : 0;
  }

  /** Number of waiting callers of this process. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Takes no more work of the cluster. Callers of this process still get sessions. */
  close(): void {
    this.#isOpen = false;
    for (const { subscription } of this.#offers) {
      // What is under way still arrives, and is refused by the node.
      if (subscription?.isClosed() === false) subscription.drain().catch(() => {}); // there is no connection
    }
  }

  /** Leases a session to a caller of this process. It waits if all are in use. */
  async acquire(options: SandboxAcquireOptions = {}): Promise<Lease> {
    const { seed, once, from, owner, checkpointEvery: every, signal } = options;
    checkSeed(seed);
    checkEvery(every);
    signal?.throwIfAborted();
    const taken = await this.take(signal);
    if (every !== undefined) taken.recovery?.setRecovery({ every, memory: checkpointMemoryOf(options) });
    const then = once && this.#options.rewinds ? "rewind" as const : undefined;
    const lease = new Lease(taken.session, () => taken[Symbol.asyncDispose](), {
      then,
      fork: (count, options = {}) => this.#fork(taken, count, options),
    });
    if (from) return await disposeUnless(lease, taken.session.restore(from, { owner, signal }));
    if (seed === undefined) return lease;
    return await disposeUnless(lease, taken.session.reset({ mode: "rewind", seed, signal }));
  }

  /** {@inheritDoc BranchingPool.readCheckpoint} */
  async readCheckpoint(bytes: Uint8Array, options?: CheckpointOptions): Promise<Checkpoint> {
    return await this.#options.pool.readCheckpoint(bytes, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    this.#stop.abort(new Error("Cannot acquire session as the node has stopped"));
    await Promise.all([...this.#offers].map(({ lease }) => lease[Symbol.asyncDispose]()));
    await Promise.all(this.#running);
  }

  /** Copies a session. All sessions of the pool are leased here, so that it cannot do so itself. */
  async #fork(parent: SlotLease, count: number, options: ForkOptions): Promise<BranchingLease[]> {
    const { slots } = this.#options;
    if (count >= slots) {
      throw new ArgumentRangeError(
        `Cannot fork session as 'count' must be < ${slots}, the size of the pool: current value is ${count}`,
      );
    }
    const { seed, owner, signal } = options;
    return await forkSession(count, {
      seed,
      capture: () => parent.session.checkpoint({ owner, signal }),
      copy: async (from, reseeding) => {
        const lease = await this.acquire({ signal });
        return await disposeUnless(lease, lease.session.restore(from, { ...reseeding, owner, signal }));
      },
    });
  }

  /** Leases session after session, and offers each. */
  async #serveSlot(): Promise<void> {
    const { pool, onError } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        const lease = await pool.acquire({ signal });
        const ended = Promise.withResolvers<void>();
        this.#offer({
          session: lease.session,
          recovery: lease.recovery,
          async [Symbol.asyncDispose]() {
            await lease[Symbol.asyncDispose]();
            ended.resolve();
          },
        });
        await ended.promise;
      } catch (error) {
        if (signal.aborted) return;
        onError(error);
        await delay(RETRY_MS, { signal }).catch(() => {}); // the node stops
      }
    }
  }

  #offer(lease: SlotLease): void {
    const waiter = this.#waiting.first;
    if (waiter) return waiter.resolve(lease);
    const offer: Offer = { lease, subscription: undefined };
    this.#offers.add(offer);
    if (this.#isOpen) this.#subscribe(offer);
  }

  #subscribe(offer: Offer): void {
    const { peer, profile } = this.#options;
    this.#receiveWork(offer);
    peer.post(peer.subjects.free(profile), {}); // callers that wait send again
  }

  /**
   * Receives a message for a slot, and the next message if that is no work. Strangers' messages cause no announcement.
   */
  #receiveWork(offer: Offer): void {
    const { peer, profile, onWork } = this.#options;
    const again = () => {
      if (this.#offers.has(offer) && this.#isOpen) this.#receiveWork(offer);
    };
    offer.subscription = peer.receive(peer.subjects.work(profile), (received) => {
      this.#offers.delete(offer);
      if (onWork(offer.lease, received)) return;
      this.#offers.add(offer);
      again();
    }, { queue: peer.subjects.slotQueue(profile), max: 1, isWhole: true, onInvalid: again });
  }

  /** Replaces all subscriptions: the client of NATS does not restore the limit of a single message. */
  #offerAgain(): void {
    for (const offer of this.#offers) {
      offer.subscription?.unsubscribe();
      if (this.#isOpen) this.#subscribe(offer);
    }
    const { peer, profile } = this.#options;
    if (this.free > 0) peer.post(peer.subjects.free(profile), {});
  }

  /** Leases the session of a slot, before callers of the cluster. It waits if all are in use. */
  async take(signal: AbortSignal | undefined): Promise<SlotLease> {
    {
      using _turn = await this.#withdrawals.acquire(signal);
      for (const offer of [...this.#offers]) {
        if (!this.#offers.has(offer)) continue; // it was given away meanwhile
        if (await this.#withdraw(offer)) return offer.lease;
      }
    }
    const ended = AbortSignal.any([this.#stop.signal, ...signal ? [signal] : []]);
    return await this.#waiting.add(undefined, ended).promise;
  }

  /** Returns true unless work has arrived for the slot. After NATS has confirmed the end, none can. */
  async #withdraw(offer: Offer): Promise<boolean> {
    while (this.#offers.has(offer)) {
      const { subscription } = offer;
      if (subscription !== undefined && !subscription.isClosed()) {
        await subscription.drain().catch(() => {}); // no connection: no work
      }
      if (offer.subscription === subscription) return this.#offers.delete(offer);
    }
    return false;
  }
}
