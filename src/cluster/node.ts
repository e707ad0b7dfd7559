import { hostname } from "node:os";
import * as z from "zod";
import { SessionClosedError } from "../errors.ts";
import { sha256 } from "../hash.ts";
import { readCheckpoint } from "../sandbox/checkpoint/checkpoint.ts";
import type { BranchingPool } from "../sandbox/exec.ts";
import { baseImageName } from "../sandbox/image/base_image.ts";
import type { Profile } from "../sandbox/profile/profile.ts";
import { ServerError } from "../server/http/errors.ts";
import { MAX_SESSION_WAITING, MEMORY_PER_BYTE } from "../server/limits.ts";
import { PADDOCK_VERSION } from "../version.ts";
import { partAt, toErrorReply, toExecOptions, toResultReply } from "./call_codec.ts";
import { type Call, type CallOf, callSchema, controlSchema } from "./calls.ts";
import type { NatsBucket } from "./nats_client.ts";
import { NodeCall } from "./node_call.ts";
import { NodeSession } from "./node_session.ts";
import {
  BEAT_MS,
  callerBeatSchema,
  type NodeBeat,
  type NodeProperties,
  openNodesBucket,
} from "./nodes_bucket.ts";
import { Peer, type PeerOptions, type Received } from "./peer.ts";
import { type SlotLease, SlotOffers } from "./slot_offers.ts";
import { createSessionId, TOKEN } from "./subjects.ts";

/** Options of {@linkcode ClusterNode.start}. */
export interface ClusterNodeOptions extends PeerOptions {
  /** Pool whose sessions are offered. Nothing else may use it. The caller disposes it. */
  pool: BranchingPool;
  /** Profile of its sessions. */
  profile: Profile;
  /** Number of sessions of the pool. */
  slots: number;
  /**
   * True if the pool rewinds its sessions after a lease.
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
  /** Called with errors of the node, which callers never see. */
  onError?: ((error: unknown) => void) | undefined;
}

/** Properties that do not change. */
type FixedProperties = Omit<NodeProperties, "free" | "sessions" | "draining">;

/** Milliseconds between two writes of the properties, and between two looks for what was abandoned. */
const PUBLISH_MS = 2_000;
const SWEEP_MS = 1_000;
/** Milliseconds without a heartbeat after which a caller is lost, and what it holds is ended. */
const CALLER_LOST_MS = 10_000;
const DRAIN_MS = 30_000;

/** A member of a cluster that runs sessions for callers: see {@linkcode NatsPool}. */
export class ClusterNode implements AsyncDisposable {
  readonly #peer: Peer;
  readonly #options: ClusterNodeOptions;
  readonly #bucket: NatsBucket;
  readonly #properties: FixedProperties;
  readonly #offers: SlotOffers;
  readonly #sessions = new Map<string, NodeSession>();
  readonly #calls = new Map<string, NodeCall>();
  /** Callers that hold something, and their last heartbeat. */
  readonly #callers = new Map<string, { seenAt: number; epoch: number }>();
  readonly #timers: ReturnType<typeof setInterval>[];
  #draining: Promise<void> | undefined;
  #isDraining = false;
  readonly #whenEmpty = Promise.withResolvers<void>();
  #invalid = 0;

  private constructor(
    peer: Peer,
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
    this.#offers = new SlotOffers({
      ...options,
      peer,
      profile: properties.profile.name,
      onWork: (lease, received) => this.#startSession(lease, received),
      onError: (error) => options.onError?.(error),
    });
    const { subjects } = peer;
    peer.receive(subjects.node(peer.id), (received) => this.#receive(received));
    peer.receive(subjects.callerBeat(), (received) => this.#noteCaller(received));
    peer.onConnection((isConnected) => {
      for (const caller of this.#callers.values()) caller.seenAt = performance.now();
      if (isConnected) this.#beat();
    });
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
    const { profile, slots } = options;
    const { limits: { timeoutMs, memoryBytes, outputBytes }, hostTools, shell } = profile;
    const digest = await sha256(JSON.stringify(profile));
    const image = await baseImageName(profile);
    await using stack = new AsyncDisposableStack();
    const peer = stack.use(await Peer.connect(options, "paddock node"));
    const bucket = await openNodesBucket(peer);
    const name = TOKEN.test(profile.name) ? profile.name : digest.slice(0, 16); // a path cannot be part of a subject
    const properties = {
      id: peer.id,
      version: PADDOCK_VERSION,
      host: hostname(),
      profile: { name, sha256: digest, hostTools, shell, timeoutMs, memoryBytes, outputBytes },
      image,
      slots,
      startedAt: Date.now(),
    };
    const node = new ClusterNode(peer, { options, bucket, properties });
    await node.#publish();
    node.#beat();
    stack.move();
    return node;
  }

  /** Id of the node, with which the ids of its sessions begin. */
  get id(): string {
    return this.#peer.id;
  }

  /** What the node publishes about itself. */
  get properties(): NodeProperties {
    return { ...this.#properties, ...this.#load() };
  }

  /** Sessions of the pool for the server of this process. It goes before the cluster. */
  get localPool(): BranchingPool {
    return this.#offers;
  }

  /** Number of messages that were refused as they were invalid. */
  get invalid(): number {
    return this.#invalid + this.#peer.invalid;
  }

  /** Takes no new sessions, and waits until the sessions have ended or the limit of a drain is over. */
  async drain(): Promise<void> {
    this.#draining ??= this.#drain();
    await this.#draining;
  }

  /** Leaves the cluster at once. Sessions end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#offers.close();
    for (const timer of this.#timers) clearInterval(timer);
    for (const call of this.#calls.values()) call.abort();
    await Promise.all([...this.#sessions.values()].map((session) => session[Symbol.asyncDispose]()));
    await this.#offers[Symbol.asyncDispose]();
    if (this.#peer.isConnected) await this.#bucket.delete(this.id).catch(() => {}); // it disappears by itself
    await this.#peer[Symbol.asyncDispose]();
  }

  async #drain(): Promise<void> {
    this.#isDraining = true;
    this.#offers.close();
    if (this.#sessions.size === 0) this.#whenEmpty.resolve();
    this.#beat();
    await this.#publish();
    const { drainMs = DRAIN_MS } = this.#options;
    const timer = setTimeout(this.#whenEmpty.resolve, drainMs);
    await this.#whenEmpty.promise;
    clearTimeout(timer);
  }

  #load(): Pick<NodeProperties, "free" | "sessions" | "draining"> {
    return {
      free: this.#offers.free,
      sessions: this.#sessions.size,
      draining: this.#isDraining,
    };
  }

  #beat(): void {
    const { id, epoch, subjects } = this.#peer;
    this.#peer.post(subjects.nodeBeat(id), { id, epoch, ...this.#load() } satisfies NodeBeat);
  }

  async #publish(): Promise<void> {
    const text = JSON.stringify(this.properties);
    try {
      await this.#bucket.put(this.id, text);
    } catch {
      // NATS is away, or came back without its memory: the bucket is made again, or the next write succeeds.
      if (this.#peer.isConnected) await openNodesBucket(this.#peer).catch(() => {}); // the next write tries again
    }
  }

  /** Opens a session for a message of the cluster. Returns false if the message asks for none. */
  #startSession(lease: SlotLease, { head, bytes }: Received): boolean {
    const parsed = callSchema.safeParse(head);
    if (!parsed.success || parsed.data.op !== "open") {
      this.#invalid++;
      return false;
    }
    const call = parsed.data;
    if (this.#isDraining) {
      const reply = { kind: "error", code: "draining", message: "the node is draining" } as const;
      new NodeCall(this.#peer, call).reply(reply);
      return false;
    }
    this.#serve(call, bytes, (run) => this.#open(call, { lease, run }));
    return true;
  }

  async #open(
    call: CallOf<"open">,
    { lease, run }: { lease: SlotLease; run: NodeCall },
  ): Promise<void> {
    const { caller, owner, seed } = call;
    const id = createSessionId(this.id);
    const session = new NodeSession({
      id,
      lease,
      caller,
      owner,
      onEnd: () => {
        this.#sessions.delete(id);
        if (this.#isDraining && this.#sessions.size === 0) this.#whenEmpty.resolve();
      },
    });
    this.#sessions.set(id, session);
    try {
      if (seed !== undefined) await lease.session.reset({ mode: "rewind", seed, signal: run.signal });
      run.signal.throwIfAborted();
      await run.reply({ kind: "opened", session: id });
    } catch (error) {
      await session[Symbol.asyncDispose]();
      throw error;
    }
  }

  #receive({ head, parts, bytes }: Received): void {
    const control = controlSchema.safeParse(head);
    if (control.success) {
      this.#calls.get(keyOf(control.data))?.control(control.data, parts);
      return;
    }
    const call = callSchema.safeParse(head);
    if (!call.success || call.data.op === "open" || this.#calls.has(keyOf(call.data))) {
      this.#invalid++;
      return;
    }
    const { data } = call;
    this.#serve(data, bytes, (run) => this.#perform(data, { parts, run }));
  }

  /** Runs a call. Its message takes memory of its owner until it has ended. */
  async #serve(call: Call, bytes: number, work: (run: NodeCall) => Promise<void>): Promise<void> {
    const run = new NodeCall(this.#peer, call);
    const key = keyOf(call);
    this.#calls.set(key, run);
    const caller = this.#callers.getOrInsertComputed(call.caller, () => ({ seenAt: 0, epoch: 0 }));
    caller.seenAt = performance.now();
    try {
      using _memory = this.#peer.memory.take(call.owner, MEMORY_PER_BYTE * bytes);
      await work(run);
    } catch (error) {
      const reply = toErrorReply(error);
      if (reply.code === "internal" || reply.code === "sandbox") this.#options.onError?.(error);
      await run.reply(reply);
    } finally {
      this.#calls.delete(key);
    }
  }

  async #perform(
    call: Exclude<Call, { op: "open" }>,
    { parts, run }: { parts: readonly Uint8Array[]; run: NodeCall },
  ): Promise<void> {
    if (call.op === "verify") {
      const { scope: owner } = call;
      await this.#options.pool.readCheckpoint(parts[0] ?? new Uint8Array(), { owner, signal: run.signal });
      return await run.reply({ kind: "done" });
    }
    if (call.op === "drain") {
      this.drain();
      return await run.reply({ kind: "done" });
    }
    const session = this.#sessions.get(call.session);
    if (session === undefined || !session.isOf(call)) {
      if (call.op === "end") return await run.reply({ kind: "done" });
      throw new SessionClosedError("There is no such session on the node");
    }
    if (call.op === "keep") return session.confirm();
    if (call.op === "end") await session[Symbol.asyncDispose]();
    else {
      if (session.users >= MAX_SESSION_WAITING) {
        throw new ServerError("busy", `${MAX_SESSION_WAITING} calls are waiting for the session`);
      }
      using _use = session.use();
      return await this.#use(session, { call, parts, run });
    }
    await run.reply({ kind: "done" });
  }

  /** Performs a call that uses the interpreter of a session. */
  async #use(
    session: NodeSession,
    { call, parts, run }: {
      call: CallOf<"exec" | "shell" | "write" | "read" | "reset" | "checkpoint" | "restore">;
      parts: readonly Uint8Array[];
      run: NodeCall;
    },
  ): Promise<void> {
    const { session: python } = session.lease;
    const { signal } = run;
    const { owner } = call;
    switch (call.op) {
      case "exec": {
        const { follows = [], tools = [] } = call;
        const result = await python.exec(call.code, {
          ...toExecOptions(call, parts),
          ...(call.last && this.#options.rewinds && { then: "rewind" }),
          signal,
          tools: run.toHostTools(tools),
          ...(follows.includes("output") && { onOutput: run.output.bind(run) }),
          ...(follows.includes("display") && { onDisplay: run.display.bind(run) }),
        });
        if (call.last) session[Symbol.asyncDispose]();
        const { head, parts: files } = toResultReply(result);
        return await run.reply(head, files);
      }
      case "shell": {
        const { command, timeoutMs, memoryBytes, silenceMs, stdin, follows = [] } = call;
        const options = { timeoutMs, memoryBytes, silenceMs, stdin, signal };
        const onOutput = follows.length > 0 ? run.output.bind(run) : undefined;
        return await run.reply({
          kind: "result",
          result: await python.shell(command, { ...options, onOutput }),
        });
      }
      case "write":
        await python.writeFile(call.path, parts[0] ?? new Uint8Array());
        break;
      case "read":
        return await run.reply({ kind: "bytes" }, [await python.readFile(call.path)]);
      case "reset":
        await python.reset({ mode: call.mode, seed: call.seed, signal });
        break;
      case "checkpoint": {
        const checkpoint = await python.checkpoint({ owner: call.scope ?? owner, signal });
        return await run.reply({ kind: "bytes" }, [await checkpoint.toBytes()]);
      }
      case "restore": {
        const { scope = owner, reseed, seed } = call;
        const checkpoint = await readCheckpoint(partAt(parts, 0));
        await python.restore(checkpoint, { owner: scope, reseed, seed, signal });
      }
    }
    await run.reply({ kind: "done" });
  }

  #noteCaller({ head }: Received): void {
    const beat = z.safeParse(callerBeatSchema, head);
    if (!beat.success) return void this.#invalid++;
    const { id, epoch } = beat.data;
    const caller = this.#callers.get(id);
    if (caller === undefined) return;
    // Messages between two connections of the caller may be lost: it has given up its calls.
    if (caller.epoch !== 0 && caller.epoch !== epoch) this.#abortCalls(id);
    Object.assign(caller, { seenAt: performance.now(), epoch });
  }

  #abortCalls(caller: string): void {
    for (const call of this.#calls.values()) {
      if (call.caller === caller) call.abort();
    }
  }

  /** Ends what lost callers hold, and sessions that nobody uses. */
  #sweep(): void {
    if (!this.#peer.isConnected) return;
    for (const session of this.#sessions.values()) {
      if (session.isAbandoned()) session[Symbol.asyncDispose]();
    }
    for (const [id, { seenAt }] of this.#callers) {
      if (performance.now() - seenAt < CALLER_LOST_MS) continue;
      this.#callers.delete(id);
      this.#abortCalls(id);
      for (const session of this.#sessions.values()) {
        if (session.caller === id) session[Symbol.asyncDispose]();
      }
    }
  }
}

function keyOf({ caller, call }: { caller: string; call: string }): string {
  return `${caller} ${call}`;
}
