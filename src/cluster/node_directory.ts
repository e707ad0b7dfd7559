import * as z from "zod";
import type { NatsBucket } from "./nats/client.ts";
import {
  BEAT_MS,
  LOST_MS,
  type NodeBeat,
  nodeBeatSchema,
  type NodeLoad,
  type NodeProperties,
  openNodesBucket,
  readProperties,
} from "./nodes_bucket.ts";
import type { NatsPeer, Received } from "./nats/nats_peer.ts";

/** A node as a caller sees it. */
export interface KnownNode {
  /** Properties that it published last; `undefined` until they are read. */
  readonly properties: NodeProperties | undefined;
  readonly beat: NodeBeat;
}

interface Entry {
  properties: NodeProperties | undefined;
  beat: NodeBeat;
  seenAt: number;
}

/** Milliseconds after which a node that seems lost is looked at again: its heartbeats may wait to be read. */
const SECOND_LOOK_MS = 50;
const CHECK_MS = 150;
const MAX_NODES = 10_000;

/** The nodes that are alive, by their heartbeats, with what they publish about themselves. */
export class NodeDirectory implements Disposable {
  readonly #peer: NatsPeer;
  readonly #onLost: (node: string) => void;
  readonly #entries = new Map<string, Entry>();
  readonly #timer: ReturnType<typeof setInterval>;
  #bucket: NatsBucket;
  #unknown = new Set<string>();

  private constructor(peer: NatsPeer, bucket: NatsBucket, onLost: (node: string) => void) {
    this.#peer = peer;
    this.#bucket = bucket;
    this.#onLost = onLost;
    peer.receive(peer.subjects.nodeBeat(), (received) => this.#note(received));
    peer.onConnection((isConnected) => this.#onConnection(isConnected));
    this.#timer = setInterval(() => this.#check(), CHECK_MS);
  }

  /**
   * Opens the directory and waits for two heartbeats, so that it has the nodes that are alive.
   *
   * @throws {SandboxError} if NATS lacks JetStream.
   */
  static async open(peer: NatsPeer, onLost: (node: string) => void): Promise<NodeDirectory> {
    const directory = new NodeDirectory(peer, await openNodesBucket(peer), onLost);
    await new Promise((resolve) => setTimeout(resolve, 2 * BEAT_MS));
    await directory.#readUnknown();
    return directory;
  }

  /** The nodes that are alive. */
  get nodes(): KnownNode[] {
    return [...this.#entries.values()];
  }

  /** The properties of the nodes that are alive, with the load of their last heartbeats. */
  get properties(): NodeProperties[] {
    return this.nodes.flatMap(({ properties, beat }) =>
      properties ? [{ ...properties, ...loadOf(beat) }] : []
    );
  }

  /** The properties of the nodes of a profile that are alive. */
  ofProfile(profile: string): NodeProperties[] {
    return this.properties.filter((node) => node.profile.name === profile);
  }

  /** Returns a node that is alive. */
  find(id: string): KnownNode | undefined {
    return this.#entries.get(id);
  }

  /** Reads the properties of a node from the bucket, if they are not known yet. */
  async readProperties(id: string): Promise<NodeProperties | undefined> {
    const entry = this.#entries.get(id);
    if (entry?.properties) return entry.properties;
    const properties = await readProperties(this.#peer, this.#bucket, id);
    if (properties?.id !== id) return undefined;
    if (entry) entry.properties = properties;
    return properties;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #note({ head, sender }: Received): void {
    const parsed = z.safeParse(nodeBeatSchema, head);
    if (!parsed.success || parsed.data.id !== sender) return void this.#peer.invalid++;
    const beat = parsed.data;
    const known = this.#entries.get(beat.id);
    // Replies that a node sent between two connections may be lost.
    if (known && known.beat.epoch !== beat.epoch) this.#onLost(beat.id);
    if (known) Object.assign(known, { beat, seenAt: performance.now() });
    else if (this.#entries.size < MAX_NODES) {
      this.#entries.set(beat.id, { beat, properties: undefined, seenAt: performance.now() });
      this.#unknown.add(beat.id);
      this.#readUnknown();
    }
  }

  async #readUnknown(): Promise<void> {
    const ids = [...this.#unknown];
    this.#unknown.clear();
    await Promise.all(ids.map(async (id) => {
      const properties = await this.readProperties(id);
      if (properties === undefined && this.#entries.has(id)) this.#unknown.add(id); // tried again at the next check
    }));
  }

  #check(): void {
    const silent = this.#silent();
    if (silent.length > 0) {
      setTimeout(() => {
        const still = new Set(this.#silent());
        for (const id of silent.filter((id) => still.has(id))) this.#lose(id);
      }, SECOND_LOOK_MS);
    }
    if (this.#unknown.size > 0) this.#readUnknown();
  }

  #silent(): string[] {
    const now = performance.now();
    return [...this.#entries].flatMap(([id, { seenAt }]) => now - seenAt > LOST_MS ? [id] : []);
  }

  #lose(id: string): void {
    this.#entries.delete(id);
    this.#unknown.delete(id);
    this.#onLost(id);
  }

  #onConnection(isConnected: boolean): void {
    if (!isConnected) return;
    for (const entry of this.#entries.values()) entry.seenAt = performance.now();
    openNodesBucket(this.#peer).then((bucket) => this.#bucket = bucket, () => {}); // nodes make it again
  }
}

function loadOf({ free, sessions, draining, execs, invalid }: NodeBeat): NodeLoad {
  return { free, sessions, draining, execs, invalid };
}
