import * as z from "zod";
import { errorMessage, SandboxError } from "../errors.ts";
import { parseUntrustedJson } from "../json.ts";
import { loadKv, type NatsBucket } from "./nats/client.ts";
import type { NatsPeer } from "./nats/nats_peer.ts";
import { PEER_ID, TOKEN } from "./nats/subjects.ts";

const count = z.int().nonnegative();
const hash = z.string().regex(/^[0-9a-f]{64}$/);
const id = z.string().regex(PEER_ID);

const load = {
  /** Number of slots that wait for work. */
  free: count,
  /** Number of sessions that callers of the cluster hold. */
  sessions: count,
  /** True if the node takes no new sessions. */
  draining: z.boolean(),
  /** Number of programs and commands that the node has run for the cluster. */
  execs: count,
  /** Number of messages that the node has refused as they were invalid. */
  invalid: count,
};

const home = {
  profile: z.strictObject({
    name: z.string().regex(TOKEN),
    /** SHA-256 of all settings of the profile. */
    sha256: hash,
    hostTools: z.boolean(),
    shell: z.boolean(),
    timeoutMs: z.number(),
    memoryBytes: z.number(),
    outputBytes: z.number(),
  }),
  /** SHA-256 of the bytes of the base image. */
  image: hash,
  /** Identifies the key of the node's checkpoints, and does not tell the key. */
  key: hash,
};
/** Properties that a node shares with those that can continue its sessions. */
export const nodeHomeSchema = z.strictObject(home);
/** Properties that a node shares with those that can continue its sessions. */
export type NodeHome = z.output<typeof nodeHomeSchema>;

const nodePropertiesSchema = z.strictObject({
  id,
  version: z.string().max(64),
  host: z.string().max(256),
  ...home,
  /** Number of sessions of the node's pool. */
  slots: z.int().min(1),
  ...load,
  /** Unix time in milliseconds. */
  startedAt: z.number(),
});
/** Properties of a node, which the node publishes in the bucket of nodes. */
export type NodeProperties = z.output<typeof nodePropertiesSchema>;

/** Number of a peer's connections to NATS so far. */
const epoch = z.int();
/** Heartbeat of a node. */
export const nodeBeatSchema = z.strictObject({ id, epoch, ...load });
/** Heartbeat of a node. */
export type NodeBeat = z.output<typeof nodeBeatSchema>;
/** Load of a node, which the node's heartbeats have. */
export type NodeLoad = Omit<NodeBeat, "id" | "epoch">;

/** Heartbeat of a caller, with the number of the calls that wait for a free slot. */
export const callerBeatSchema = z.strictObject({ id, epoch, waiting: count });
/** Heartbeat of a caller. */
export type CallerBeat = z.output<typeof callerBeatSchema>;

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
