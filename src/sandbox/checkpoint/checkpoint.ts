import { ArgumentTypeError, CheckpointError } from "../../errors.ts";
import { sha256 } from "../../hash.ts";
import { parseUntrustedJson } from "../../json.ts";
import * as z from "zod";
import type { Checkpoint } from "../contract/checkpoint.ts";
import { join } from "../protocol.ts";
import { guestName } from "../profile/guest_name.ts";
import type { Profile } from "../profile/profile.ts";
import type { CheckpointCompressor, Compressed } from "./compression.ts";

/**
 * Scope of a checkpoint. The state is only right with the same image and profile, and only the owner may use the
 * checkpoint.
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
  readonly compressor: CheckpointCompressor;
}

/** Room for what a state has beside heap and files, such as names and modes of files. */
const HEAD_BYTES = 64 * 1024 * 1024;

/** Returns the part of a scope that a profile gives. The folder of the profile's file is no part of the scope. */
export async function profileScope(profile: Profile): Promise<Pick<CheckpointScope, "profile" | "maxBytes">> {
  const { limits, name, clock } = profile;
  return {
    // limits of time are no part of a state; checkpoints that are older than `clock` have a real clock
    profile: await sha256(JSON.stringify({
      ...profile,
      timeScale: undefined,
      name: guestName(name),
      clock: clock === "virtual" ? clock : undefined,
    })),
    maxBytes: limits.memoryBytes + limits.fileBytes + HEAD_BYTES,
  };
}

/**
 * Scope of checkpoints as texts, without their owner. Sessions of the same origin restore each other's checkpoints.
 */
export interface CheckpointOrigin {
  /** Identifies the key without revealing the key. */
  readonly key: string;
  /** SHA-256 of the bytes of the base image. */
  readonly image: string;
  /** SHA-256 of the profile. */
  readonly profile: string;
}

/** Returns the origin of a scope. */
export async function checkpointOrigin({ key, image, profile }: CheckpointScope): Promise<CheckpointOrigin> {
  return { key: await keyId(key), image, profile };
}

/**
 * Returns why a checkpoint of an origin cannot be restored where another origin is needed. Returns `undefined` if the
 * checkpoint can be restored.
 */
export function originError(found: CheckpointOrigin, needed: CheckpointOrigin): CheckpointError | undefined {
  if (found.key !== needed.key) {
    return refuse("checkpoint_foreign", "another host made it, or its key was replaced");
  }
  if (found.profile !== needed.profile) {
    return refuse("checkpoint_other_profile", "its session had another profile");
  }
  if (found.image !== needed.image) {
    return refuse("checkpoint_other_image", "its session had another base image");
  }
  return undefined;
}

/** Options of {@linkcode sealCheckpoint} and {@linkcode openCheckpoint}. */
export interface OwnerOptions {
  /** Identifies who may use the checkpoint, such as the hash of a token. */
  readonly owner?: string | undefined;
}

/** Version of the format. Increase the version when the guest or the host writes checkpoints in another way. */
const FORMAT = 2;
/** Version of a checkpoint with an exec that waits, which earlier versions of this package cannot restore. */
const WAITING_FORMAT = 3;
const MAGIC = new TextEncoder().encode("paddock\0");
/** Magic, version, and size of the header. */
const PREFIX_BYTES = MAGIC.length + 8;
const MAX_HEADER_BYTES = 64 * 1024;
const MAC_BYTES = 32;
/** Bytes that are copied at once. */
const COPY_BYTES = 256 * 1024;
/** Bytes before the state of a checkpoint, at most. */
export const CHECKPOINT_HEAD_BYTES: number = PREFIX_BYTES + MAX_HEADER_BYTES + MAC_BYTES;
/** Limits of the names of host tools, with which a header is not too large. */
const [MAX_TOOLS, MAX_TOOL_CHARACTERS, MAX_TOOLS_BYTES] = [1000, 256, MAX_HEADER_BYTES / 2];

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const headerSchema = z.strictObject({
  key: hash,
  image: hash,
  profile: hash,
  owner: hash,
  stateBytes: z.int().nonnegative(),
  compressedBytes: z.int().nonnegative(),
  sha256: hash,
  tools: z.array(z.string().max(MAX_TOOL_CHARACTERS)).max(MAX_TOOLS),
  /** Digest of the last exec, if the session has a virtual clock. */
  digest: hash.optional(),
  /** Size and hash of the record of an exec that waits, which follows the state. */
  waiting: z.strictObject({ bytes: z.int().positive(), sha256: hash }).optional(),
});
type Header = z.output<typeof headerSchema>;

const encoder = new TextEncoder();

/** What a checkpoint has of a session beside the state. */
interface SealedSession {
  /** Names of the host tools of the last exec. */
  readonly tools: readonly string[];
  /** Digest of the last exec, if the session has a virtual clock. */
  readonly digest?: string | undefined;
}

/** A state that is compressed, and the size before. */
export interface CompressedState {
  readonly compressed: Compressed;
  readonly stateBytes: number;
}

/**
 * A checkpoint as bytes: prefix, header, HMAC-SHA-256 of these two, the compressed state, whose hash is in the header,
 * and the record of an exec that waits, if any. So this thread hashes some hundred bytes, whatever the size of the
 * state.
 */
export class SealedCheckpoint implements Checkpoint {
  readonly id: string;
  readonly tools: readonly string[];
  readonly #head: Uint8Array<ArrayBuffer>;
  readonly #header: Header;
  readonly #compressed: Compressed;
  /** Record of an exec that waits. Empty if none does. */
  readonly #waiting: Uint8Array<ArrayBuffer>;

  private constructor(
    id: string,
    parts: { head: Uint8Array<ArrayBuffer>; header: Header; waiting: Uint8Array<ArrayBuffer> },
    state: Compressed,
  ) {
    this.id = id;
    this.#head = parts.head;
    this.#header = parts.header;
    this.#waiting = parts.waiting;
    this.#compressed = state;
    this.tools = parts.header.tools;
  }

  get storedBytes(): number {
    return this.#head.length + this.#compressed.bytes.byteLength + this.#waiting.length;
  }

  get stateBytes(): number {
    return this.#header.stateBytes;
  }

  /**
   * Reads a checkpoint. Authentication follows with the restore.
   *
   * @throws {CheckpointError} if the bytes are no checkpoint of this format, or not a whole checkpoint.
   */
  static async read(bytes: Uint8Array): Promise<SealedCheckpoint> {
    const { header, stateAt } = parse(bytes);
    const state = new Uint8Array(new SharedArrayBuffer(header.compressedBytes));
    const waitingAt = stateAt + header.compressedBytes;
    state.set(bytes.subarray(stateAt, waitingAt));
    return await SealedCheckpoint.of({
      head: bytes.slice(0, stateAt),
      header,
      waiting: bytes.slice(waitingAt),
    }, state);
  }

  /** Makes a checkpoint of the bytes before and after the state, and the state. */
  static async of(
    parts: { head: Uint8Array<ArrayBuffer>; header: Header; waiting: Uint8Array<ArrayBuffer> },
    bytes: Uint8Array<SharedArrayBuffer>,
  ): Promise<SealedCheckpoint> {
    const id = await sha256(parts.head.subarray(0, -MAC_BYTES));
    return new SealedCheckpoint(id, parts, { bytes, sha256: parts.header.sha256 });
  }

  toBytes(): Promise<Uint8Array> {
    return Promise.resolve(join([this.#head, this.#compressed.bytes, this.#waiting]));
  }

  /** Yields the bytes in pieces, each a copy. */
  *pieces(): Generator<Uint8Array<ArrayBuffer>> {
    yield this.#head.slice();
    const state = this.#compressed.bytes;
    for (let at = 0; at < state.length; at += COPY_BYTES) {
      yield new Uint8Array(state.subarray(at, at + COPY_BYTES));
    }
    if (this.#waiting.length > 0) yield this.#waiting.slice();
  }

  /**
   * Throws if the checkpoint must not be restored here. No size is trusted before.
   *
   * @throws {CheckpointError} with the reason.
   */
  async authenticate(scope: CheckpointScope, { owner = "" }: OwnerOptions): Promise<void> {
    const { stateBytes, owner: sealedOwner } = this.#header;
    const otherOrigin = originError(this.#header, await checkpointOrigin(scope));
    if (otherOrigin?.code === "checkpoint_foreign") throw otherOrigin;
    const [signed, mac] = [this.#head.subarray(0, -MAC_BYTES), this.#head.subarray(-MAC_BYTES)];
    const isAuthentic = await crypto.subtle.verify("HMAC", scope.key, mac, signed);
    if (!isAuthentic) throw refuse("checkpoint_damaged", "its header was changed");
    if (sealedOwner !== await sha256(owner)) {
      throw refuse("checkpoint_other_owner", "it belongs to another owner");
    }
    if (otherOrigin) throw otherOrigin;
    if (stateBytes > scope.maxBytes) {
      throw refuse(
        "checkpoint_too_large",
        `it must have at most ${scope.maxBytes} bytes: it has ${stateBytes}`,
      );
    }
  }

  /** Digest of the last exec; `undefined` without a virtual clock. */
  get digest(): string | undefined {
    return this.#header.digest;
  }

  /** The compressed state. */
  get state(): CompressedState {
    return { compressed: this.#compressed, stateBytes: this.#header.stateBytes };
  }

  /**
   * Returns the record of the exec that waits; `undefined` if no exec waits. The checkpoint must be authenticated.
   *
   * @throws {CheckpointError} if the checkpoint is damaged.
   */
  async waiting(): Promise<Uint8Array | undefined> {
    const { waiting } = this.#header;
    if (!waiting) return undefined;
    if (await sha256(this.#waiting) === waiting.sha256) return this.#waiting;
    throw refuse("checkpoint_damaged", "its waiting exec was changed");
  }

  /**
   * Returns the state of a checkpoint that was authenticated.
   *
   * @throws {CheckpointError} if the state is damaged.
   */
  async expand(
    scope: CheckpointScope,
    { owner = "" }: OwnerOptions,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const { stateBytes } = this.#header;
    return await scope.compressor.expand(this.#compressed, { owner, stateBytes });
  }
}

/**
 * Makes a checkpoint of a state, which is moved to a worker and empty afterwards.
 *
 * @throws {CheckpointError} if the names of the tools are too long.
 * @throws {SandboxError} if the worker fails.
 */
export async function sealCheckpoint(
  state: Uint8Array<ArrayBuffer>,
  scope: CheckpointScope,
  options: OwnerOptions & SealedSession,
): Promise<SealedCheckpoint> {
  const { owner = "", tools } = options;
  checkToolNames(tools);
  return await sealCompressed(await compressState(state, scope, { owner }), scope, options);
}

/** Compresses a state, which is moved to a worker and empty afterwards. */
export async function compressState(
  state: Uint8Array<ArrayBuffer>,
  { compressor }: Pick<CheckpointScope, "compressor">,
  { owner = "" }: OwnerOptions,
): Promise<CompressedState> {
  const stateBytes = state.length;
  const whole = state.buffer.byteLength === stateBytes ? state.buffer : state.slice().buffer;
  return { stateBytes, compressed: await compressor.compress(whole, { owner }) };
}

/**
 * Makes a checkpoint of a compressed state, and of the record of an exec that waits, if any.
 *
 * @throws {CheckpointError} if the names of the tools are too long.
 */
export async function sealCompressed(
  { compressed: { bytes, sha256: stateHash }, stateBytes }: CompressedState,
  scope: CheckpointScope,
  options: OwnerOptions & SealedSession & { waiting?: Uint8Array<ArrayBuffer> | undefined },
): Promise<SealedCheckpoint> {
  const { owner = "", tools, digest, waiting = new Uint8Array(0) } = options;
  checkToolNames(tools);
  const header: Header = {
    key: await keyId(scope.key),
    image: scope.image,
    profile: scope.profile,
    owner: await sha256(owner),
    stateBytes,
    compressedBytes: bytes.byteLength,
    sha256: stateHash,
    tools: [...tools],
    ...(digest !== undefined && { digest }),
    ...(waiting.length > 0 && { waiting: { bytes: waiting.length, sha256: await sha256(waiting) } }),
  };
  const signed = signedPart(header);
  const mac = new Uint8Array(await crypto.subtle.sign("HMAC", scope.key, signed));
  return await SealedCheckpoint.of({ head: join([signed, mac]), header, waiting }, bytes);
}

function checkToolNames(tools: readonly string[]): void {
  if (
    tools.length > MAX_TOOLS || tools.some((name) => name.length > MAX_TOOL_CHARACTERS) ||
    encoder.encode(JSON.stringify(tools)).length > MAX_TOOLS_BYTES
  ) {
    throw new CheckpointError(
      `Cannot make checkpoint as the names of its host tools must have at most ${MAX_TOOLS_BYTES} bytes: ` +
        `the last exec had ${tools.length} tools`,
      { code: "checkpoint_refused" },
    );
  }
}

function signedPart(header: Header): Uint8Array<ArrayBuffer> {
  const json = encoder.encode(JSON.stringify(header));
  const prefix = new Uint8Array(PREFIX_BYTES);
  prefix.set(MAGIC);
  const view = new DataView(prefix.buffer);
  view.setUint32(MAGIC.length, header.waiting ? WAITING_FORMAT : FORMAT, true);
  view.setUint32(MAGIC.length + 4, json.length, true);
  return join([prefix, json]);
}

/** A checkpoint that was authenticated. */
export interface OpenedCheckpoint {
  /** Size of the state. */
  readonly stateBytes: number;
  readonly state: CompressedState;
  /** Digest of the last exec; `undefined` without a virtual clock. */
  readonly digest: string | undefined;
  /** Record of the exec that waits, if any. */
  readonly waiting: Uint8Array | undefined;
  /** Returns the state. Rejects with a `CheckpointError` if the state is damaged. */
  expand(): Promise<Uint8Array<ArrayBuffer>>;
}

/**
 * Authenticates a checkpoint, and returns a function that expands the state.
 *
 * @throws {ArgumentTypeError} if the checkpoint comes from elsewhere, such as from a server.
 * @throws {CheckpointError} if the checkpoint must not be restored here.
 */
export async function openCheckpoint(
  checkpoint: Checkpoint,
  scope: CheckpointScope,
  options: OwnerOptions,
): Promise<OpenedCheckpoint> {
  if (!(checkpoint instanceof SealedCheckpoint)) {
    throw new ArgumentTypeError(
      "Cannot restore checkpoint as it must be one of a session of this process, or read by 'readCheckpoint'",
    );
  }
  await checkpoint.authenticate(scope, options);
  const { stateBytes, state, digest } = checkpoint;
  return {
    stateBytes,
    state,
    digest,
    waiting: await checkpoint.waiting(),
    expand: () => checkpoint.expand(scope, options),
  };
}

/** Yields the bytes of a checkpoint in pieces, so that they are not in memory once more. */
export async function* piecesOf(checkpoint: Checkpoint): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  if (checkpoint instanceof SealedCheckpoint) yield* checkpoint.pieces();
  else yield new Uint8Array(await checkpoint.toBytes());
}

/**
 * Reads the bytes of a checkpoint. Authentication follows with the restore.
 *
 * @throws {CheckpointError} if the bytes are no checkpoint of this format, or not a whole checkpoint.
 */
export async function readCheckpoint(bytes: Uint8Array): Promise<Checkpoint> {
  return await SealedCheckpoint.read(bytes);
}

/** What the bytes before the state of a checkpoint contain. They are authenticated with the restore. */
export interface CheckpointHead {
  /** Id of the checkpoint. */
  readonly id: string;
  readonly origin: CheckpointOrigin;
}

/**
 * Reads the bytes before the state of a checkpoint.
 *
 * @param bytes the first {@linkcode CHECKPOINT_HEAD_BYTES} of the checkpoint, or all bytes of a smaller checkpoint
 * @param size bytes of the whole checkpoint
 * @throws {CheckpointError} if the checkpoint has another format, or is not whole.
 */
export async function readCheckpointHead(bytes: Uint8Array, size: number): Promise<CheckpointHead> {
  const { header: { key, image, profile }, stateAt } = parse(bytes, size);
  const id = await sha256(bytes.slice(0, stateAt - MAC_BYTES));
  return { id, origin: { key, image, profile } };
}

function parse(bytes: Uint8Array, size: number = bytes.length): { header: Header; stateAt: number } {
  const magic = bytes.subarray(0, MAGIC.length);
  if (magic.some((byte, index) => byte !== MAGIC[index])) {
    throw refuse("checkpoint_damaged", "it does not begin as a checkpoint does");
  }
  if (bytes.length < PREFIX_BYTES) throw truncated(PREFIX_BYTES, bytes.length);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const format = view.getUint32(MAGIC.length, true);
  if (format !== FORMAT && format !== WAITING_FORMAT) {
    throw refuse(
      "checkpoint_other_format",
      `its format must be ${FORMAT} or ${WAITING_FORMAT}: found ${format}`,
    );
  }
  const headerBytes = view.getUint32(MAGIC.length + 4, true);
  if (headerBytes > MAX_HEADER_BYTES) {
    throw refuse(
      "checkpoint_damaged",
      `its header must have at most ${MAX_HEADER_BYTES} bytes: found ${headerBytes}`,
    );
  }
  const stateAt = PREFIX_BYTES + headerBytes + MAC_BYTES;
  if (bytes.length < stateAt) throw truncated(stateAt, bytes.length);
  const header = parseHeader(bytes.subarray(PREFIX_BYTES, stateAt - MAC_BYTES));
  const expected = stateAt + header.compressedBytes + (header.waiting?.bytes ?? 0);
  if (size < expected) throw truncated(expected, size);
  if (size > expected) {
    throw refuse("checkpoint_damaged", `it must have ${expected} bytes: found ${size}`);
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

/** Returns what identifies a key without revealing the key. */
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
