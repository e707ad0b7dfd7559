import {
  type CommandContext,
  errorText,
  type GnuCommand,
  linesOf,
  pathOf,
  textOf,
  UsageError,
} from "../command.ts";
import { fail, quoted } from "../files/operands.ts";
import { bytesOf } from "../command.ts";
import { parseOptions } from "../options.ts";

/** Bytes up to which a file is read whole before lines are chosen. Input without a size is not. */
const MAX_WHOLE_BYTES = 8 * 1024 * 1024;

/** `shuf` of GNU coreutils 9.1. With `--random-source` it chooses as GNU's does. */
export const shuf: GnuCommand = (args, context) => {
  const options = parseOptions(
    args,
    "e,echo:i,input-range=:n,head-count=:o,output=:random-source=:r,repeat:z,zero-terminated",
  );
  const { files, cwd, stdin, print } = context;
  const end = options.has("z") ? "\0" : "\n";
  const counts = options.values("n").map((text) =>
    /^\d+$/.test(text) ? Number(text) : fail(`invalid line count: ${quoted(text)}`)
  );
  const head = counts.length > 0 ? Math.min(...counts) : Infinity;
  const numbers = randomNumbers(options.value("random-source"), context);
  let lines: string[];
  let isSized = true;
  const range = options.value("i");
  if (options.has("e")) {
    if (range !== undefined) throw new UsageError("cannot combine -e and -i options");
    lines = options.operands.map((word) => word + end);
  } else if (range !== undefined) {
    const [, low, high] = /^(\d+)-(\d+)$/.exec(range) ?? [];
    if (low === undefined || high === undefined || Number(high) + 1 < Number(low)) {
      throw new UsageError(`invalid input range: ${quoted(range)}`, { hasHint: false });
    }
    const [extra] = options.operands;
    if (extra !== undefined) throw new UsageError(`extra operand ${quoted(extra)}`);
    lines = Array.from({ length: Number(high) - Number(low) + 1 }, (_, at) => `${Number(low) + at}${end}`);
  } else {
    const [name = "-", extra] = options.operands;
    if (extra !== undefined) throw new UsageError(`extra operand ${quoted(extra)}`);
    const text = name === "-" ? stdin : readFile(context, name);
    isSized = name !== "-" && text.length <= MAX_WHOLE_BYTES;
    lines = linesOf(text, end).map((line) => line.endsWith(end) ? line : line + end);
  }
  let output: string[];
  if (options.has("r")) {
    if (lines.length === 0 && head > 0) fail("no lines to repeat");
    if (head === Infinity) fail("an endless output is not available in the sandbox: use -n");
    output = Array.from({ length: head }, () => lines[numbers.choose(lines.length)] ?? "");
  } else {
    if (!isSized && head < Infinity) lines = sample(lines, head, numbers);
    const count = Math.min(head, lines.length);
    for (let at = 0; at < count; at++) {
      const other = at + numbers.choose(lines.length - at);
      [lines[at], lines[other]] = [lines[other] ?? "", lines[at] ?? ""];
    }
    output = lines.slice(0, count);
  }
  const target = options.value("o");
  if (target === undefined) print(output.join(""));
  else files.write(pathOf(cwd, target), bytesOf(output.join("")));
  return 0;
};

function readFile({ files, cwd }: CommandContext, name: string): string {
  try {
    return textOf(files.read(pathOf(cwd, name)));
  } catch (error) {
    return fail(`${name}: ${errorText(error)}`);
  }
}

/** Keeps some lines of an input of unknown size. */
function sample(lines: readonly string[], count: number, numbers: RandomNumbers): string[] {
  const kept = lines.slice(0, count);
  for (let at = count; at < lines.length && count > 0; at++) {
    const place = numbers.choose(at + 1);
    if (place < count) kept[place] = lines[at] ?? "";
  }
  if (lines.length >= count && count > 0) numbers.choose(lines.length + 1); // chosen before the end is known
  return kept;
}

function randomNumbers(name: string | undefined, context: CommandContext): RandomNumbers {
  if (name === undefined) return new RandomNumbers((count) => crypto.getRandomValues(new Uint8Array(count)));
  const bytes = bytesOf(readFile(context, name));
  let at = 0;
  return new RandomNumbers((count) => {
    const piece = bytes.subarray(at, at + count);
    at += count;
    return piece.length === count ? piece : fail(`${quoted(name)}: end of file`);
  });
}

/** Numbers from a source of bytes, of which none is wasted: what a choice leaves is used by the next choice. */
class RandomNumbers {
  readonly #read: (count: number) => Uint8Array;
  #number = 0n;
  #max = 0n;

  constructor(read: (count: number) => Uint8Array) {
    this.#read = read;
  }

  /** Returns a number from 0 to `choices` - 1. */
  choose(choices: number): number {
    const wanted = BigInt(choices);
    const highest = wanted - 1n;
    for (;;) {
      if (this.#max < highest) {
        let [count, max] = [0, this.#max];
        do {
          max = (max << 8n) + 255n;
          count++;
        } while (max < highest);
        for (const byte of this.#read(count)) {
          this.#number = (this.#number << 8n) + BigInt(byte);
          this.#max = (this.#max << 8n) + 255n;
        }
      }
      if (this.#max === highest) {
        const result = this.#number;
        [this.#number, this.#max] = [0n, 0n];
        return Number(result);
      }
      const excess = this.#max - highest;
      const unusable = excess % wanted;
      const last = this.#max - unusable;
      const result = this.#number % wanted;
      if (this.#number <= last) {
        this.#number /= wanted;
        this.#max = excess / wanted;
        return Number(result);
      }
      [this.#number, this.#max] = [result, unusable - 1n];
    }
  }
}
