import { CheckpointError, SandboxError } from "../../errors.ts";
import { sha256 } from "../../hash.ts";
import type { CheckpointScope } from "../checkpoint/checkpoint.ts";
import { captureState } from "../checkpoint/state.ts";
import type { ExecResult } from "../contract/exec.ts";
import type { ShellResult } from "../contract/shell.ts";
import type { GuestLink } from "../guest_link.ts";
import type { Profile } from "../profile/profile.ts";

/** Version of the digests and of the virtual clock. Increase the version when the same programs get other digests. */
const FORMAT = 1;

/** What all digests of a session begin with. */
export interface DigestScope {
  /** SHA-256 of the bytes of the base image. */
  readonly image: string;
  /** Hash of the profile, of what programs see. */
  readonly profile: string;
}

/** Returns what the digests of a session begin with. */
export async function digestScope(
  source: { readonly profile: Profile; checkpointScope(): Promise<CheckpointScope> },
): Promise<DigestScope> {
  const [{ image }, profile] = await Promise.all([source.checkpointScope(), profileHash(source.profile)]);
  return { image, profile };
}

/**
 * Returns the hash of the files of the session between two execs; `undefined` if the guest does not send them.
 */
export async function filesHash(
  link: GuestLink,
  { maxBytes, compressor }: Pick<CheckpointScope, "maxBytes" | "compressor">,
): Promise<string | undefined> {
  try {
    const states = compressor.memoryOf("");
    const { bytes, room } = await captureState(link, { maxBytes, memory: false, states });
    using _room = room;
    return await sha256(bytes);
  } catch (error) {
    if (error instanceof CheckpointError || error instanceof SandboxError) return undefined;
    throw error;
  }
}

/** Returns the hash of what programs see of a profile. Its name, layers and number of sessions in a process are no part. */
async function profileHash(profile: Profile): Promise<string> {
  const { limits, preimports, packages, mounts, hostTools, shell, home, preload } = profile;
  const paths = mounts.map(({ guestPath }) => guestPath);
  return await sha256(
    JSON.stringify({ limits, preimports, packages, paths, hostTools, shell, home, preload }),
  );
}

/** An exec or a command line, as the guest receives it. */
export interface DigestedCall {
  readonly kind: "exec" | "shell";
  readonly request: Uint8Array;
  /** Contents of stdin and the inputs. */
  readonly inputs: readonly Uint8Array[];
  /** Files that are written before the code runs. */
  readonly files?: Readonly<Record<string, Uint8Array | string>> | undefined;
  /** Limit by the virtual clock. */
  readonly timeoutMs: number;
  readonly memoryBytes?: number | undefined;
}

/**
 * The digests of the execs of a session with a virtual clock. Each digest covers the call, the result, the session's files
 * and the digest before, and the first one the base image, the profile with its packages, and the seed.
 */
export class ExecDigests {
  readonly #scope: () => Promise<DigestScope>;
  #seed: number;
  #last: string | undefined;

  /** @param scope Returns the hashes of the base image and the profile. */
  constructor(scope: () => Promise<DigestScope>, seed: number) {
    this.#scope = scope;
    this.#seed = seed;
  }

  /** The digest of the last exec, or of the state before the first one. */
  async last(): Promise<string> {
    if (this.#last !== undefined) return this.#last;
    const { image, profile } = await this.#scope();
    return this.#last ??= await sha256(JSON.stringify([FORMAT, image, profile, this.#seed]));
  }

  /** Begins a chain, as the session is in the state at its start. */
  start(seed: number): void {
    this.#seed = seed;
    this.#last = undefined;
  }

  /** Continues the chain of a restored state. With a seed, the state has got other random numbers. */
  async continue(last: string, seed: number | undefined): Promise<void> {
    this.#last = seed === undefined ? last : await sha256(JSON.stringify([last, seed]));
  }

  /**
   * Adds an exec and returns its digest.
   *
   * @param files Hash of the session's files after the exec; `undefined` if the interpreter was lost.
   */
  async add(
    call: DigestedCall,
    { result, files }: { result: ExecResult | ShellResult; files: string | undefined },
  ): Promise<string> {
    const parts = [await this.last(), ...await hashesOf(call), await resultHash(result), files ?? null];
    return this.#last = await sha256(JSON.stringify(parts));
  }
}

async function hashesOf(
  { kind, request, inputs, files = {}, timeoutMs, memoryBytes = 0 }: DigestedCall,
): Promise<unknown[]> {
  const [code, ...rest] = await Promise.all([request, ...inputs].map(sha256));
  return [kind, code, rest, await fileHashes(files), timeoutMs, memoryBytes];
}

/** Returns the hash of what a program decides of its result. Durations and the peak of the heap are no part. */
async function resultHash(result: ExecResult | ShellResult): Promise<string> {
  const { durationMs: _, peakMemoryBytes: _peak, denied: _denied, ...rest } = result;
  const { inexact: _inexact, restoredFrom: _from, files = {}, ...decided } = rest as ExecResult;
  return await sha256(JSON.stringify([decided, await fileHashes(files)]));
}

async function fileHashes(files: Readonly<Record<string, Uint8Array | string>>): Promise<unknown[]> {
  return await Promise.all(Object.entries(files).map(async ([path, bytes]) => [path, await sha256(bytes)]));
}
