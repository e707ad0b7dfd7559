import { hostname } from "node:os";
import { abortable, Deadline } from "../../async/abort.ts";
import { SandboxError } from "../../errors.ts";
import { sha256 } from "../../hash.ts";
import { requireKnownOptions } from "../../options.ts";
import type { BranchingPool } from "../../sandbox/contract/pool.ts";
import type { SandboxPool } from "../../sandbox/pool.ts";
import type { Profile } from "../../sandbox/profile/profile.ts";
import { PADDOCK_VERSION } from "../../version.ts";
import type { NatsBucket } from "../nats/client.ts";
import { NodeSessions } from "./node_sessions.ts";
import {
  BEAT_MS,
  type NodeBeat,
  type NodeLoad,
  type NodeProperties,
  openNodesBucket,
  putProperties,
} from "../nodes_bucket.ts";
import { NatsPeer, PEER_OPTIONS, type PeerOptions } from "../nats/nats_peer.ts";
import { SessionStates } from "./session_states.ts";
import { SlotOffers } from "./slot_offers.ts";
import { TOKEN } from "../nats/subjects.ts";

/** Options of {@linkcode ClusterNode.start}. */
export interface ClusterNodeOptions extends PeerOptions {
  /** Pool whose sessions the node offers. Nothing else may use the pool. The caller disposes the pool. */
  pool: SandboxPool;
  /** Profile of the sessions. */
  profile: Profile;
  /** Number of sessions of the pool. */
  slots: number;
  /**
   * True if the pool rewinds sessions after a lease.
   *
   * @default false
   */
  rewinds?: boolean | undefined;
  /**
   * Milliseconds that sessions may go on after a drain has begun.
   *
   * @default 30_000
   */
  drainMs?: number | undefined;
  /**
   * Bytes of the checkpoints that sessions with `checkpointEvery` have in NATS and in memory. If there are several
   * owners, no owner can take all bytes.
   *
   * @default 1 GiB
   */
  checkpointBytes?: number | undefined;
  /**
   * Called with errors of the node, which callers never see.
   *
   * @default they are dropped
   */
  onError?: ((error: unknown) => void) | undefined;
}

/** Properties that do not change. */
type FixedProperties = Omit<NodeProperties, keyof NodeLoad>;

/** Milliseconds between two writes of the properties, and between two looks for what was abandoned. */
const PUBLISH_MS = 2_000;
const SWEEP_MS = 1_000;
/** Milliseconds within which a single heartbeat answers the questions of several members. */
const SOON_MS = 10;
const DRAIN_MS = 30_000;

/** A member of a cluster that runs sessions for callers: see {@linkcode NatsPool}. */
export class ClusterNode implements AsyncDisposable {
  readonly #peer: NatsPeer;
  readonly #options: ClusterNodeOptions;
  readonly #bucket: NatsBucket;
  readonly #properties: FixedProperties;
  readonly #offers: SlotOffers;
  readonly #sessions: NodeSessions;
  readonly #timers: ReturnType<typeof setInterval>[];
  #draining: Promise<void> | undefined;
  #isKeyChecked = false;
  /** Timer of a heartbeat for members that have just learned of this node. */
  #soon: ReturnType<typeof setTimeout> | undefined;

  private constructor(
    peer: NatsPeer,
    { options, bucket, properties }: {
      options: ClusterNodeOptions;
      bucket: NatsBucket;
      properties: FixedProperties;
    },
  ) {
    this.#peer = peer;
    this.#options = options;
    this.#bucket = bucket;
    this.#properties = properties;
    const { pool, rewinds = false, checkpointBytes: maxBytes } = options;
    const onError = (error: unknown) => options.onError?.(error);
    const { subjects } = peer;
    this.#sessions = new NodeSessions({
      peer,
      pool,
      rewinds,
      states: new SessionStates({ peer, maxBytes, onError }),
      takeSlot: (signal) => this.#offers.take(signal),
      onDrain: () => this.drain(),
      onError,
    });
    this.#offers = new SlotOffers({
      ...options,
      peer,
      profile: properties.profile.name,
      onWork: (lease, received) => this.#sessions.start(lease, received),
      onError,
    });
    peer.receive(subjects.node(peer.id), (received) => this.#sessions.receive(received));
    peer.receive(subjects.callerBeat(), (received) => this.#sessions.noteCaller(received));
    peer.onConnection((isConnected) => {
      if (isConnected) this.#beat();
    });
    peer.onAsked(() => this.#beatSoon());
    this.#timers = [
      setInterval(() => this.#beat(), BEAT_MS),
      setInterval(() => this.#publish(), PUBLISH_MS),
      setInterval(() => this.#sweep(), SWEEP_MS),
    ];
  }

  /**
   * Joins a cluster and offers the sessions of a pool.
   *
   * @throws {SandboxError} if NATS cannot be reached, refuses the credentials or lacks JetStream.
   */
  static async start(options: ClusterNodeOptions): Promise<ClusterNode> {
    requireKnownOptions("start ClusterNode", options, {
      ...PEER_OPTIONS,
      pool: true,
      profile: true,
      slots: true,
      rewinds: true,
      drainMs: true,
      checkpointBytes: true,
      onError: true,
    });
    const { profile, slots, pool } = options;
    const { limits: { timeoutMs, memoryBytes, outputBytes }, hostTools, shell } = profile;
    const digest = await sha256(JSON.stringify(profile));
    const { image, key } = await pool.checkpointOrigin();
    await using stack = new AsyncDisposableStack();
    const peer = stack.use(await NatsPeer.connect(options, "paddock node"));
    const bucket = await openNodesBucket(peer);
    const name = TOKEN.test(profile.name) ? profile.name : digest.slice(0, 16); // a path cannot be part of a subject
    const properties = {
      id: peer.id,
      version: PADDOCK_VERSION,
      host: hostname(),
      profile: { name, sha256: digest, hostTools, shell, timeoutMs, memoryBytes, outputBytes },
      image,
      key,
      slots,
      startedAt: Date.now(),
    };
    const node = new ClusterNode(peer, { options, bucket, properties });
    await node.#publish();
    node.#beat();
    stack.move();
    return node;
  }

  /** Id of the node, with which the ids of the node's sessions begin. */
  get id(): string {
    return this.#peer.id;
  }

  /** Properties that the node publishes. */
  get properties(): NodeProperties {
    return { ...this.#properties, ...this.#load() };
  }

  /** Sessions of the pool for the server of this process. The server goes before the cluster. */
  get localPool(): BranchingPool {
    return this.#offers;
  }

  /** Number of messages that were refused as they were invalid. */
  get invalid(): number {
    return this.#sessions.invalid + this.#peer.invalid;
  }

  /**
   * Takes no new sessions, and stores those with checkpoints for other nodes. Waits until the sessions have ended or
   * the limit of a drain is over.
   */
  async drain(): Promise<void> {
    this.#draining ??= this.#drain();
    await this.#draining;
  }

  /** Leaves the cluster at once. Sessions end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#offers.close();
    for (const timer of this.#timers) clearInterval(timer);
    clearTimeout(this.#soon);
    await this.#sessions[Symbol.asyncDispose]();
    await this.#offers[Symbol.asyncDispose]();
    if (this.#peer.isConnected) await this.#bucket.delete(this.#peer.subjects.entry(this.id)).catch(() => {}); // the entry disappears by itself
    await this.#peer[Symbol.asyncDispose]();
  }

  async #drain(): Promise<void> {
    const { drainMs = DRAIN_MS } = this.#options;
    using limit = new Deadline(drainMs);
    this.#offers.close();
    const drained = this.#sessions.drain();
    this.#beat();
    await this.#publish();
    await abortable(drained, limit.signal).catch(() => {}); // the sessions that are left end with the node
  }

  #load(): NodeLoad {
    return {
      free: this.#offers.free,
      sessions: this.#sessions.size,
      draining: this.#sessions.isDraining,
      execs: this.#sessions.execs,
      invalid: this.invalid,
    };
  }

  #beat(): void {
    const { id, epoch, subjects } = this.#peer;
    this.#peer.post(subjects.nodeBeat(id), { id, epoch, ...this.#load() } satisfies NodeBeat);
  }

  #sweep(): void {
    this.#sessions.sweep();
    if (this.#isKeyChecked || this.#peer.foreign === 0) return;
    this.#isKeyChecked = true;
    this.#options.onError?.(
      new SandboxError(`Node '${this.id}' does not serve all members of the cluster${this.#peer.keyAdvice}`),
    );
  }

  #beatSoon(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      this.#beat();
    }, SOON_MS);
  }

  async #publish(): Promise<void> {
    try {
      await putProperties(this.#peer, this.#bucket, this.properties);
    } catch {
      // NATS is away, or lost all data in a restart: the bucket is made again, or the next write succeeds.
      if (this.#peer.isConnected) await openNodesBucket(this.#peer).catch(() => {}); // the next write tries again
    }
  }
}
