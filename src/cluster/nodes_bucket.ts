import * as z from "zod";
import { errorMessage, SandboxError } from "../errors.ts";
import { parseUntrustedJson } from "../json.ts";
import { loadKv, type NatsBucket } from "./nats/client.ts";
import type { NatsPeer } from "./nats/nats_peer.ts";
import { PEER_ID, TOKEN } from "./nats/subjects.ts";

/** Load of a node, which its heartbeats have. */
export interface NodeLoad {
  /** Number of slots that wait for work. */
  readonly free: number;
  /** Number of sessions that callers of the cluster hold. */
  readonly sessions: number;
  /** True if it takes no new sessions. */
  readonly draining: boolean;
  /** Number of programs and commands that it has run for the cluster. */
  readonly execs: number;
  /** Number of messages that it has refused as they were invalid. */
  readonly invalid: number;
}

/** Properties that a node shares with those that can continue its sessions. */
export interface NodeHome {
  readonly profile: {
    readonly name: string;
    /** SHA-256 of all its settings. */
    readonly sha256: string;
    readonly hostTools: boolean;
    readonly shell: boolean;
    readonly timeoutMs: number;
    readonly memoryBytes: number;
    readonly outputBytes: number;
  };
  /** SHA-256 of the bytes of the base image. */
  readonly image: string;
  /** Identifies the key of its checkpoints, and does not tell it. */
  readonly key: string;
}

/** Properties of a node, which it publishes in the bucket of nodes. */
export interface NodeProperties extends NodeLoad, NodeHome {
  readonly id: string;
  readonly version: string;
  readonly host: string;
  /** Number of sessions of its pool. */
  readonly slots: number;
  /** Unix time in milliseconds. */
  readonly startedAt: number;
}

/** Heartbeat of a node. */
export interface NodeBeat extends NodeLoad {
  readonly id: string;
  /** Number of its connections to NATS so far. */
  readonly epoch: number;
}

/** Heartbeat of a caller. */
export interface CallerBeat {
  readonly id: string;
  /** Number of its connections to NATS so far. */
  readonly epoch: number;
  /** Number of its calls that wait for a free slot. */
  readonly waiting: number;
}

const count = z.int().nonnegative();
const load = { free: count, sessions: count, draining: z.boolean(), execs: count, invalid: count };
const hash = z.string().regex(/^[0-9a-f]{64}$/);
const id = z.string().regex(PEER_ID);

const home = {
  profile: z.strictObject({
    name: z.string().regex(TOKEN),
    sha256: hash,
    hostTools: z.boolean(),
    shell: z.boolean(),
    timeoutMs: z.number(),
    memoryBytes: z.number(),
    outputBytes: z.number(),
  }),
  image: hash,
  key: hash,
};
/** Properties that a node shares with those that can continue its sessions. */
export const nodeHomeSchema: z.core.$ZodType<NodeHome> = z.strictObject(home);
const nodePropertiesSchema: z.core.$ZodType<NodeProperties> = z.strictObject({
  id,
  version: z.string().max(64),
  host: z.string().max(256),
  ...home,
  slots: z.int().min(1),
  ...load,
  startedAt: z.number(),
});

/** Heartbeat of a node. */
export const nodeBeatSchema: z.core.$ZodType<NodeBeat> = z.strictObject({ id, epoch: z.int(), ...load });
/** Heartbeat of a caller. */
export const callerBeatSchema: z.core.$ZodType<CallerBeat> = z.strictObject({
  id,
  epoch: z.int(),
  waiting: count,
});

/** Milliseconds between two heartbeats. */
export const BEAT_MS = 300;
/** Milliseconds without a heartbeat after which a node is lost. */
export const LOST_MS = 1_500;
/** Milliseconds after which the properties of a node that has stopped disappear. */
const PROPERTIES_TTL_MS = 10_000;
const MAX_PROPERTIES_BYTES = 16 * 1024;

/**
 * Opens the bucket of a cluster's nodes, which is in memory: nodes write their properties again and again.
 *
 * @throws {SandboxError} if NATS runs without JetStream, or refuses the access.
 */
export async function openNodesBucket(peer: NatsPeer): Promise<NatsBucket> {
  const { Kvm } = await loadKv();
  try {
    return await new Kvm(peer.nats).create(peer.subjects.nodesBucket, {
      ttl: PROPERTIES_TTL_MS,
      history: 1,
      maxValueSize: MAX_PROPERTIES_BYTES,
      storage: "memory",
    });
  } catch (cause) {
    throw new SandboxError(
      `Cannot join cluster as NATS must have JetStream, such as \`nats-server -js\`: ${errorMessage(cause)}`,
      { cause },
    );
  }
}

/** Writes the properties of a node into the bucket, which only members of the cluster can read there. */
export async function putProperties(
  peer: NatsPeer,
  bucket: NatsBucket,
  properties: NodeProperties,
): Promise<void> {
  const { subjects } = peer;
  const name = subjects.entry(properties.id);
  const text = new TextEncoder().encode(JSON.stringify(properties));
  await bucket.put(name, peer.sealValue(subjects.nodesBucket, name, text));
}

/**
 * Reads the properties of a node, or returns `undefined` if there are none that a member of the cluster has written.
 */
export async function readProperties(
  peer: NatsPeer,
  bucket: NatsBucket,
  id: string,
): Promise<NodeProperties | undefined> {
  const { subjects } = peer;
  const name = subjects.entry(id);
  try {
    const entry = await bucket.get(name);
    const text = entry && peer.openValue(subjects.nodesBucket, name, entry.value);
    return text
      ? z.parse(nodePropertiesSchema, parseUntrustedJson(new TextDecoder().decode(text)))
      : undefined;
  } catch {
    return undefined; // NATS is away, or the member has another version
  }
}
