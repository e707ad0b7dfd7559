import { ArgumentTypeError, CheckpointError } from "../../errors.ts";
import { sha256 } from "../../hash.ts";
import { parseUntrustedJson } from "../../json.ts";
import * as z from "zod";
import type { Checkpoint } from "../exec.ts";
import { join } from "../protocol.ts";
import type { Profile } from "../profile/profile.ts";
import { deflate, inflate } from "./compression.ts";

/**
 * What a checkpoint is bound to. The state in it is only right with the same image and profile, and only its owner
 * may use it.
 */
export interface CheckpointScope {
  /** HMAC key of the host. */
  readonly key: CryptoKey;
  /** SHA-256 of the bytes of the base image. */
  readonly image: string;
  /** SHA-256 of the profile. */
  readonly profile: string;
  /** Maximum size of the state, in bytes. */
  readonly maxBytes: number;
}

/** Room for what a state has beside heap and files, such as names and modes of files. */
const HEAD_BYTES = 64 * 1024 * 1024;

/** Returns the part of a scope that a profile gives. */
export async function profileScope(profile: Profile): Promise<Pick<CheckpointScope, "profile" | "maxBytes">> {
  const { limits } = profile;
  return {
    profile: await sha256(JSON.stringify(profile)),
    maxBytes: limits.memoryBytes + limits.fileBytes + HEAD_BYTES,
  };
}

/** Options of {@linkcode sealCheckpoint} and {@linkcode openCheckpoint}. */
export interface OwnerOptions {
  /** Identifies who may use the checkpoint, such as the hash of a token. */
  readonly owner?: string | undefined;
}

/** Version of the format. Increase it when the guest or the host writes checkpoints in another way. */
const FORMAT = 1;
const MAGIC = new TextEncoder().encode("paddock\0");
/** Magic, version, and size of the header. */
const PREFIX_BYTES = MAGIC.length + 8;
const MAX_HEADER_BYTES = 64 * 1024;
const MAC_BYTES = 32;

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const headerSchema = z.strictObject({
  key: hash,
  image: hash,
  profile: hash,
  owner: hash,
  stateBytes: z.int().nonnegative(),
  deflatedBytes: z.int().nonnegative(),
  tools: z.array(z.string().max(256)).max(1000),
});
type Header = z.output<typeof headerSchema>;

const encoder = new TextEncoder();

/** A checkpoint as bytes: prefix, header, deflated state, and HMAC-SHA-256 of all that precedes. */
export class SealedCheckpoint implements Checkpoint {
  readonly id: string;
  readonly tools: readonly string[];
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #header: Header;
  readonly #stateAt: number;

  private constructor(
    id: string,
    bytes: Uint8Array<ArrayBuffer>,
    parsed: { header: Header; stateAt: number },
  ) {
    this.id = id;
    this.#bytes = bytes;
    this.#header = parsed.header;
    this.#stateAt = parsed.stateAt;
    this.tools = parsed.header.tools;
  }

  get storedBytes(): number {
    return this.#bytes.length;
  }

  get stateBytes(): number {
    return this.#header.stateBytes;
  }

  /**
   * Reads a checkpoint. It is authenticated when it is restored.
   *
   * @throws {CheckpointError} if the bytes are no checkpoint of this format, or not a whole one.
   */
  static async read(bytes: Uint8Array): Promise<SealedCheckpoint> {
    const parsed = parse(bytes);
    const copy = bytes.slice();
    return new SealedCheckpoint(await sha256(copy.subarray(0, -MAC_BYTES)), copy, parsed);
  }

  toBytes(): Promise<Uint8Array> {
    return Promise.resolve(this.#bytes.slice());
  }

  /**
   * Returns the state, after the checkpoint was authenticated. No size is trusted before.
   *
   * @throws {CheckpointError} if it must not be restored here.
   */
  async open(scope: CheckpointScope, { owner = "" }: OwnerOptions): Promise<Uint8Array> {
    const { key, image, profile, stateBytes, deflatedBytes, owner: sealedOwner } = this.#header;
    const end = this.#stateAt + deflatedBytes;
    if (key !== await keyId(scope.key)) {
      throw refuse("checkpoint_foreign", "another host made it, or its key was replaced");
    }
    const isAuthentic = await crypto.subtle.verify(
      "HMAC",
      scope.key,
      this.#bytes.subarray(end),
      this.#bytes.subarray(0, end),
    );
    if (!isAuthentic) throw refuse("checkpoint_damaged", "its bytes were changed");
    if (sealedOwner !== await sha256(owner)) {
      throw refuse("checkpoint_other_owner", "it belongs to another owner");
    }
    if (profile !== scope.profile) {
      throw refuse("checkpoint_other_profile", "its session had another profile");
    }
    if (image !== scope.image) throw refuse("checkpoint_other_image", "its session had another base image");
    if (stateBytes > scope.maxBytes) {
      throw refuse(
        "checkpoint_too_large",
        `it must have at most ${scope.maxBytes} bytes: it has ${stateBytes}`,
      );
    }
    return await inflate(this.#bytes.subarray(this.#stateAt, end), { bytes: stateBytes });
  }
}

/** Makes a checkpoint of a state. It is deflated in small parts, between which this thread can do other work. */
export async function sealCheckpoint(
  state: Uint8Array,
  scope: CheckpointScope,
  { owner = "", tools }: OwnerOptions & { tools: readonly string[] },
): Promise<SealedCheckpoint> {
  const deflated = await deflate(state);
  const header = encoder.encode(JSON.stringify(
    {
      key: await keyId(scope.key),
      image: scope.image,
      profile: scope.profile,
      owner: await sha256(owner),
      stateBytes: state.length,
      deflatedBytes: deflated.length,
      tools: [...tools],
    } satisfies Header,
  ));
  const prefix = new Uint8Array(PREFIX_BYTES);
  prefix.set(MAGIC);
  const view = new DataView(prefix.buffer);
  view.setUint32(MAGIC.length, FORMAT, true);
  view.setUint32(MAGIC.length + 4, header.length, true);
  const content = join([prefix, header, deflated]);
  const mac = new Uint8Array(await crypto.subtle.sign("HMAC", scope.key, content));
  return await SealedCheckpoint.read(join([content, mac]));
}

/**
 * Returns the state of a checkpoint, after it was authenticated.
 *
 * @throws {ArgumentTypeError} if it is not one of this package, such as one of a server.
 * @throws {CheckpointError} if it must not be restored here.
 */
export async function stateOf(
  checkpoint: Checkpoint,
  scope: CheckpointScope,
  options: OwnerOptions,
): Promise<Uint8Array> {
  if (checkpoint instanceof SealedCheckpoint) return await checkpoint.open(scope, options);
  throw new ArgumentTypeError(
    "Cannot restore checkpoint as it must be one of a session of this process, or read by 'readCheckpoint'",
  );
}

/**
 * Reads the bytes of a checkpoint. It is authenticated when it is restored.
 *
 * @throws {CheckpointError} if the bytes are no checkpoint of this format, or not a whole one.
 */
export async function readCheckpoint(bytes: Uint8Array): Promise<Checkpoint> {
  return await SealedCheckpoint.read(bytes);
}

function parse(bytes: Uint8Array): { header: Header; stateAt: number } {
  const magic = bytes.subarray(0, MAGIC.length);
  if (magic.some((byte, index) => byte !== MAGIC[index])) {
    throw refuse("checkpoint_damaged", "it does not begin as a checkpoint does");
  }
  if (bytes.length < PREFIX_BYTES) throw truncated(PREFIX_BYTES, bytes.length);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const format = view.getUint32(MAGIC.length, true);
  if (format !== FORMAT) {
    throw refuse("checkpoint_other_format", `its format must be ${FORMAT}: found ${format}`);
  }
  const headerBytes = view.getUint32(MAGIC.length + 4, true);
  if (headerBytes > MAX_HEADER_BYTES) {
    throw refuse(
      "checkpoint_damaged",
      `its header must have at most ${MAX_HEADER_BYTES} bytes: found ${headerBytes}`,
    );
  }
  const stateAt = PREFIX_BYTES + headerBytes;
  if (bytes.length < stateAt) throw truncated(stateAt, bytes.length);
  const header = parseHeader(bytes.subarray(PREFIX_BYTES, stateAt));
  const expected = stateAt + header.deflatedBytes + MAC_BYTES;
  if (bytes.length < expected) throw truncated(expected, bytes.length);
  if (bytes.length > expected) {
    throw refuse("checkpoint_damaged", `it must have ${expected} bytes: found ${bytes.length}`);
  }
  return { header, stateAt };
}

function parseHeader(bytes: Uint8Array): Header {
  try {
    return z.parse(headerSchema, parseUntrustedJson(new TextDecoder().decode(bytes)));
  } catch (cause) {
    throw new CheckpointError("Cannot read checkpoint as its header is invalid", {
      code: "checkpoint_damaged",
      cause,
    });
  }
}

/** Returns what identifies a key, and does not tell it. */
async function keyId(key: CryptoKey): Promise<string> {
  const mac = await crypto.subtle.sign("HMAC", key, encoder.encode("id of a key of checkpoints"));
  return new Uint8Array(mac).toHex();
}

function truncated(expected: number, found: number): CheckpointError {
  return refuse("checkpoint_truncated", `it must have at least ${expected} bytes: found ${found}`);
}

function refuse(code: CheckpointError["code"], reason: string): CheckpointError {
  return new CheckpointError(`Cannot restore checkpoint as ${reason}`, { code });
}
