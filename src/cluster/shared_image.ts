import { join } from "node:path";
import { SandboxError } from "../errors.ts";
import { sha256 } from "../hash.ts";
import {
  baseImageName,
  ensureBaseImage,
  installBaseImage,
  readImageFiles,
} from "../sandbox/image/base_image.ts";
import type { BaseImage } from "../sandbox/image/image_build.ts";
import type { Profile } from "../sandbox/profile/profile.ts";
import { loadKv, type NatsBucket } from "./nats/client.ts";
import { decodeMessage, encodeMessage } from "./nats/message.ts";
import { ObjectBucket } from "./nats/object_bucket.ts";
import type { NatsPeer } from "./nats/nats_peer.ts";

/** Options of {@linkcode shareImage}. */
export interface SharedImageOptions {
  readonly profile: Profile;
  /** Cache directory of the images of this host. */
  readonly cacheDir: string;
  /** Key of checkpoints, with which the nodes of the cluster sign images. */
  readonly key: Uint8Array;
  /** Called before an image is built, which takes some seconds. */
  readonly onBuild?: (() => void) | undefined;
}

/** Size of all images of a cluster, in bytes. */
const MAX_BYTES = 1024 ** 3;
/** Size of one image, in bytes. */
const MAX_IMAGE_BYTES = 512 * 1024 ** 2;
const HASH = /^[0-9a-f]{64}$/;
const FILE_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/;
const decoder = new TextDecoder();
const encoder = new TextEncoder();

/**
 * Gives all nodes that have the same profile and version the same base image: the first one stores its own, by the hash
 * of its bytes, and the others use it. A checkpoint can only be restored with the bytes that it was taken with, and
 * each host builds others. An image contains code of the sandbox's process, so that it is signed.
 *
 * @returns the cache directory with the image.
 * @throws {SandboxError} if NATS cannot be reached or has no room, or the image is not signed with this key.
 */
export async function shareImage(peer: NatsPeer, options: SharedImageOptions): Promise<string> {
  const { profile, cacheDir, onBuild } = options;
  const images = new SharedImages(peer, await importKey(options.key));
  const name = await baseImageName(profile);
  const known = await images.findHash(name);
  if (known !== undefined) return await install(images, { ...options, name, hash: known });
  const bytes = await encodeImage(await ensureBaseImage(profile, { cacheDir, onBuild }));
  const own = await sha256(bytes);
  const hash = await images.offer({ name, hash: own, bytes });
  return hash === own ? cacheDir : await install(images, { ...options, name, hash });
}

/** Writes an image of the cluster into a cache directory of its own, unless it is there. */
async function install(
  images: SharedImages,
  { profile, cacheDir, name, hash }: SharedImageOptions & { name: string; hash: string },
): Promise<string> {
  const own = await ownHash(join(cacheDir, name), { profile, cacheDir });
  if (own === hash) return cacheDir;
  const directory = join(cacheDir, `cluster-${hash.slice(0, 32)}`);
  const isInstalled = await Deno.stat(join(directory, name)).then(() => true, () => false);
  if (!isInstalled) {
    const { manifest, files } = decodeImage(await images.read({ name, hash }));
    await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
    await installBaseImage(profile, { cacheDir: directory, manifest, files });
  }
  return directory;
}

/** Returns the hash of the image that this host has built, if it has. */
async function ownHash(
  directory: string,
  { profile, cacheDir }: Pick<SharedImageOptions, "profile" | "cacheDir">,
): Promise<string | undefined> {
  const isBuilt = await Deno.stat(directory).then(() => true, () => false);
  return isBuilt ? await sha256(await encodeImage(await ensureBaseImage(profile, { cacheDir }))) : undefined;
}

/** The images of a cluster in NATS. */
class SharedImages {
  readonly #peer: NatsPeer;
  readonly #key: CryptoKey;
  readonly #objects: ObjectBucket;
  #hashes: Promise<NatsBucket> | undefined;

  constructor(peer: NatsPeer, key: CryptoKey) {
    this.#peer = peer;
    this.#key = key;
    this.#objects = new ObjectBucket({ peer, name: peer.subjects.imagesBucket, maxBytes: MAX_BYTES });
  }

  /** Returns the hash of the image that the nodes of these inputs use. */
  async findHash(name: string): Promise<string | undefined> {
    const entry = await (await this.#openHashes()).get(name);
    const hash = entry && decoder.decode(entry.value);
    return hash && HASH.test(hash) ? hash : undefined;
  }

  /** Stores an image, unless another node was faster. Returns the hash of the one to use. */
  async offer({ name, hash, bytes }: { name: string; hash: string; bytes: Uint8Array }): Promise<string> {
    const signature = await crypto.subtle.sign("HMAC", this.#key, toSigned(name, bytes));
    await this.#objects.put(hash, bytes, { signature: new Uint8Array(signature).toHex() });
    try {
      await (await this.#openHashes()).create(name, hash);
      return hash;
    } catch (error) {
      const other = await this.findHash(name);
      if (other === undefined) throw error;
      return other;
    }
  }

  async read({ name, hash }: { name: string; hash: string }): Promise<Uint8Array> {
    const found = await this.#objects.get(hash, { maxBytes: MAX_IMAGE_BYTES });
    const signature = found?.metadata["signature"] ?? "";
    const isGenuine = found !== undefined && HASH.test(signature) && await sha256(found.bytes) === hash &&
      await crypto.subtle.verify(
        "HMAC",
        this.#key,
        Uint8Array.fromHex(signature),
        toSigned(name, found.bytes),
      );
    if (isGenuine) return found.bytes;
    throw new SandboxError(
      `Cannot use base image of cluster as it must be stored and signed with the key of checkpoints: ${
        found ? "it has another signature" : "it is missing"
      }. Remove the buckets '${this.#peer.subjects.imagesBucket}' and '${this.#peer.subjects.imageHashesBucket}', or use the same --checkpoint-key-file on all nodes`,
    );
  }

  async #openHashes(): Promise<NatsBucket> {
    this.#hashes ??= loadKv().then(({ Kvm }) =>
      new Kvm(this.#peer.nats).create(this.#peer.subjects.imageHashesBucket, {
        ttl: 0,
        history: 1,
        maxValueSize: 128,
        storage: "file",
      })
    );
    return await this.#hashes;
  }
}

async function importKey(key: Uint8Array): Promise<CryptoKey> {
  return await crypto.subtle.importKey("raw", key.slice(), { name: "HMAC", hash: "SHA-256" }, false, [
    "sign",
    "verify",
  ]);
}

/** Returns what is signed: the purpose, the inputs of the image, and its bytes. */
function toSigned(name: string, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const purpose = encoder.encode(`paddock base image ${name}\n`);
  const signed = new Uint8Array(purpose.length + bytes.length);
  signed.set(purpose);
  signed.set(bytes, purpose.length);
  return signed;
}

/** Returns the bytes of an image: its manifest and its files, in the order of their names. */
async function encodeImage(image: BaseImage): Promise<Uint8Array> {
  const files = [...await readImageFiles(image)].sort(([one], [other]) => one < other ? -1 : 1);
  const manifest = encoder.encode(JSON.stringify(image.manifest));
  return encodeMessage({ names: files.map(([name]) => name) }, [
    manifest,
    ...files.map(([, bytes]) => bytes),
  ]);
}

/** Reads an image whose signature was checked. */
function decodeImage(image: Uint8Array): Pick<BaseImage, "manifest"> & { files: Map<string, Uint8Array> } {
  const { head, parts: [manifest, ...parts] } = decodeMessage(image);
  const names = Array.isArray(head["names"]) ? head["names"] : [];
  const files = new Map<string, Uint8Array>();
  for (const [at, bytes] of parts.entries()) {
    const name: unknown = names[at];
    if (typeof name === "string" && FILE_NAME.test(name)) files.set(name, bytes);
  }
  if (manifest === undefined || files.size !== names.length) {
    throw new SandboxError("Cannot use base image of cluster as each of its files must have a name");
  }
  return { manifest: JSON.parse(decoder.decode(manifest)), files };
}
