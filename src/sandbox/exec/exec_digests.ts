import { sha256 } from "../../hash.ts";
import type { CheckpointScope } from "../checkpoint/checkpoint.ts";
import type { ExecResult } from "../contract/exec.ts";
import type { ShellResult } from "../contract/shell.ts";

/** Version of the digests and of the virtual clock. Increase the version when the same programs get other digests. */
const FORMAT = 1;

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
  readonly #scope: () => Promise<Pick<CheckpointScope, "image" | "profile">>;
  #seed: number;
  #last: string | undefined;

  /** @param scope Returns the hashes of the base image and the profile. */
  constructor(scope: () => Promise<Pick<CheckpointScope, "image" | "profile">>, seed: number) {
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
