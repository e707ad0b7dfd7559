import { abortable, Deadline } from "../../async/abort.ts";
import { errorMessage, SandboxError } from "../../errors.ts";
import { loadObjects, type NatsObjectBucket, type NatsObjectInfo } from "./client.ts";
import type { NatsPeer } from "./nats_peer.ts";

/** Options of {@linkcode ObjectBucket}. */
export interface ObjectBucketOptions {
  readonly peer: NatsPeer;
  readonly name: string;
  /** Size of all objects, in bytes. The size counts when the bucket is made. */
  readonly maxBytes: number;
  /**
   * Milliseconds after which an object disappears.
   *
   * @default never
   */
  readonly ttlMs?: number | undefined;
}

/** Options of {@linkcode ObjectBucket.get}. */
export interface GetObjectOptions {
  /** Largest size, in bytes, that is read. */
  readonly maxBytes: number;
  /** Takes the memory of the object before the object is read. */
  readonly reserve?: ((bytes: number) => Disposable) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** An object, with texts that nothing authenticates. */
export interface StoredObject {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly metadata: Readonly<Record<string, string>>;
}

/** An object that is too large, a link, or not as announced. */
export class DamagedObjectError extends SandboxError {}

/** Milliseconds without a part of an object after which the object is given up. */
const SILENCE_MS = 10_000;
const NS_PER_MS = 1_000_000;

/**
 * A bucket of NATS' object store, made at the first use. Every user of NATS' account can write to the bucket. Therefore
 * readers check each object: no link is followed, and no size is trusted.
 */
export class ObjectBucket {
  readonly #options: ObjectBucketOptions;
  #bucket: Promise<NatsObjectBucket> | undefined;

  constructor(options: ObjectBucketOptions) {
    this.#options = options;
  }

  /**
   * Stores an object in place of an earlier object of this name.
   *
   * @throws {SandboxError} if NATS has no room for the object or cannot be reached.
   */
  async put(name: string, bytes: Uint8Array, metadata: Record<string, string> = {}): Promise<void> {
    await this.#run("write", async (bucket) => await bucket.putBlob({ name, metadata }, bytes));
  }

  /**
   * Returns an object, or `undefined` if there is no such object.
   *
   * @throws {DamagedObjectError} if the object is too large, a link, or not as announced.
   * @throws {SandboxError} if NATS cannot be reached.
   */
  async get(name: string, options: GetObjectOptions): Promise<StoredObject | undefined> {
    return await this.#run("read", async (bucket) => {
      const info = await bucket.info(name);
      if (info === null || info.deleted) return undefined;
      checkObject(info, options);
      using _memory = options.reserve?.(info.size);
      const found = await bucket.get(name);
      if (found === null) return undefined;
      found.error.catch(() => {}); // the read below reports the error
      const { size, metadata } = found.info;
      if (size !== info.size) throw new DamagedObjectError("it was replaced meanwhile");
      return { bytes: await readExactly(found.data, size, options.signal), metadata };
    });
  }

  /**
   * Deletes an object, if there is such an object.
   *
   * @throws {SandboxError} if NATS cannot be reached.
   */
  async delete(name: string): Promise<void> {
    await this.#run("delete", async (bucket) => await bucket.delete(name));
  }

  async #run<T>(action: string, work: (bucket: NatsObjectBucket) => Promise<T>): Promise<T> {
    const { name } = this.#options;
    try {
      this.#bucket ??= this.#open();
      return await work(await this.#bucket);
    } catch (cause) {
      if (cause instanceof DamagedObjectError) throw cause;
      this.#bucket = undefined; // NATS may have lost all data in a restart
      const message = `Cannot ${action} object of bucket '${name}': ${errorMessage(cause)}`;
      throw new SandboxError(message, { cause });
    }
  }

  async #open(): Promise<NatsObjectBucket> {
    const { peer, name, maxBytes, ttlMs } = this.#options;
    const { Objm } = await loadObjects();
    return await new Objm(peer.nats).create(name, {
      max_bytes: maxBytes,
      storage: "file",
      ...(ttlMs !== undefined && { ttl: ttlMs * NS_PER_MS }),
    });
  }
}

function checkObject(info: NatsObjectInfo, { maxBytes }: GetObjectOptions): void {
  if (info.isLink()) throw new DamagedObjectError("Cannot read object as it must not be a link");
  if (Number.isSafeInteger(info.size) && info.size >= 0 && info.size <= maxBytes) return;
  throw new DamagedObjectError(
    `Cannot read object as it must have at most ${maxBytes} bytes: it has ${info.size}`,
  );
}

async function readExactly(
  stream: ReadableStream<Uint8Array>,
  size: number,
  signal: AbortSignal | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(size);
  const reader = stream.getReader();
  let at = 0;
  try {
    for (;;) {
      using deadline = new Deadline(SILENCE_MS, { signal });
      const { done, value } = await abortable(reader.read(), deadline.signal);
      if (done) break;
      if (at + value.length > size) {
        throw new DamagedObjectError(`Cannot read object as it has more than ${size} bytes`);
      }
      bytes.set(value, at);
      at += value.length;
    }
  } catch (error) {
    await reader.cancel(error).catch(() => {}); // the transfer has failed already
    throw error;
  }
  if (at === size) return bytes;
  throw new DamagedObjectError(`Cannot read object as it must have ${size} bytes: found ${at}`);
}
