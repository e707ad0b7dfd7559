import * as z from "zod";
import { errorMessage, SandboxError } from "../errors.ts";
import { parseUntrustedJson } from "../json.ts";
import type { CheckpointEvery } from "../sandbox/contract/checkpoint.ts";
import { everySchema, ownerSchema } from "./calls.ts";
import { loadKv, type NatsBucket } from "./nats/client.ts";
import type { NatsPeer } from "./nats/nats_peer.ts";
import { SEAL_BYTES } from "./nats/seal.ts";
import { SESSION_ID } from "./nats/subjects.ts";
import { type NodeHome, nodeHomeSchema } from "./nodes_bucket.ts";

/** Place and use of a shared session. */
export interface SharedRecord {
  /** SHA-256 that identifies its owner, or nothing. */
  readonly owner: string;
  /** Id on its present node. */
  readonly session: string;
  readonly home: NodeHome;
  /** Seed of the state at its start. */
  readonly seed?: number | undefined;
  readonly every?: CheckpointEvery | undefined;
  /** Data that the server that opened it has stored for other servers. */
  readonly settings: unknown;
}

/** A record as it was read. */
export interface SharedEntry {
  readonly record: SharedRecord;
  /** Number of its last change. */
  readonly revision: number;
}

const recordSchema: z.core.$ZodType<SharedRecord> = z.strictObject({
  owner: ownerSchema,
  session: z.string().regex(SESSION_ID),
  home: nodeHomeSchema,
  seed: z.int().optional(),
  every: everySchema,
  settings: z.unknown(),
});

/** Milliseconds after the last change after which a record disappears. */
const RECORD_TTL_MS = 7 * 24 * 3_600_000;
const MAX_RECORD_BYTES = 768 * 1024;

/** The shared sessions of a cluster, in a bucket of NATS: any caller finds a session there by its id. */
export class SharedSessionsBucket {
  readonly #peer: NatsPeer;
  #bucket: Promise<NatsBucket> | undefined;

  constructor(peer: NatsPeer) {
    this.#peer = peer;
  }

  /**
   * Stores a new session.
   *
   * @throws {SandboxError} if it is too large, or NATS cannot be reached.
   */
  async put(id: string, record: SharedRecord): Promise<void> {
    await this.#run("share", (bucket) => bucket.put(this.#nameOf(id), this.#encode(id, record)));
  }

  /**
   * Returns an owner's session, or `undefined` if there is none.
   *
   * @throws {SandboxError} if NATS cannot be reached.
   */
  async read(id: string, owner: string): Promise<SharedEntry | undefined> {
    if (!SESSION_ID.test(id)) return undefined;
    const name = this.#nameOf(id);
    const entry = await this.#run("find", (bucket) => bucket.get(name));
    const text = entry && this.#peer.openValue(this.#peer.subjects.sharedBucket, name, entry.value);
    const record = text && parseRecord(text);
    return record?.owner === owner ? { record, revision: entry?.revision ?? 0 } : undefined;
  }

  /**
   * Stores a session in place of a revision. Returns false if it was changed since.
   *
   * @throws {SandboxError} if NATS cannot be reached.
   */
  async replace(id: string, { record, revision }: SharedEntry): Promise<boolean> {
    try {
      await this.#run(
        "share",
        (bucket) => bucket.update(this.#nameOf(id), this.#encode(id, record), revision),
      );
      return true;
    } catch (error) {
      const now = await this.#run("find", (bucket) => bucket.get(this.#nameOf(id)));
      if (now?.revision === revision) throw error;
      return false;
    }
  }

  /** Removes a session that has ended. A record that stays disappears at the end of its time. */
  async delete(id: string): Promise<void> {
    await this.#run("end", (bucket) => bucket.delete(this.#nameOf(id))).catch(() => {}); // NATS is away
  }

  #nameOf(id: string): string {
    return this.#peer.subjects.entry(id);
  }

  #encode(id: string, record: SharedRecord): Uint8Array {
    return this.#peer.sealValue(this.#peer.subjects.sharedBucket, this.#nameOf(id), encode(record));
  }

  async #run<T>(action: string, work: (bucket: NatsBucket) => Promise<T>): Promise<T> {
    try {
      this.#bucket ??= this.#open();
      return await work(await this.#bucket);
    } catch (cause) {
      this.#bucket = undefined; // NATS may have come back without its data
      throw new SandboxError(`Cannot ${action} session: ${errorMessage(cause)}`, { cause });
    }
  }

  async #open(): Promise<NatsBucket> {
    const { Kvm } = await loadKv();
    return await new Kvm(this.#peer.nats).create(this.#peer.subjects.sharedBucket, {
      ttl: RECORD_TTL_MS,
      history: 1,
      maxValueSize: MAX_RECORD_BYTES + SEAL_BYTES,
      storage: "file",
    });
  }
}

function encode(record: SharedRecord): Uint8Array {
  const bytes = new TextEncoder().encode(JSON.stringify(record));
  if (bytes.length <= MAX_RECORD_BYTES) return bytes;
  throw new SandboxError(
    `Cannot share session as its settings must have at most ${MAX_RECORD_BYTES} bytes: found ${bytes.length}`,
  );
}

function parseRecord(value: Uint8Array): SharedRecord | undefined {
  try {
    return z.parse(recordSchema, parseUntrustedJson(new TextDecoder().decode(value)));
  } catch {
    return undefined; // the entry of a session that has ended, or of another program
  }
}
