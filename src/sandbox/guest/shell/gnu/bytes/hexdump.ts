import { bytesOf, type GnuCommand, pathOf, readInputs, textOf, UsageError } from "../command.ts";
import { fail } from "../files/operands.ts";
import { parseOptions } from "../options.ts";
import { printDump, readDumpFormat } from "./hexdump_format.ts";

const WIDTH = 16;

/** Splits byte text into lines of 16 bytes, with `undefined` for lines that repeat the line before. */
function* rowsOf(text: string, isFull: boolean): Generator<{ at: number; line: string | undefined }> {
  let previous: string | undefined;
  let isRepeated = false;
  for (let at = 0; at < text.length; at += WIDTH) {
    const line = text.slice(at, at + WIDTH);
    if (!isFull && line === previous && line.length === WIDTH) {
      if (!isRepeated) yield { at, line: undefined };
      isRepeated = true;
      continue;
    }
    isRepeated = false;
    previous = line;
    yield { at, line };
  }
}

function printable(line: string): string {
  return [...line].map((sign) => sign >= " " && sign <= "~" ? sign : ".").join("");
}

const hex = (value: number, digits: number) => value.toString(16).padStart(digits, "0");

/** `hexdump` of util-linux, with `-C`, `-b`, `-c`, `-d`, `-o` and `-x`, or formats of `-e`. */
export const hexdump: GnuCommand = (args, context) => {
  const options = parseOptions(
    args,
    "b,one-byte-octal:c,one-byte-char:C,canonical:d,two-bytes-decimal:o,two-bytes-octal:x,two-bytes-hex:e,format=:" +
      "f,format-file=:L,color?:n,length=:s,skip=:v,no-squeezing",
  );
  if (options.has("f")) fail("formats of -f are not available in the sandbox");
  const count = (name: string) => {
    const text = options.value(name);
    if (text === undefined) return undefined;
    const value = /^(?:0x[0-9a-f]+|\d+)$/i.test(text) ? Number(text) : undefined;
    return value ?? fail(`failed to parse ${name === "n" ? "length" : "offset"}: '${text}'`);
  };
  const { inputs, failed } = readInputs(options.operands, context);
  if (inputs.length === 0) return 1;
  const skip = count("s") ?? 0;
  const text = inputs.map((input) => input.text).join("").slice(skip, skip + (count("n") ?? Infinity));
  const forms = options.given.map(({ name }) => name).filter((name) => "bcCdox".includes(name));
  if (options.has("e")) {
    if (forms.length > 0) fail(`-e with -${forms[0]} is not available in the sandbox`);
    const format = readDumpFormat(options.values("e"));
    printDump(bytesOf(text), format, { address: skip, showsAll: options.has("v"), context });
    return failed ? 1 : 0;
  }
  const kinds = forms.length > 0 ? forms : [""];
  const digits = kinds.includes("C") ? 8 : 7;
  for (const { at, line } of rowsOf(text, options.has("v"))) {
    context.poll();
    if (line === undefined) {
      context.print("*\n");
      continue;
    }
    for (const kind of kinds) {
      context.print(`${hex(skip + at, kind === "C" ? 8 : 7)}${rowText(kind, line)}\n`);
    }
  }
  if (text.length > 0) context.print(`${hex(skip + text.length, digits)}\n`);
  return failed ? 1 : 0;
};

const ESCAPES: Readonly<Record<string, string>> = {
  "\0": "\\0",
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
};

function rowText(kind: string, line: string): string {
  const bytes = bytesOf(line);
  if (kind === "C") {
    const cells = Array.from({ length: WIDTH }, (_, at) => {
      const byte = bytes[at];
      return `${at === 8 ? " " : ""} ${byte === undefined ? "  " : hex(byte, 2)}`;
    });
    return ` ${cells.join("")}  |${printable(line)}|`;
  }
  if (kind === "b" || kind === "c") {
    const cell = (byte: number) => {
      const sign = String.fromCharCode(byte);
      if (kind === "b") return ` ${byte.toString(8).padStart(3, "0")}`;
      const shown = ESCAPES[sign] ?? (sign >= " " && sign <= "~" ? sign : byte.toString(8).padStart(3, "0"));
      return shown.padStart(4);
    };
    return Array.from({ length: WIDTH }, (_, at) => bytes[at] === undefined ? "    " : cell(bytes[at] ?? 0))
      .join("");
  }
  const cells = Array.from({ length: WIDTH / 2 }, (_, at) => {
    const value = (bytes[2 * at] ?? 0) | (bytes[2 * at + 1] ?? 0) << 8;
    const isThere = 2 * at < bytes.length;
    if (kind === "d") return isThere ? `   ${String(value).padStart(5, "0")}` : " ".repeat(8);
    if (kind === "o") return isThere ? `  ${value.toString(8).padStart(6, "0")}` : " ".repeat(8);
    if (kind === "x") return isThere ? `    ${hex(value, 4)}` : " ".repeat(8);
    return isThere ? ` ${hex(value, 4)}` : " ".repeat(5);
  });
  return cells.join("");
}

/** `xxd` of Vim: a dump, its reverse, plain hexadecimal, bits, and an array of C. */
export const xxd: GnuCommand = (args, context) => {
  const long: Readonly<Record<string, string>> = {
    "-ps": "-p",
    "-plain": "-p",
    "-postscript": "-p",
    "-bits": "-b",
  };
  const words = args.flatMap((word) =>
    long[word] ?? (/^-(?:cols?|len|seek|groupsize)$/.test(word) ? [`-${word.charAt(1)}`] : [word])
  );
  const options = parseOptions(
    words.map((word) => word === "-r" ? "-r" : word),
    "a:b:c=:C:d:E:e:g=:h:i:l=:n=:o=:p:r:R=:s=:u:v",
  );
  for (const name of ["E", "e", "C", "R", "n"]) {
    if (options.has(name)) fail(`the option -${name} is not available in the sandbox`);
  }
  const [name = "-", target] = options.operands;
  const { inputs, failed } = readInputs([name], context);
  const [input] = inputs;
  if (failed || !input) return 2;
  let output = "";
  const print = (text: string) => output += text;
  const number = (option: string) => {
    const text = options.value(option);
    if (text === undefined) return undefined;
    const value = Number(text.replace(/^\+/, ""));
    return Number.isInteger(value) ? value : fail(`invalid number '${text}'`);
  };
  if (options.has("r")) print(options.has("p") ? reversePlain(input.text) : reverseDump(input.text));
  else {
    const seek = number("s") ?? 0;
    const start = seek < 0 ? Math.max(0, input.text.length + seek) : seek;
    const text = input.text.slice(start, start + (number("l") ?? Infinity));
    const digit = (value: number, size: number) =>
      options.has("u") ? hex(value, size).toUpperCase() : hex(value, size);
    if (options.has("p")) {
      const columns = number("c") ?? 30;
      const width = columns === 0 ? text.length || 1 : columns;
      for (let at = 0; at < text.length; at += width) {
        print(`${[...bytesOf(text.slice(at, at + width))].map((byte) => digit(byte, 2)).join("")}\n`);
      }
    } else if (options.has("i")) print(arrayText(name, text, { columns: number("c") ?? 12, digit }));
    else {
      const isBits = options.has("b");
      const columns = number("c") ?? (isBits ? 6 : 16);
      if (columns < 1 || columns > 256) {
        throw new UsageError("invalid number of columns (max. 256).", { hasHint: false });
      }
      const group = number("g") ?? (isBits ? 1 : 2);
      const base = start + (number("o") ?? 0);
      let skipped = 0;
      for (let at = 0; at < text.length; at += columns) {
        context.poll();
        const line = text.slice(at, at + columns);
        if (options.has("a") && /^\0*$/.test(line) && at > 0 && at + columns < text.length) {
          if (++skipped === 1) print("*\n");
          continue;
        }
        skipped = 0;
        let cells = "";
        for (let index = 0; index < columns; index++) {
          const isThere = index < line.length;
          const byte = line.charCodeAt(index);
          const value = isBits ? byte.toString(2).padStart(8, "0") : digit(byte, 2);
          cells += isThere ? value : " ".repeat(isBits ? 8 : 2);
          if (group > 0 && (index + 1) % group === 0) cells += " ";
        }
        if (group === 0 || columns % group !== 0) cells += " ";
        const address = options.has("d")
          ? String(base + at).padStart(8, "0")
          : digit(base + at, 8).toLowerCase();
        print(`${address}: ${cells} ${printable(line)}\n`);
      }
    }
  }
  if (target === undefined) context.print(output);
  else context.files.write(pathOf(context.cwd, target), bytesOf(output));
  return 0;
};

function arrayText(
  name: string,
  text: string,
  { columns, digit }: { columns: number; digit: (value: number, size: number) => string },
): string {
  const rows: string[] = [];
  for (let at = 0; at < text.length; at += columns) {
    rows.push(
      `  ${[...bytesOf(text.slice(at, at + columns))].map((byte) => `0x${digit(byte, 2)}`).join(", ")}`,
    );
  }
  const body = rows.join(",\n") + (rows.length > 0 ? "\n" : "");
  if (name === "-") return body;
  const label = name.replace(/^(?=\d)/, "__").replace(/[^A-Za-z0-9]/g, "_");
  return `unsigned char ${label}[] = {\n${body}};\nunsigned int ${label}_len = ${text.length};\n`;
}

function reversePlain(text: string): string {
  const digits = text.replace(/[^0-9A-Fa-f]/g, "");
  return textOf(Uint8Array.fromHex(digits.slice(0, digits.length - digits.length % 2)));
}

/** Reads a dump: an address, hexadecimal digits in groups, and behind two spaces what is not read. */
function reverseDump(text: string): string {
  const pieces: number[] = [];
  for (const line of text.split("\n")) {
    const [, address, rest = ""] = /^\s*([0-9A-Fa-f]+):\s?(.*)$/.exec(line) ?? [];
    if (address === undefined) continue;
    const digits = (rest.split("  ", 1)[0] ?? "").replace(/\s/g, "");
    const at = Number.parseInt(address, 16);
    const bytes = Uint8Array.fromHex(/^[0-9A-Fa-f]*/.exec(digits)?.[0].replace(/^((?:..)*).?$/, "$1") ?? "");
    bytes.forEach((byte, index) => pieces[at + index] = byte);
  }
  return textOf(Uint8Array.from(pieces, (byte) => byte ?? 0));
}
