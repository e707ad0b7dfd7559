import { ArgumentRangeError, CheckpointError } from "./errors.ts";

/** Options of the method `checkpoint` of an env and of its parts. */
export interface EpisodeCheckpointOptions {
  signal?: AbortSignal | undefined;
}

/** Options of {@linkcode EpisodeCheckpoint.copy}. */
export interface EpisodeCopyOptions {
  /**
   * True if the copy has random numbers of its own. Otherwise its random generators continue where they were.
   *
   * @default true if `seed` is given
   */
  reseed?: boolean | undefined;
  /** Seed of those random numbers. */
  seed?: number | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * State of a part of an env in the running episode, as a value: the env itself, a transform, a simulated user.
 * It stays as it is while the part goes on.
 */
export interface EpisodeCheckpoint<Part> {
  /**
   * Returns a part of its own that continues the episode from here. It may be called any number of times; copies share
   * nothing that an episode can change.
   */
  copy(options?: EpisodeCopyOptions): Part | Promise<Part>;
}

/** Options of {@linkcode forkEpisode}. */
export interface EpisodeForkOptions {
  /** Seed of the first copy. Each further copy has the next integer. Without it, each has random numbers of its own. */
  seed?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** Maximum number of copies that one fork makes. */
const MAX_COPIES = 1024;

/**
 * Makes copies with other random numbers from a checkpoint. If one cannot be made, the others are disposed.
 *
 * @throws {ArgumentRangeError} if `count` is not from 1 to 1024.
 */
export async function forkEpisode<Part extends AsyncDisposable>(
  count: number,
  checkpoint: () => Promise<EpisodeCheckpoint<Part>>,
  { seed, signal }: EpisodeForkOptions = {},
): Promise<Part[]> {
  if (!Number.isInteger(count) || count < 1 || count > MAX_COPIES) {
    throw new ArgumentRangeError(
      `Cannot fork env as 'count' must be from 1 to ${MAX_COPIES}: current value is ${count}`,
    );
  }
  const state = await checkpoint();
  const copies = await Promise.allSettled(Array.from({ length: count }, async (_, index) => {
    return await state.copy({ reseed: true, ...(seed !== undefined && { seed: seed + index }), signal });
  }));
  const failed = copies.find((copy) => copy.status === "rejected");
  const made = copies.flatMap((copy) => copy.status === "fulfilled" ? [copy.value] : []);
  if (failed === undefined) return made;
  await Promise.all(made.map((copy) => copy[Symbol.asyncDispose]()));
  throw failed.reason;
}

/** Returns the seed of a copy: its own, or the seed of the original unless the copy has other random numbers. */
export function seedOfCopy(
  seed: number | undefined,
  { reseed = false, seed: own }: EpisodeCopyOptions = {},
): number | undefined {
  return own ?? (reseed ? undefined : seed);
}

/** Throws the error of a part of which no checkpoint can be made. */
export function refuseCheckpoint(reason: string): never {
  throw new CheckpointError(`Cannot checkpoint episode as ${reason}`, { code: "checkpoint_refused" });
}

/**
 * Returns a deep copy of plain data: JSON values, `undefined`, `bigint`, dates, maps, sets, and buffers.
 *
 * @throws {CheckpointError} if it has another value, such as a function or an instance of a class; the message has its
 * path, which begins with `name`.
 */
export function copyPlainData<T>(value: T, name: string): T {
  requirePlainData(value, name, new Set());
  return structuredClone(value);
}

const PLAIN_CLASSES: ReadonlySet<unknown> = new Set([
  null,
  ...[Object, Array, Map, Set, Date, ArrayBuffer, DataView].map(({ prototype }) => prototype),
  ...[Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array].map(
    ({ prototype }) => prototype,
  ),
  ...[Float32Array, Float64Array, BigInt64Array, BigUint64Array].map(({ prototype }) => prototype),
]);

function requirePlainData(value: unknown, path: string, passed: Set<object>): void {
  if (typeof value === "function" || typeof value === "symbol") {
    refuseCheckpoint(`${path} must be plain data: found a ${typeof value}`);
  }
  if (typeof value !== "object" || value === null || passed.has(value)) return;
  passed.add(value);
  if (!PLAIN_CLASSES.has(Object.getPrototypeOf(value))) {
    refuseCheckpoint(`${path} must be plain data: found an instance of '${value.constructor?.name}'`);
  }
  if (ArrayBuffer.isView(value)) return;
  if (value instanceof Map || value instanceof Set) {
    const items = value instanceof Map ? [...value].flat() : [...value];
    return items.forEach((item) => requirePlainData(item, `${path}[…]`, passed));
  }
  for (const [key, item] of Object.entries(value)) requirePlainData(item, `${path}.${key}`, passed);
}
