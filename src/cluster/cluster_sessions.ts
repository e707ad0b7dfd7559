import { Deadline } from "../async/abort.ts";
import { SerialQueue } from "../async/semaphore.ts";
import { ArgumentTypeError, PoolFullError, SandboxLostError, SessionClosedError } from "../errors.ts";
import { sha256 } from "../hash.ts";
import type {
  BranchingPool,
  Checkpoint,
  CheckpointOptions,
  SandboxAcquireOptions,
  SessionLease,
  SessionPool,
} from "../sandbox/exec.ts";
import { readCheckpoint } from "../sandbox/checkpoint/checkpoint.ts";
import { checkEvery, checkSeed } from "../sandbox/exec_check.ts";
import { disposeUnless, Lease } from "../sandbox/lease.ts";
import { NoReceiverError } from "./call_codec.ts";
import { Caller } from "./caller.ts";
import { NatsSession, type NatsSessionOptions } from "./nats_session.ts";
import type { NodeProperties } from "./nodes_bucket.ts";
import type { PeerOptions } from "./nats/peer.ts";
import { admit, Rate } from "./placement.ts";
import type { NatsSubscription } from "./nats/client.ts";
import { nodeOf } from "./nats/subjects.ts";
import { SharedSessions } from "./shared_sessions.ts";
import type { SharedLease, SharedPool } from "../server/sessions/shared_pool.ts";

/** Options of {@linkcode NatsPool}. */
export interface ClusterSessionsOptions extends PeerOptions {
  /**
   * Profile of the sessions. Nodes with this profile run them.
   *
   * @default "serve"
   */
  profile?: string | undefined;
  /**
   * Calls that may wait for a free session.
   *
   * @default 1024
   */
  maxWaiting?: number | undefined;
  /**
   * Milliseconds that a call waits for a free session; `Infinity` disables the limit.
   *
   * @default Infinity
   */
  waitMs?: number | undefined;
}

/** Options of {@linkcode ClusterSessions.open}. */
export interface OpenOptions extends Pick<SandboxAcquireOptions, "seed" | "checkpointEvery" | "signal"> {
  /** Owner whose memory the messages of the session take: a SHA-256, or nothing. */
  readonly owner: string;
}

interface Waiter {
  readonly options: OpenOptions;
  readonly signal: AbortSignal;
  readonly resolve: (session: string) => void;
  readonly reject: (error: unknown) => void;
  isSending: boolean;
}

const MAX_WAITING = 1024;
/** Calls of the queue that are sent at once. */
const MAX_SENDING = 16;
/** Calls of the queue that are sent when a slot has become free, and after each that found one. */
const STEP = 2;
/** Milliseconds after which a waiting call is sent again, in case an announcement was lost. */
const POLL_MS = 250;
/** Milliseconds without a waiting call after which announcements are not received any more. */
const LISTEN_MS = 2_000;

/** Opens sessions on the nodes of a cluster: what {@linkcode NatsPool} and gateways share. */
export class ClusterSessions implements BranchingPool, SharedPool, AsyncDisposable {
  /** {@inheritDoc SessionPool.pairQueue} */
  readonly pairQueue: SerialQueue = new SerialQueue();
  /** Profile of the sessions. */
  readonly profile: string;
  readonly #caller: Caller;
  readonly #options: ClusterSessionsOptions;
  readonly #waiters: Waiter[] = [];
  readonly #grants = new Rate();
  readonly #leases = new Map<SessionLease, NatsSession>();
  readonly #shared: SharedSessions;
  readonly #stop = new AbortController();
  readonly #poll: ReturnType<typeof setInterval>;
  #sending = 0;
  #announcements: NatsSubscription | undefined;
  #waitedAt = 0;

  private constructor(caller: Caller, options: ClusterSessionsOptions) {
    const { profile = "serve" } = options;
    this.profile = profile;
    this.#caller = caller;
    caller.countWaiting = () => this.#waiters.length;
    this.#options = options;
    this.#shared = new SharedSessions(caller.peer);
    this.#poll = setInterval(() => {
      this.#sendWaiting(STEP);
      if (this.#waiters.length > 0) this.#waitedAt = performance.now();
      else if (performance.now() - this.#waitedAt > LISTEN_MS) this.#stopListening();
    }, POLL_MS);
  }

  /**
   * Joins a cluster.
   *
   * @throws {SandboxError} if NATS cannot be reached, refuses the credentials or lacks JetStream.
   * @throws {TypeError} if the name of the cluster is invalid.
   */
  static async connect(options: ClusterSessionsOptions): Promise<ClusterSessions> {
    return new ClusterSessions(await Caller.connect(options, "paddock pool"), options);
  }

  /** Member of the cluster that makes the pool's calls. */
  get caller(): Caller {
    return this.#caller;
  }

  /** Nodes with the pool's profile that are alive. */
  get nodes(): NodeProperties[] {
    return this.#caller.directory.ofProfile(this.profile);
  }

  /** Number of sessions of these nodes. */
  get slots(): number {
    return this.nodes.reduce((sum, { slots }) => sum + slots, 0);
  }

  /** Number of calls that wait for a free session. */
  get waiting(): number {
    return this.#waiters.length;
  }

  /** Limits of the profile, if a node is known. */
  get limits(): SessionPool["limits"] {
    return this.nodes[0]?.profile;
  }

  /**
   * Leases a session on any node that has a free one. Waits if none has. With `from` it is in the state of a
   * checkpoint, whose key the nodes must share.
   *
   * @throws {PoolFullError} if too many calls wait already, or none was free within `waitMs`.
   * @throws {CheckpointError} if that checkpoint must not be restored on the node.
   * @throws {ArgumentRangeError} if `seed` is not a safe integer.
   * @throws the reason of `signal` if it aborts.
   */
  async acquire(options: SandboxAcquireOptions = {}): Promise<Lease> {
    const { seed, once = false, from, owner = "", checkpointEvery, signal } = options;
    checkSeed(seed);
    checkEvery(checkpointEvery);
    if (from && seed !== undefined) {
      throw new ArgumentTypeError("Cannot acquire session as only one of 'seed' and 'from' may be given");
    }
    const account = await accountOf(owner);
    const every = once ? undefined : checkpointEvery; // a single program leaves no state
    const id = await this.open({ seed, checkpointEvery: every, owner: account, signal });
    const lease = await this.lease(id, { owner: account, once, seed, every });
    return from ? await disposeUnless(lease, lease.session.restore(from, { owner, signal })) : lease;
  }

  /** {@inheritDoc BranchingPool.readCheckpoint} */
  async readCheckpoint(
    bytes: Uint8Array,
    { owner = "", signal }: CheckpointOptions = {},
  ): Promise<Checkpoint> {
    const checkpoint = await readCheckpoint(bytes);
    const [node] = this.nodes;
    if (node === undefined) throw this.#full("a checkpoint needs a node", this.#admission().waitMs);
    await this.#caller.callNode(node.id, { op: "verify", owner: "", scope: owner }, {
      parts: [bytes],
      signal,
    });
    return checkpoint;
  }

  /** Opens a session and returns its id. See {@linkcode ClusterSessions.acquire}. */
  async open(options: OpenOptions): Promise<string> {
    const { waitMs = Infinity } = this.#options;
    options.signal?.throwIfAborted();
    this.#stop.signal.throwIfAborted();
    if (this.#waiters.length === 0) {
      const id = await this.#tryOpen(options, AbortSignal.any([this.#stop.signal, ...signalsOf(options)]));
      if (id !== undefined) return id;
    }
    const { isAdmitted, waitMs: expectedMs } = this.#admission();
    if (!isAdmitted) throw this.#full("too many calls wait", expectedMs);
    const signal = AbortSignal.any([this.#stop.signal, ...signalsOf(options)]);
    using deadline = new Deadline(waitMs, {
      signal,
      reason: () => this.#full(`none was free within ${waitMs} ms`, this.#admission().waitMs),
    });
    return await this.#wait(options, deadline.signal);
  }

  /** Returns a lease of a session that was opened. */
  async lease(
    id: string,
    options: Pick<NatsSessionOptions, "owner" | "once" | "seed" | "every">,
  ): Promise<Lease> {
    const home = await this.#caller.directory.readProperties(nodeOf(id));
    if (home === undefined) throw new SandboxLostError("Cannot use session as its node has stopped");
    return this.#lease(id, { ...options, home });
  }

  #lease(
    id: string,
    options: Pick<NatsSessionOptions, "owner" | "once" | "seed" | "every" | "shared" | "home">,
  ): Lease {
    const { owner } = options;
    const session = new NatsSession({
      ...options,
      caller: this.#caller,
      id,
      acquire: async (signal) => await this.lease(await this.open({ owner, signal }), { owner }),
    });
    const lease = new Lease(session, () => {
      this.#leases.delete(lease);
      session[Symbol.asyncDispose]();
    });
    this.#leases.set(lease, session);
    return lease;
  }

  /** {@inheritDoc SharedPool.share} */
  async share(lease: SessionLease, settings: object): Promise<SharedLease> {
    const session = this.#leases.get(lease);
    if (session === undefined) throw new SessionClosedError("Cannot share session as its lease is over");
    return toSharedLease(await session.share(this.#shared, settings), lease, session);
  }

  /** {@inheritDoc SharedPool.join} */
  async join(id: string, owner: string): Promise<{ lease: SharedLease; settings: unknown } | undefined> {
    const account = await accountOf(owner);
    const entry = await this.#shared.read(id, account);
    if (entry === undefined) return undefined;
    const { session: at, home, seed, every, settings } = entry.record;
    const shared = { sessions: this.#shared, id };
    const lease = this.#lease(at, { owner: account, home, seed, every, shared });
    const session = this.#leases.get(lease);
    return session && { lease: toSharedLease(id, lease, session), settings };
  }

  /** Ends all leases, and waits until their nodes have confirmed it, for two seconds at most. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#poll);
    this.#stop.abort(new Error("Cannot acquire session as the pool is disposed"));
    await Promise.all([...this.#leases.keys()].map((lease) => lease[Symbol.asyncDispose]()));
    await this.#caller[Symbol.asyncDispose]();
  }

  /** Returns the id of a session, or `undefined` if no slot is free. */
  async #tryOpen(options: OpenOptions, signal: AbortSignal): Promise<string | undefined> {
    const { seed, owner, checkpointEvery: every } = options;
    try {
      const id = await this.#caller.open(this.profile, {
        owner,
        ...(seed !== undefined && { seed }),
        ...(every !== undefined && { every }),
      }, { signal });
      this.#grants.count(performance.now());
      return id;
    } catch (error) {
      // NATS was away for a moment: nothing has run, so that another node may have the call.
      if (error instanceof NoReceiverError || error instanceof SandboxLostError) return undefined;
      throw error;
    }
  }

  async #wait(options: OpenOptions, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const waiter: Waiter = { options, signal, resolve, reject, isSending: false };
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    this.#waiters.push(waiter);
    this.#listen();
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
      const at = this.#waiters.indexOf(waiter);
      if (at >= 0) this.#waiters.splice(at, 1);
    }
  }

  /** Receives announcements of free slots. Without waiting calls they would only take time. */
  #listen(): void {
    this.#waitedAt = performance.now();
    if (this.#announcements !== undefined) return;
    const { peer } = this.#caller;
    this.#announcements = peer.receive(peer.subjects.free(this.profile), () => this.#sendWaiting(STEP));
    this.#sendWaiting(STEP); // a slot may have become free before
  }

  #stopListening(): void {
    this.#announcements?.unsubscribe();
    this.#announcements = undefined;
  }

  /** Sends up to `count` waiting calls, the oldest first. */
  #sendWaiting(count: number): void {
    for (const waiter of this.#waiters) {
      if (count <= 0 || this.#sending >= MAX_SENDING) return;
      if (waiter.isSending) continue;
      count--;
      this.#sendWaiter(waiter);
    }
  }

  async #sendWaiter(waiter: Waiter): Promise<void> {
    waiter.isSending = true;
    this.#sending++;
    let id: string | undefined;
    try {
      id = await this.#tryOpen(waiter.options, waiter.signal);
      if (id !== undefined) waiter.resolve(id);
    } catch (error) {
      waiter.reject(error);
    } finally {
      waiter.isSending = false;
      this.#sending--;
    }
    if (id === undefined) return;
    this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
    this.#sendWaiting(STEP);
  }

  #admission(): ReturnType<typeof admit> {
    return admit({
      waiting: this.#waiters.length,
      maxWaiting: this.#options.maxWaiting ?? MAX_WAITING,
      slots: this.slots,
      grantsPerSecond: this.#grants.at(performance.now()),
    });
  }

  #full(reason: string, waitMs: number): PoolFullError {
    const { nodes, slots, waiting } = this;
    const state = nodes.length === 0
      ? `no node of cluster '${this.#caller.peer.subjects.cluster}' has profile '${this.profile}'`
      : `all ${slots} sessions of ${nodes.length} nodes are in use, ${waiting} calls wait, ` +
        `and one is likely to be free in ${(waitMs / 1000).toFixed(1)} s`;
    return new PoolFullError(`Cannot acquire session as ${reason}: ${state}`, { retryAfterMs: waitMs });
  }
}

function toSharedLease(id: string, lease: SessionLease, session: NatsSession): SharedLease {
  return {
    id,
    session: lease.session,
    claim: () => session.claim(),
    async leave() {
      session.leave();
      await lease[Symbol.asyncDispose]();
    },
    async [Symbol.asyncDispose]() {
      await lease[Symbol.asyncDispose]();
      await session[Symbol.asyncDispose](); // so that no other server finds it any more
    },
  };
}

/** Returns what identifies an owner on all nodes, and does not tell its name or token. */
async function accountOf(owner: string): Promise<string> {
  return owner === "" ? "" : await sha256(owner);
}

function signalsOf({ signal }: Pick<OpenOptions, "signal">): AbortSignal[] {
  return signal ? [signal] : [];
}
