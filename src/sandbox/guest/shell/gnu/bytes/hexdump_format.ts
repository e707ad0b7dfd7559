import { C_ESCAPES, type CommandContext, textOf, unicodeText } from "../command.ts";
import { fail } from "../files/operands.ts";
import { formatPrintf } from "../printf.ts";
import { BYTE_ESCAPES } from "./od.ts";

/** A text with at most a single conversion. */
interface Part {
  /** What precedes the conversion; the whole text if there is no conversion. */
  readonly text: string;
  readonly conversion?: Conversion;
  /** Bytes that the conversion takes. */
  readonly size: number;
}

interface Conversion {
  readonly flags: string;
  readonly width: string;
  readonly precision: string;
  /** Letter of `printf`, or a name of hexdump such as `_p` and `_ad`. */
  readonly kind: string;
}

/** A unit such as `4/1 "%02x "`. */
interface Unit {
  repeats: number;
  readonly hasCount: boolean;
  readonly size: number;
  readonly parts: readonly Part[];
}

/** Texts of the option `-e`, which all format the same blocks. */
export interface DumpFormat {
  readonly lines: readonly (readonly Unit[])[];
  readonly blockBytes: number;
  /** Unit that prints the address of the end. */
  readonly end: Unit | undefined;
}

const UNIT = /\s*(?:(\d+)(?=[\s/])\s*)?(?:\/\s*(\d+)(?=\s)\s*)?"([^"]*)"\s*/y;
const CONVERSION = /%([-+ #0]*)(\d*)(\.\d*)?(_[aA][dox]|_[cpu]|[cdiouxXeEfgGs])/;
const ESCAPES: Readonly<Record<string, string>> = { ...C_ESCAPES, "0": "\0" };
const SIZES: Readonly<Record<string, readonly number[]>> = { integer: [4, 1, 2, 8], float: [8, 4] };
const CONTROLS =
  "nul soh stx etx eot enq ack bel bs ht lf vt ff cr so si dle dc1 dc2 dc3 dc4 nak syn etb can em " +
  "sub esc fs gs rs us";
/** Reads the texts of `-e`. */
export function readDumpFormat(texts: readonly string[]): DumpFormat {
  const lines = texts.map(readUnits);
  const bytesOfLine = (units: readonly Unit[]) =>
    units.reduce((sum, { repeats, size }) => sum + repeats * size, 0);
  const blockBytes = Math.max(...lines.map(bytesOfLine));
  for (const units of lines) {
    const last = units.at(-1);
    if (!last || last.hasCount || last.size === 0) continue;
    last.repeats += Math.floor((blockBytes - bytesOfLine(units)) / last.size);
  }
  const end = lines.flat().findLast(isEnd);
  return { lines: lines.map((units) => units.filter((unit) => !isEnd(unit))), blockBytes, end };
}

function isEnd({ parts }: Unit): boolean {
  return parts.some(({ conversion }) => conversion?.kind.startsWith("_A"));
}

function readUnits(text: string): Unit[] {
  const units: Unit[] = [];
  for (UNIT.lastIndex = 0; UNIT.lastIndex < text.length;) {
    const [, count, size, body = ""] = UNIT.exec(text) ?? fail(`bad format {${unicodeText(text)}}`);
    const parts = readParts(body, size === undefined ? undefined : Number(size));
    units.push({
      repeats: Number(count ?? 1),
      hasCount: count !== undefined,
      size: size === undefined ? parts.reduce((sum, part) => sum + part.size, 0) : Number(size),
      parts,
    });
  }
  return units;
}

function readParts(body: string, size: number | undefined): Part[] {
  const parts: Part[] = [];
  const unescaped = (text: string) => text.replace(/\\(.)/gs, (_, sign: string) => ESCAPES[sign] ?? sign);
  let rest = body;
  for (let at = rest.indexOf("%"); at >= 0; at = rest.indexOf("%")) {
    const match = CONVERSION.exec(rest.slice(at));
    if (match?.index !== 0) fail(`bad conversion character ${unicodeText(rest.slice(at, at + 2))}`);
    const [whole = "", flags = "", width = "", precision = "", kind = ""] = match ?? [];
    const conversion = { flags, width, precision, kind };
    const part = { text: unescaped(rest.slice(0, at)), conversion, size: sizeOf(conversion, size) };
    if (size !== undefined && part.size > 0 && parts.some((other) => other.size > 0)) {
      fail("byte count with multiple conversion characters");
    }
    parts.push(part);
    rest = rest.slice(at + whole.length);
  }
  return rest === "" ? parts : [...parts, { text: unescaped(rest), size: 0 }];
}

/** Number of bytes that a conversion takes, where the unit may have a size. */
function sizeOf({ kind, precision }: Conversion, size: number | undefined): number {
  if (/^_[aA]/.test(kind)) return 0;
  const bad = () => fail(`bad byte count for conversion character ${kind}`);
  if (kind === "s") {
    if (precision.length > 1) return size ?? Number(precision.slice(1));
    return size ?? fail("%s requires a precision or a byte count");
  }
  if (kind === "c" || kind.startsWith("_")) return size === undefined || size === 1 ? 1 : bad();
  const sizes = SIZES[/[eEfgG]/.test(kind) ? "float" : "integer"] ?? [];
  return size === undefined ? sizes[0] ?? 1 : sizes.includes(size) ? size : bad();
}

/** Prints bytes that begin at an address. Blocks that repeat the block before are `*`, unless all are shown. */
export function printDump(
  bytes: Uint8Array,
  { lines, blockBytes, end }: DumpFormat,
  { address, showsAll, context }: {
    readonly address: number;
    readonly showsAll: boolean;
    readonly context: CommandContext;
  },
): void {
  const { print, poll } = context;
  if (blockBytes === 0) return;
  let previous: string | undefined;
  let isRepeated = false;
  for (let at = 0; at < bytes.length; at += blockBytes) {
    poll();
    const block = bytes.subarray(at, at + blockBytes);
    const text = textOf(block);
    // a short last block is a repetition if the block before begins with it
    if (!showsAll && previous?.startsWith(text)) {
      if (!isRepeated) print("*\n");
      isRepeated = true;
      continue;
    }
    isRepeated = false;
    previous = text;
    const place = { bytes: block, address: address + at, isShort: block.length < blockBytes, context };
    for (const units of lines) print(blockText(units, place));
  }
  if (end && bytes.length > 0) {
    print(unitText(end, { bytes, at: bytes.length, address, isShort: false, context }).text);
  }
}

function blockText(units: readonly Unit[], place: Omit<Place, "at">): string {
  let text = "";
  let at = 0;
  for (const unit of units) {
    for (let round = 1; round <= unit.repeats; round++) {
      const printed = unitText(unit, { ...place, at });
      // the blanks behind the last of several are left out
      text += round === unit.repeats && unit.repeats > 1 ? printed.trimmed : printed.text;
      at += unit.size;
    }
  }
  return text;
}

interface Place {
  readonly bytes: Uint8Array;
  readonly at: number;
  /** Address of the first byte. */
  readonly address: number;
  /** Whether blanks stand for what is behind the bytes, as in the last block. */
  readonly isShort: boolean;
  readonly context: CommandContext;
}

function unitText({ parts }: Unit, place: Place): { text: string; trimmed: string } {
  const { bytes, address, isShort, context } = place;
  let at = place.at;
  let text = "";
  let trimmed = "";
  for (const part of parts) {
    const { conversion, size } = part;
    trimmed = text + (conversion ? part.text : part.text.replace(/\s$/, ""));
    text += part.text;
    if (!conversion) continue;
    const field = bytes.subarray(at, at + size);
    text += isShort && at >= bytes.length
      ? " ".repeat(Number(conversion.width))
      : converted(conversion, field, { address: address + at, size, context });
    trimmed = text;
    at += size;
  }
  return { text, trimmed };
}

function converted(
  { flags, width, precision, kind }: Conversion,
  bytes: Uint8Array,
  { address, size, context }: {
    readonly address: number;
    readonly size: number;
    readonly context: CommandContext;
  },
): string {
  const print = (letter: string, value: string) =>
    formatPrintf(`%${flags}${width}${precision}${letter}`, [value], context).text;
  const shown = (value: string) =>
    flags.includes("-") ? value.padEnd(Number(width)) : value.padStart(Number(width));
  const [byte = 0] = bytes;
  const sign = String.fromCharCode(byte);
  const isPrintable = sign >= " " && sign <= "~";
  if (/^_[aA]/.test(kind)) return print(kind.charAt(2), String(address));
  if (kind === "_p") return shown(isPrintable ? sign : ".");
  const octal = byte.toString(8).padStart(3, "0");
  if (kind === "_c") return shown(BYTE_ESCAPES[byte] ?? (isPrintable ? sign : octal));
  if (kind === "_u") {
    const name = byte === 127 ? "del" : CONTROLS.split(" ")[byte];
    return shown(name ?? (isPrintable ? sign : byte.toString(16).padStart(2, "0")));
  }
  if (kind === "c") return shown(sign);
  if (kind === "s") {
    const [text = ""] = textOf(bytes).split("\0");
    return shown(precision === "" ? text : text.slice(0, Number(precision.slice(1))));
  }
  const padded = new DataView(new ArrayBuffer(8));
  bytes.forEach((value, index) => padded.setUint8(index, value));
  if (/[eEfgG]/.test(kind)) {
    return print(kind, String(size === 4 ? padded.getFloat32(0, true) : padded.getFloat64(0, true)));
  }
  const value = padded.getBigUint64(0, true);
  return print(kind, String(/[di]/.test(kind) ? BigInt.asIntN(8 * size, value) : value));
}
