import { type CommandContext, type GnuCommand, readInputs, UsageError } from "../command.ts";
import { fail } from "../files/operands.ts";
import { type ParsedOptions, parseOptions, readSize } from "../options.ts";

const NAMES = [
  ...[
    "nul",
    "soh",
    "stx",
    "etx",
    "eot",
    "enq",
    "ack",
    "bel",
    "bs",
    "ht",
    "nl",
    "vt",
    "ff",
    "cr",
    "so",
    "si",
    "dle",
  ],
  ...[
    "dc1",
    "dc2",
    "dc3",
    "dc4",
    "nak",
    "syn",
    "etb",
    "can",
    "em",
    "sub",
    "esc",
    "fs",
    "gs",
    "rs",
    "us",
    "sp",
  ],
];
/** How bytes are shown that C writes with an escape. */
export const BYTE_ESCAPES: Readonly<Record<number, string>> = {
  0: "\\0",
  7: "\\a",
  8: "\\b",
  9: "\\t",
  10: "\\n",
  11: "\\v",
  12: "\\f",
  13: "\\r",
};

/** A form in which values are printed. */
interface Form {
  /** Bytes of a value. */
  readonly size: number;
  /** Characters of a value, without the space before it. */
  readonly width: number;
  format(view: DataView, at: number): string;
  /** True if the characters of the line are printed behind it. */
  readonly isShown: boolean;
}

/** Forms that are named by a single letter. */
const LETTERS: Readonly<Record<string, string>> = {
  a: "a",
  b: "o1",
  c: "c",
  d: "u2",
  f: "fF",
  i: "dI",
  l: "dL",
  o: "o2",
  s: "d2",
  x: "x2",
};
const SIZES: Readonly<Record<string, number>> = { C: 1, S: 2, I: 4, L: 8, F: 4, D: 8 };
/** Digits of the largest value by radix and size. */
const WIDTHS: Readonly<Record<string, readonly number[]>> = {
  d: [4, 6, 11, 20],
  u: [3, 5, 10, 20],
  o: [3, 6, 11, 22],
  x: [2, 4, 8, 16],
};

/** `od` of GNU coreutils 9.1. */
export const od: GnuCommand = (args, context) => {
  const options = parseOptions(
    args,
    "A,address-radix=:j,skip-bytes=:N,read-bytes=:S,strings?:t,format=:v,output-duplicates:w,width?:endian=:traditional:" +
      "a:b:c:d:f:i:l:o:s:x",
  );
  if (options.has("S") || options.has("traditional")) {
    fail("the options -S and --traditional are not available in the sandbox");
  }
  const { inputs, failed } = readInputs(options.operands, context);
  if (inputs.length === 0) return 1;
  const radix = (options.value("A") ?? "o").charAt(0); // GNU's reads one sign
  if (!["o", "d", "x", "n"].includes(radix)) {
    fail(`invalid output address radix '${radix}'; it must be one character from [doxn]`);
  }
  const skip = sizeOf(options, "j") ?? 0;
  const limit = sizeOf(options, "N") ?? Infinity;
  const all = inputs.map(({ text }) => text).join("");
  if (skip > all.length) fail("cannot skip past end of combined input");
  const text = all.slice(skip, skip + limit);
  const forms = formsOf(options);
  const unit = forms.reduce((least, { size }) => least * size / gcd(least, size), 1);
  const given = options.has("w") ? Number(options.value("w") || 32) : 16;
  const width = given > 0 && given % unit === 0 ? given : unit;
  if (width !== given) context.warn(`warning: invalid width ${given}; using ${width} instead`);
  new Dump(context, { text, start: skip, width, forms, radix, isFull: options.has("v") }).print();
  return failed ? 1 : 0;
};

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}

function sizeOf(options: ParsedOptions, name: string): number | undefined {
  const text = options.value(name);
  if (text === undefined) return undefined;
  const value = /^0x[0-9a-f]+$/i.test(text)
    ? Number(text)
    : /^0[0-7]+$/.test(text)
    ? Number.parseInt(text, 8)
    : readSize(text);
  return value ?? fail(`invalid -${name} argument '${text}'`);
}

function formsOf(options: ParsedOptions): Form[] {
  const isBig = options.value("endian") === "big";
  const specs = options.given.flatMap(({ name, value }) => {
    if (name === "t") return [value];
    return Object.hasOwn(LETTERS, name) ? [LETTERS[name] ?? ""] : [];
  });
  return (specs.length > 0 ? specs : ["o2"]).flatMap((spec) => readForms(spec, isBig));
}

function readForms(spec: string, isBig: boolean): Form[] {
  const forms: Form[] = [];
  let rest = spec;
  while (rest !== "") {
    const [whole = "", kind = "", size = "", shown = ""] = /^([acdfoux])([CSILFD]|\d+)?(z)?/.exec(rest) ?? [];
    if (whole === "") {
      throw new UsageError(`invalid character '${rest.charAt(0)}' in type string '${spec}'`, {
        hasHint: false,
      });
    }
    rest = rest.slice(whole.length);
    const bytes = size === "" ? (kind === "f" ? 8 : 4) : SIZES[size] ?? Number(size);
    forms.push(formOf(kind, bytes, { isBig, isShown: shown !== "", spec }));
  }
  return forms;
}

function formOf(
  kind: string,
  size: number,
  { isBig, isShown, spec }: { isBig: boolean; isShown: boolean; spec: string },
): Form {
  if (kind === "a") {
    const format = (view: DataView, at: number) => {
      const byte = view.getUint8(at) & 0x7f;
      return byte === 127 ? "del" : NAMES[byte] ?? String.fromCharCode(byte);
    };
    return { size: 1, width: 3, format, isShown };
  }
  if (kind === "c") {
    const format = (view: DataView, at: number) => {
      const byte = view.getUint8(at);
      const printed = byte >= 32 && byte < 127
        ? String.fromCharCode(byte)
        : byte.toString(8).padStart(3, "0");
      return BYTE_ESCAPES[byte] ?? printed;
    };
    return { size: 1, width: 3, format, isShown };
  }
  if (kind === "f") {
    if (size !== 8) fail(`the type string '${spec}' is not available in the sandbox`);
    const format = (view: DataView, at: number) => String(view.getFloat64(at, !isBig));
    return { size, width: 24, format, isShown };
  }
  const power = [1, 2, 4, 8].indexOf(size);
  if (power < 0) {
    fail(`invalid type string '${spec}';\nthis system doesn't provide a ${size}-byte integral type`);
  }
  const width = WIDTHS[kind]?.[power] ?? 0;
  const read = (view: DataView, at: number): bigint => {
    if (size === 8) return kind === "d" ? view.getBigInt64(at, !isBig) : view.getBigUint64(at, !isBig);
    if (size === 4) return BigInt(kind === "d" ? view.getInt32(at, !isBig) : view.getUint32(at, !isBig));
    if (size === 2) return BigInt(kind === "d" ? view.getInt16(at, !isBig) : view.getUint16(at, !isBig));
    return BigInt(kind === "d" ? view.getInt8(at) : view.getUint8(at));
  };
  const format = (view: DataView, at: number) => {
    if (kind === "d" || kind === "u") return read(view, at).toString();
    return read(view, at).toString(kind === "o" ? 8 : 16).padStart(width, "0");
  };
  return { size, width, format, isShown };
}

/** The output of a run. */
class Dump {
  readonly #context: CommandContext;
  readonly #settings: {
    readonly text: string;
    readonly start: number;
    readonly width: number;
    readonly forms: readonly Form[];
    readonly radix: string;
    readonly isFull: boolean;
  };

  constructor(context: CommandContext, settings: {
    text: string;
    start: number;
    width: number;
    forms: readonly Form[];
    radix: string;
    isFull: boolean;
  }) {
    this.#context = context;
    this.#settings = settings;
  }

  print(): void {
    const { text, start, width, forms, isFull } = this.#settings;
    const { print, poll } = this.#context;
    /** Widths of the bytes in the widest form, to which the others are aligned. */
    const block = Math.max(...forms.map((form) => (form.width + 1) * width / form.size));
    let previous: string | undefined;
    let isRepeated = false;
    for (let at = 0; at < text.length; at += width) {
      poll();
      const line = text.slice(at, at + width);
      if (!isFull && line === previous && line.length === width) {
        if (!isRepeated) print("*\n");
        isRepeated = true;
        continue;
      }
      isRepeated = false;
      previous = line;
      for (const [index, form] of forms.entries()) {
        const address = index === 0 ? this.#address(start + at) : " ".repeat(this.#address(0).length);
        print(`${address}${this.#values(line, form, block)}\n`);
      }
    }
    const end = this.#address(start + text.length);
    if (end !== "") print(`${end}\n`);
  }

  #address(value: number): string {
    const { radix } = this.#settings;
    if (radix === "n") return "";
    if (radix === "x") return value.toString(16).padStart(6, "0");
    return value.toString(radix === "d" ? 10 : 8).padStart(7, "0");
  }

  #values(line: string, form: Form, block: number): string {
    const { width } = this.#settings;
    const count = width / form.size;
    const bytes = new Uint8Array(width);
    for (let at = 0; at < line.length; at++) bytes[at] = line.charCodeAt(at);
    const view = new DataView(bytes.buffer);
    const used = Math.ceil(line.length / form.size);
    let text = "";
    // the padding of a narrow form is spread over its values
    let padding = block - count * (form.width + 1);
    for (let index = 0; index < used; index++) {
      const left = count - index;
      const own = padding - Math.floor(padding * (left - 1) / left);
      padding -= own;
      text += " ".repeat(own) + form.format(view, index * form.size).padStart(form.width + 1);
    }
    if (!form.isShown) return text;
    const shown = [...line].map((sign) => sign >= " " && sign <= "~" ? sign : ".").join("");
    return `${text.padEnd(block)}  >${shown}<`;
  }
}
