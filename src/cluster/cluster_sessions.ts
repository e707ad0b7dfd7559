import { checkOptionNames } from "../sandbox/contract/known_options.ts";
import { ArgumentTypeError, SandboxLostError, SessionClosedError } from "../errors.ts";
import { sha256 } from "../hash.ts";
import { statesOf } from "../sandbox/checkpoint/state_memory.ts";
import type { Checkpoint, CheckpointOptions } from "../sandbox/contract/checkpoint.ts";
import type {
  BranchingPool,
  SandboxAcquireOptions,
  SessionLease,
  SessionPool,
} from "../sandbox/contract/pool.ts";
import { readCheckpoint } from "../sandbox/checkpoint/checkpoint.ts";
import { checkEvery, checkSeed } from "../sandbox/exec/exec_check.ts";
import { disposeUnless, Lease } from "../sandbox/lease.ts";
import { Caller } from "./caller.ts";
import { NatsSession, type NatsSessionOptions } from "./nats_session.ts";
import type { NodeProperties } from "./nodes_bucket.ts";
import type { PeerOptions } from "./nats/nats_peer.ts";
import { nodeOf } from "./nats/subjects.ts";
import { OnceSession } from "./once_session.ts";
import { SlotQueue } from "./slot_queue.ts";
import { SharedSessionsBucket } from "./shared_sessions.ts";
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
export interface ClusterOpenOptions
  extends Pick<SandboxAcquireOptions, "seed" | "checkpointEvery" | "signal"> {
  /** Owner whose memory the messages of the session take: a SHA-256, or nothing. */
  readonly owner: string;
}

const MAX_WAITING = 1024;

/** Opens sessions on the nodes of a cluster: what {@linkcode NatsPool} and gateways share. */
export class ClusterSessions implements BranchingPool, SharedPool, AsyncDisposable {
  /** Profile of the sessions. */
  readonly profile: string;
  readonly #caller: Caller;
  readonly #queue: SlotQueue;
  readonly #leases = new Map<SessionLease, NatsSession>();
  readonly #shared: SharedSessionsBucket;
  readonly #stop = new AbortController();

  private constructor(caller: Caller, options: ClusterSessionsOptions) {
    const { profile = "serve", maxWaiting = MAX_WAITING, waitMs = Infinity } = options;
    this.profile = profile;
    this.#caller = caller;
    this.#shared = new SharedSessionsBucket(caller.peer);
    this.#queue = new SlotQueue({ caller, profile, maxWaiting, waitMs, stop: this.#stop.signal });
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
    return this.#queue.nodes;
  }

  /** Number of sessions of these nodes. */
  get slots(): number {
    return this.#queue.slots;
  }

  /** Number of calls that wait for a free session. */
  get waiting(): number {
    return this.#queue.waiting;
  }

  /** Limits of the profile, if a node is known. */
  get limits(): SessionPool["limits"] {
    return this.nodes[0]?.profile;
  }

  /**
   * Leases a session on any node with a free session. Waits if there is no such node. With `from` the session is in the
   * state of a checkpoint; the nodes must share the checkpoint's key.
   *
   * @throws {PoolFullError} if too many calls wait already, or no session was free within `waitMs`.
   * @throws {CheckpointError} if that checkpoint must not be restored on the node.
   * @throws {ArgumentRangeError} if `seed` is not a safe integer.
   * @throws the reason of `signal` if it aborts.
   */
  async acquire(options: SandboxAcquireOptions = {}): Promise<Lease> {
    checkOptionNames("acquire", options);
    const { seed, once = false, from, owner = "", checkpointEvery, signal } = options;
    checkSeed(seed);
    checkEvery(checkpointEvery);
    if (from && seed !== undefined) {
      throw new ArgumentTypeError("Cannot acquire session as only one of 'seed' and 'from' may be given");
    }
    const account = await accountOf(owner);
    const [node] = this.nodes;
    if (once && !from && node) return this.#leaseOnce(node, { owner: account, seed });
    const every = once ? undefined : checkpointEvery; // a single program leaves no state
    const id = await this.open({ seed, checkpointEvery: every, owner: account, signal });
    const lease = await this.lease(id, { owner: account, once, seed, every });
    return from ? await disposeUnless(lease, lease.session.restore(from, { owner, signal })) : lease;
  }

  /** {@inheritDoc BranchingPool.readCheckpoint} */
  async readCheckpoint(
    bytes: Uint8Array,
    options: CheckpointOptions = {},
  ): Promise<Checkpoint> {
    const { owner = "", signal } = options;
    using _room = await statesOf(options)?.reserve(bytes.length, signal);
    const checkpoint = await readCheckpoint(bytes);
    const [node] = this.nodes;
    if (node === undefined) throw this.#queue.fullError("a checkpoint needs a node");
    await this.#caller.callNode(node.id, { op: "verify", owner: "", scope: owner }, {
      parts: [bytes],
      signal,
    });
    return checkpoint;
  }

  /** Opens a session and returns the session's id. See {@linkcode ClusterSessions.acquire}. */
  async open({ seed, owner, checkpointEvery: every, signal }: ClusterOpenOptions): Promise<string> {
    const request = { owner, ...(seed !== undefined && { seed }), ...(every !== undefined && { every }) };
    return await this.#queue.run((signal) => this.#caller.open(this.profile, request, { signal }), {
      signal,
    });
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

  /** Returns a lease for one program. The lease takes a slot when the program is sent. */
  #leaseOnce({ profile }: NodeProperties, options: { owner: string; seed: number | undefined }): Lease {
    const session = new OnceSession({
      ...options,
      profile,
      run: (request, { signal, ...call }) =>
        this.#queue.run((signal) => this.#caller.run(this.profile, request, { ...call, signal }), { signal }),
      open: async () => {
        const id = await this.open(options);
        return await this.lease(id, { ...options, once: true });
      },
    });
    return new Lease(session, () => session[Symbol.asyncDispose]());
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

  /** Ends all leases, and waits until the nodes have confirmed the end, for two seconds at most. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#queue[Symbol.dispose]();
    this.#stop.abort(new Error("Cannot acquire session as the pool is disposed"));
    await Promise.all([...this.#leases.keys()].map((lease) => lease[Symbol.asyncDispose]()));
    await this.#caller[Symbol.asyncDispose]();
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
      await session[Symbol.asyncDispose](); // so that no other server finds the session any more
    },
  };
}

/** Returns a text that identifies an owner on all nodes, without the owner's name or token. */
async function accountOf(owner: string): Promise<string> {
  return owner === "" ? "" : await sha256(owner);
}
