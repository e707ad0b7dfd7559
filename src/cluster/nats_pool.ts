import { requireKnownOptions } from "../options.ts";
import type { Checkpoint, CheckpointOptions } from "../sandbox/contract/checkpoint.ts";
import type {
  BranchingLease,
  BranchingPool,
  SandboxAcquireOptions,
  SessionPool,
} from "../sandbox/contract/pool.ts";
import { ClusterSessions, type ClusterSessionsOptions } from "./cluster_sessions.ts";
import { PEER_OPTIONS } from "./nats/nats_peer.ts";
import type { NodeProperties } from "./nodes_bucket.ts";

/** Options of {@linkcode NatsPool.connect}. */
export type NatsPoolOptions = ClusterSessionsOptions;

/**
 * A pool whose sessions run on the nodes of a cluster. A lease is immediate while any node has a free session.
 *
 * @example Lease a session of a cluster
 * ```ts
 * import { NatsPool } from "@paddock/paddock/cluster";
 *
 * async function sum(servers: string) {
 *   await using pool = await NatsPool.connect({ servers });
 *   await using lease = await pool.acquire({ seed: 7 });
 *   return await lease.session.exec("sum(range(10))");
 * }
 * ```
 */
export class NatsPool implements BranchingPool, AsyncDisposable {
  readonly #sessions: ClusterSessions;

  private constructor(sessions: ClusterSessions) {
    this.#sessions = sessions;
  }

  /**
   * Joins a cluster.
   *
   * @throws {SandboxError} if NATS cannot be reached, refuses the credentials or lacks JetStream.
   * @throws {TypeError} if the name of the cluster is invalid.
   */
  static async connect(options: NatsPoolOptions): Promise<NatsPool> {
    requireKnownOptions("connect NatsPool", options, {
      ...PEER_OPTIONS,
      profile: true,
      maxWaiting: true,
      waitMs: true,
    });
    return new NatsPool(await ClusterSessions.connect(options));
  }

  /** Nodes with the pool's profile that are alive. */
  get nodes(): NodeProperties[] {
    return this.#sessions.nodes;
  }

  /** Number of sessions of these nodes, leased and idle. */
  get size(): number {
    return this.#sessions.slots;
  }

  /** Number of calls that wait for a free session. */
  get waiting(): number {
    return this.#sessions.waiting;
  }

  /** Limits of the profile, if a node is known. */
  get limits(): SessionPool["limits"] {
    return this.#sessions.limits;
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
  async acquire(options?: SandboxAcquireOptions): Promise<BranchingLease> {
    return await this.#sessions.acquire(options);
  }

  /** {@inheritDoc BranchingPool.readCheckpoint} */
  async readCheckpoint(bytes: Uint8Array, options?: CheckpointOptions): Promise<Checkpoint> {
    return await this.#sessions.readCheckpoint(bytes, options);
  }

  /** Ends all leases, and waits until the nodes have confirmed the end, for two seconds at most. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sessions[Symbol.asyncDispose]();
  }
}
