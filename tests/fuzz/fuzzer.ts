import { deriveSeed, type Random, seededRandom } from "../../src/seeded_random.ts";

/** Code that reads untrusted input, with what must hold for every input. */
export interface Target {
  /** How the kept corpus writes its inputs: as text or in base64. */
  readonly form: "text" | "bytes";
  /** Pieces that change an input into one of another kind more often than random bytes do. */
  readonly dictionary: readonly (string | Uint8Array)[];
  /** Returns an input made from nothing. */
  generate(seed: number): Uint8Array;
  /**
   * Gives the input to the code. Returns what the code did with it in a few words, by which inputs are told apart.
   *
   * @throws {Violation} if something does not hold that must. Any other error is a violation, too.
   */
  run(input: Uint8Array): string | Promise<string>;
  /** Ends what the target has started, such as a sandbox. */
  close?(): Promise<void>;
}

/** A property does not hold for an input. */
export class Violation extends Error {
  override readonly name = "Violation";
}

/** An input for which something does not hold. */
export interface Failure {
  /** What happened, without what depends on the input: the same in all inputs with the same cause. */
  readonly key: string;
  readonly message: string;
}

/** Maximum size of an input, in bytes. */
const MAX_INPUT_BYTES = 16 * 1024;
/** Time that an input may take, in milliseconds. A slow input is tried again, as a busy machine delays any. */
const MAX_MS = 2_000;
const SLOW_ATTEMPTS = 3;

/** Outcome of an input: what the target said, or what does not hold. */
export type Outcome = { readonly kind: string } | { readonly failure: Failure };

/** Runs a target with an input. */
export async function runInput(target: Target, input: Uint8Array): Promise<Outcome> {
  for (let attempt = 1;; attempt++) {
    const startedAt = performance.now();
    try {
      const kind = await target.run(input.slice());
      const durationMs = performance.now() - startedAt;
      if (durationMs <= MAX_MS) return { kind };
      if (attempt === SLOW_ATTEMPTS) {
        return { failure: { key: "slow", message: `${durationMs.toFixed()} ms` } };
      }
    } catch (error) {
      return { failure: failureOf(error) };
    }
  }
}

function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { key: "thrown value", message: String(error) };
  const message = `${error.name}: ${error.message}`;
  const place = error instanceof Violation ? "" : /([\w.]+):\d+:\d+\)?$/m.exec(error.stack ?? "")?.[1] ?? "";
  return { key: `${plainKind(message)} ${place}`.trim(), message: error.stack ?? message };
}

/** Returns the first words of a message, without numbers and quoted parts. */
export function plainKind(message: string): string {
  const plain = message.replaceAll(/'[^']*'|"[^"]*"|`[^`]*`/g, "_").replaceAll(/\d+/g, "#");
  return (plain.match(/[A-Za-z_#]+/g) ?? []).slice(0, MAX_WORDS).join(" ");
}

const MAX_WORDS = 12;

/** Makes the inputs of a run. The same seed and corpus make the same inputs. */
export class InputSource {
  readonly #target: Target;
  readonly #seed: number;
  readonly #corpus: Uint8Array[];

  constructor(target: Target, seed: number, corpus: readonly Uint8Array[]) {
    this.#target = target;
    this.#seed = seed;
    this.#corpus = [...corpus];
  }

  /** Adds an input, from which others are made. */
  add(input: Uint8Array): void {
    this.#corpus.push(input);
  }

  /** Returns the input with a number. */
  at(index: number): Uint8Array {
    const seed = deriveSeed(this.#seed, index);
    const random = seededRandom(seed);
    if (this.#corpus.length === 0 || random() < 0.2) return limit(this.#target.generate(seed));
    let input = pick(random, this.#corpus);
    for (let change = Math.floor(random() * 6); change >= 0; change--) input = this.#mutate(input, random);
    return limit(input);
  }

  #mutate(input: Uint8Array, random: Random): Uint8Array {
    const at = Math.floor(random() * (input.length + 1));
    const length = Math.floor(random() ** 3 * (input.length - at + 1));
    const replace = (by: Uint8Array, removed = 0) => splice(input, { at, removed, by });
    switch (Math.floor(random() * 8)) {
      case 0:
        return replace(new Uint8Array(), Math.max(1, length));
      case 1:
        return replace(new Uint8Array([Math.floor(random() * 256)]), Math.floor(random() * 2));
      case 2: {
        const changed = input.slice();
        if (at < input.length) changed[at] = (changed[at] ?? 0) ^ (1 << Math.floor(random() * 8));
        return changed;
      }
      case 3: {
        const piece = input.subarray(at, at + length);
        return replace(repeat(piece, 1 + Math.floor(random() ** 4 * 200)));
      }
      case 4: {
        const other = pick(random, this.#corpus);
        const from = Math.floor(random() * (other.length + 1));
        return replace(other.subarray(from, from + Math.ceil(random() * (other.length - from))), length);
      }
      case 5:
        return replace(
          new Uint8Array(new Uint32Array([pick(random, EDGE_NUMBERS)]).buffer),
          Math.min(4, length),
        );
      default: {
        if (this.#target.dictionary.length === 0) return input;
        const word = toBytes(pick(random, this.#target.dictionary));
        return replace(
          repeat(word, random() < 0.05 ? 1 + Math.floor(random() * 500) : 1),
          random() < 0.5 ? length : 0,
        );
      }
    }
  }
}

const EDGE_NUMBERS = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff];

function pick<T>(random: Random, items: readonly T[]): T {
  return items[Math.floor(random() * items.length)] as T;
}

function repeat(piece: Uint8Array, times: number): Uint8Array {
  const count = Math.min(times, Math.ceil(MAX_INPUT_BYTES / Math.max(1, piece.length)));
  const bytes = new Uint8Array(piece.length * count);
  for (let at = 0; at < count; at++) bytes.set(piece, at * piece.length);
  return bytes;
}

function splice(input: Uint8Array, change: { at: number; removed: number; by: Uint8Array }): Uint8Array {
  const { at, removed, by } = change;
  const rest = input.subarray(Math.min(input.length, at + removed));
  const bytes = new Uint8Array(at + by.length + rest.length);
  bytes.set(input.subarray(0, at));
  bytes.set(by, at);
  bytes.set(rest, at + by.length);
  return bytes;
}

function limit(input: Uint8Array): Uint8Array {
  return input.subarray(0, MAX_INPUT_BYTES);
}

const encoder = new TextEncoder();

/** Returns text as UTF-8, and bytes as they are. */
export function toBytes(piece: string | Uint8Array): Uint8Array {
  return typeof piece === "string" ? encoder.encode(piece) : piece;
}

/** Removes parts of an input as long as `isSame` holds for what is left, by at most `trials` trials. */
export async function minimize(
  input: Uint8Array,
  { isSame, trials = 400 }: { isSame: (smaller: Uint8Array) => Promise<boolean>; trials?: number },
): Promise<Uint8Array> {
  let best = input;
  let left = trials;
  for (let size = Math.ceil(best.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < best.length && left > 0;) {
      const smaller = splice(best, { at, removed: size, by: new Uint8Array() });
      left--;
      if (smaller.length < best.length && await isSame(smaller)) best = smaller;
      else at += size;
    }
  }
  return best;
}
