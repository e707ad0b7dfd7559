import { C_ESCAPES, type GnuCommand, unicodeText, UsageError } from "../command.ts";
import { parseOptions } from "../options.ts";

const CLASSES: Readonly<Record<string, RegExp>> = {
  alnum: /[0-9A-Za-z]/,
  alpha: /[A-Za-z]/,
  blank: /[\t ]/,
  cntrl: /\p{Cc}/u,
  digit: /[0-9]/,
  graph: /[!-~]/,
  lower: /[a-z]/,
  print: /[ -~]/,
  punct: /[!-/:-@[-`{-~]/,
  space: /[\t-\r ]/,
  upper: /[A-Z]/,
  xdigit: /[0-9A-Fa-f]/,
};
const LAST_ASCII = "\x7f";
const BYTES = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code));

/** A part of a set. A repeat without a count fills the set up to the length of the other set. */
type SetPart =
  | { readonly kind: "bytes"; readonly bytes: string }
  | { readonly kind: "class"; readonly name: string; readonly bytes: string }
  | { readonly kind: "fill"; readonly bytes: string };

function fail(message: string): never {
  throw new UsageError(message, { hasHint: false });
}

/** Reads a set with ranges, classes and repeats. */
function readSet(text: string): SetPart[] {
  const signs = readSigns(text);
  const parts: SetPart[] = [];
  for (let at = 0; at < signs.length;) {
    const rest = signs.slice(at).map(({ sign, isEscaped }) => isEscaped ? "\0" : sign).join("");
    const [whole = "", name, equal] = /^\[:([a-z]*):\]|^\[=([^]+?)=\]/.exec(rest) ?? [];
    if (name !== undefined) {
      const pattern = CLASSES[name] ?? fail(`invalid character class '${unicodeText(name)}'`);
      parts.push({
        kind: "class",
        name,
        bytes: BYTES.filter((byte) => byte <= LAST_ASCII && pattern.test(byte)).join(""),
      });
      at += whole.length;
      continue;
    }
    if (equal !== undefined) {
      if (equal.length > 1) {
        fail(`${unicodeText(equal)}: equivalence class operand must be a single character`);
      }
      parts.push({ kind: "bytes", bytes: signs[at + 2]?.sign ?? "" });
      at += whole.length;
      continue;
    }
    const [repeat = "", digits] = /^\[[^]\*([0-9]*)\]/.exec(rest) ?? [];
    if (digits !== undefined) {
      const byte = signs[at + 1]?.sign ?? "";
      const count = digits.startsWith("0") ? Number.parseInt(digits, 8) : Number(digits || 0);
      if (Number.isNaN(count)) fail(`invalid repeat count '${digits}' in [c*n] construct`);
      parts.push(count === 0 ? { kind: "fill", bytes: byte } : { kind: "bytes", bytes: byte.repeat(count) });
      at += repeat.length;
      continue;
    }
    const first = signs[at]?.sign ?? "";
    const last = signs[at + 2]?.sign;
    if (rest.charAt(1) === "-" && last !== undefined) {
      if (last < first) {
        fail(
          `range-endpoints of '${unicodeText(first)}-${
            unicodeText(last)
          }' are in reverse collating sequence order`,
        );
      }
      parts.push({ kind: "bytes", bytes: BYTES.slice(first.charCodeAt(0), last.charCodeAt(0) + 1).join("") });
      at += 3;
      continue;
    }
    parts.push({ kind: "bytes", bytes: first });
    at++;
  }
  return parts;
}

function readSigns(text: string): { sign: string; isEscaped: boolean }[] {
  const signs: { sign: string; isEscaped: boolean }[] = [];
  for (const [all, escape] of text.matchAll(/\\([0-7]{1,3}|[^]?)|[^]/g)) {
    if (escape === undefined) signs.push({ sign: all, isEscaped: false });
    else if (escape === "") signs.push({ sign: "\\", isEscaped: true });
    else if (/^[0-7]/.test(escape)) {
      const code = Number.parseInt(escape, 8);
      if (code <= 255) signs.push({ sign: String.fromCharCode(code), isEscaped: true });
      else {
        const short = Number.parseInt(escape.slice(0, 2), 8);
        signs.push({ sign: String.fromCharCode(short), isEscaped: true });
        signs.push({ sign: escape.slice(2), isEscaped: false });
      }
    } else signs.push({ sign: C_ESCAPES[escape] ?? escape, isEscaped: true });
  }
  return signs;
}

function bytesOfSet(parts: readonly SetPart[], length = 0): string {
  const known = parts.reduce((sum, part) => sum + (part.kind === "fill" ? 0 : part.bytes.length), 0);
  return parts.map((part) =>
    part.kind === "fill" ? part.bytes.repeat(Math.max(0, length - known)) : part.bytes
  )
    .join("");
}

/** `tr` of GNU coreutils 9.1. Sets and input are bytes. */
export const tr: GnuCommand = (args, { stdin, print }) => {
  const options = parseOptions(args, "c,C,complement:d,delete:s,squeeze-repeats:t,truncate-set1", {
    stopsAtOperand: true,
  });
  const [first, second, third] = options.operands;
  const [deletes, squeezes] = [options.has("d"), options.has("s")];
  const isSingle = deletes !== squeezes;
  const last = (operand: string) => unicodeText(operand);
  if (first === undefined) throw new UsageError("missing operand");
  if (second === undefined && !isSingle) {
    const why = deletes
      ? "Two strings must be given when both deleting and squeezing repeats."
      : "Two strings must be given when translating.";
    throw new UsageError(`missing operand after '${last(first)}'\n${why}`);
  }
  if (second !== undefined && deletes && !squeezes) {
    throw new UsageError(
      `extra operand '${
        last(second)
      }'\nOnly one string may be given when deleting without squeezing repeats.`,
    );
  }
  if (third !== undefined) throw new UsageError(`extra operand '${last(third)}'`);
  const parts = readSet(first);
  if (parts.some(({ kind }) => kind === "fill")) fail("the [c*] repeat construct may not appear in string1");
  const listed = bytesOfSet(parts);
  const set = options.has("c") ? BYTES.filter((byte) => !listed.includes(byte)).join("") : listed;
  const translates = second !== undefined && !deletes;
  let text = stdin;
  if (deletes) text = without(text, set);
  if (translates) text = translate(text, mappingOf(set, parts, second, options));
  if (squeezes) {
    const other = second === undefined ? set : bytesOfSet(readSet(second), set.length);
    text = squeeze(text, other);
  }
  print(text);
  return 0;
};

function without(text: string, set: string): string {
  const dropped = new Set(set);
  return [...text].filter((byte) => !dropped.has(byte)).join("");
}

function squeeze(text: string, set: string): string {
  const squeezed = new Set(set);
  let kept = "";
  let last = "";
  for (const byte of text) {
    if (byte !== last || !squeezed.has(byte)) kept += byte;
    last = byte;
  }
  return kept;
}

function translate(text: string, mapping: ReadonlyMap<string, string>): string {
  let translated = "";
  for (const byte of text) translated += mapping.get(byte) ?? byte;
  return translated;
}

function mappingOf(
  set: string,
  parts: readonly SetPart[],
  second: string,
  options: ReturnType<typeof parseOptions>,
): Map<string, string> {
  const others = readSet(second);
  if (others.filter(({ kind }) => kind === "fill").length > 1) {
    fail("only one [c*] repeat construct may appear in string2");
  }
  const isCase = ({ kind, ...part }: SetPart) =>
    kind === "class" && "name" in part && (part.name === "lower" || part.name === "upper");
  if (others.some((part) => part.kind === "class" && !isCase(part))) {
    fail("when translating, the only character classes that may appear in\nstring2 are 'upper' and 'lower'");
  }
  let targets = bytesOfSet(others, set.length);
  // A class of letters in the second set stands for the other case of the same class in the first set.
  if (others.some(isCase)) {
    if (options.has("c")) {
      fail(
        "when translating with complemented character classes,\nstring2 must map all characters in the domain to one",
      );
    }
    let start = 0;
    for (const other of others) {
      if (isCase(other)) {
        let at = 0;
        const match = parts.find((part) => {
          const begins = at;
          at += part.bytes.length;
          return begins === start && isCase(part);
        });
        if (!match) fail("misaligned [:upper:] and/or [:lower:] construct");
      }
      start += other.bytes.length;
    }
  }
  if (targets === "" && !options.has("t")) fail("when not truncating set1, string2 must be non-empty");
  if (options.has("c") && others.every(({ kind }) => kind !== "fill") && options.has("t")) {
    targets = targets.slice(0, set.length);
  }
  const mapping = new Map<string, string>();
  const filler = targets.at(-1) ?? "";
  for (const [at, byte] of [...set].entries()) {
    const target = targets[at] ?? (options.has("t") ? undefined : filler);
    if (target !== undefined) mapping.set(byte, target);
  }
  return mapping;
}
