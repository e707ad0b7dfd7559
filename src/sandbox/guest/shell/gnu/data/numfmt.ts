import { type CommandContext, type GnuCommand, linesOf, UsageError } from "../command.ts";
import { fail, quoted } from "../files/operands.ts";
import { type ParsedOptions, parseOptions } from "../options.ts";

const SUFFIXES = "KMGTPEZY";
const CONVERSION_CODE = 2;
/** Digits from which a number without a unit loses some. */
const MAX_DIGITS = 18;

/** `numfmt` of GNU coreutils 9.1. */
export const numfmt: GnuCommand = (args, context) => {
  const options = parseOptions(
    args.map((word, at) => at >= 0 && /^-\d/.test(word) ? ` ${word}` : word),
    "from=:to=:from-unit=:to-unit=:round=:padding=:suffix=:grouping:header?:field=:d,delimiter=:format=:invalid=:debug:" +
      "z,zero-terminated",
  );
  for (const name of ["format", "grouping", "debug"]) {
    if (options.has(name)) fail(`the option --${name} is not available in the sandbox`);
  }
  const words = options.operands.map((word) => word.trim());
  const end = options.has("z") ? "\0" : "\n";
  const header = options.has("header") ? Number(options.value("header") || 1) : 0;
  let code = 0;
  const lines = words.length > 0
    ? words
    : linesOf(context.stdin, end).map((line) => line.endsWith(end) ? line.slice(0, -1) : line);
  for (const [at, line] of lines.entries()) {
    if (words.length === 0 && at < header) {
      context.print(line + end);
      continue;
    }
    try {
      context.print(convertLine(line, options) + end);
    } catch (error) {
      if (!(error instanceof UsageError) || error.exitCode !== CONVERSION_CODE) throw error;
      const mode = options.value("invalid") ?? "abort";
      if (mode === "abort") throw error;
      if (mode !== "ignore") report(error, context);
      if (mode === "fail") code = CONVERSION_CODE;
      context.print(line + end);
    }
  }
  return code;
};

function report(error: UsageError, { warn }: Pick<CommandContext, "warn">): void {
  warn(error.message);
}

function invalid(message: string): never {
  throw new UsageError(message, { exitCode: CONVERSION_CODE, hasHint: false });
}

function convertLine(line: string, options: ParsedOptions): string {
  const delimiter = options.value("d");
  const fields = (options.value("field") ?? "1").split(",").map((text) => {
    const [, low = "", dash, high = ""] = /^(\d*)(-?)(\d*)$/.exec(text) ??
      fail(`invalid field value ${quoted(text)}`);
    const first = low === "" ? 1 : Number(low);
    return { first, last: dash === "" ? first : high === "" ? Infinity : Number(high) };
  });
  const isChosen = (at: number) => fields.some(({ first, last }) => at >= first && at <= last);
  if (delimiter !== undefined) {
    return line.split(delimiter).map((part, at) =>
      isChosen(at + 1) ? convert(part, options, part.length, true) : part
    ).join(delimiter);
  }
  const parts = [...line.matchAll(/(\s*)(\S+)/g)];
  const tail = /\s*$/.exec(line)?.[0] ?? "";
  return parts.map(([whole = "", space = "", word = ""], at) => {
    if (!isChosen(at + 1)) return whole;
    const lead = at === 0 ? "" : " ";
    const isPadded = !options.has("padding") && space.length + at > 0;
    return lead + convert(word, options, isPadded ? whole.length - lead.length : 0, false);
  }).join("") + (parts.length > 0 ? tail : tail);
}

function unitOf(options: ParsedOptions, name: string): string {
  const unit = options.value(name) ?? "none";
  if (["none", "auto", "si", "iec", "iec-i"].includes(unit) && !(name === "to" && unit === "auto")) {
    return unit;
  }
  throw new UsageError(
    `invalid argument ${quoted(unit)} for '--${name}'\nValid arguments are:\n${
      (name === "to" ? ["none", "si", "iec", "iec-i"] : ["none", "auto", "si", "iec", "iec-i"]).map((word) =>
        `  - '${word}'`
      ).join("\n")
    }`,
  );
}

function scaleOf(options: ParsedOptions, name: string): number {
  const text = options.value(name) ?? "1";
  const [, digits, suffix = "", binary = ""] = /^(\d*)([KMGTPEZY]?)(i?)$/.exec(text) ??
    fail(`invalid unit size: ${quoted(text)}`);
  return (digits === "" ? 1 : Number(digits)) *
    (binary === "" ? 1000 : 1024) ** (SUFFIXES.indexOf(suffix || "-") + 1);
}

function convert(word: string, options: ParsedOptions, width: number, isDelimited: boolean): string {
  const suffix = options.value("suffix") ?? "";
  const text = suffix !== "" && word.endsWith(suffix) ? word.slice(0, -suffix.length) : word;
  const number = parse(text.trim(), unitOf(options, "from")) * scaleOf(options, "from-unit") /
    scaleOf(options, "to-unit");
  const fraction = /^[^.]*\.(\d+)$/.exec(text)?.[1]?.length ?? 0;
  const shown =
    write(number, { unit: unitOf(options, "to"), round: options.value("round") ?? "from-zero", fraction }) +
    suffix;
  const padding = options.value("padding");
  if (padding !== undefined) {
    const size = Number(padding);
    if (!Number.isInteger(size) || size === 0) fail(`invalid padding value ${quoted(padding)}`);
    return size < 0 ? shown.padEnd(-size) : shown.padStart(size);
  }
  return isDelimited ? shown : shown.padStart(width);
}

function parse(text: string, unit: string): number {
  const [, sign = "", digits, suffix = "", binary = "", rest = ""] =
    /^(-?)(\d+(?:\.\d*)?|\.\d+)\s?([KkMGTPEZY]?)(i?)(.*)$/s.exec(text) ?? [];
  if (digits === undefined) invalid(`invalid number: ${quoted(text)}`);
  if (rest !== "") {
    invalid(
      suffix === ""
        ? `invalid suffix in input: ${quoted(text)}`
        : `invalid suffix in input ${quoted(text)}: ${quoted(rest)}`,
    );
  }
  const value = Number(sign + digits);
  if (suffix === "") return binary === "" ? value : invalid(`invalid suffix in input: ${quoted(text)}`);
  if (unit === "none") invalid(`rejecting suffix in input: ${quoted(text)} (consider using --from)`);
  if (unit === "iec-i" && binary === "") {
    invalid(`missing 'i' suffix in input: ${quoted(text)} (e.g Ki/Mi/Gi)`);
  }
  if (binary !== "" && unit !== "auto" && unit !== "iec-i") {
    invalid(`invalid suffix in input ${quoted(text)}: 'i'`);
  }
  const base = unit === "si" || (unit === "auto" && binary === "") ? 1000 : 1024;
  return value * base ** (SUFFIXES.indexOf(suffix.toUpperCase()) + 1);
}

function rounded(value: number, mode: string): number {
  switch (mode) {
    case "up":
      return Math.ceil(value);
    case "down":
      return Math.floor(value);
    case "towards-zero":
      return Math.trunc(value);
    case "nearest":
      return Math.sign(value) * Math.round(Math.abs(value));
    case "from-zero":
      return Math.sign(value) * Math.ceil(Math.abs(value));
    default:
      throw new UsageError(`invalid argument ${quoted(mode)} for '--round'`);
  }
}

function write(
  value: number,
  { unit, round, fraction }: { unit: string; round: string; fraction: number },
): string {
  if (unit === "none") {
    if (Math.abs(value) >= 10 ** MAX_DIGITS) {
      invalid(`value too large to be printed: '${value}' (consider using --to)`);
    }
    const factor = 10 ** fraction;
    return (rounded(value * factor, round) / factor).toFixed(fraction);
  }
  const base = unit === "si" ? 1000 : 1024;
  let [scaled, power] = [value, 0];
  while (Math.abs(scaled) >= base) {
    scaled /= base;
    power++;
  }
  const isSmall = (amount: number) => amount !== 0 && Math.abs(amount) < 10 && power > 0;
  scaled = isSmall(scaled) ? rounded(scaled * 10, round) / 10 : rounded(scaled, round);
  if (Math.abs(scaled) >= base) {
    scaled /= base;
    power++;
  }
  if (power > SUFFIXES.length) invalid("value too large to be converted");
  const suffix = power === 0 ? "" : SUFFIXES.charAt(power - 1) + (unit === "iec-i" ? "i" : "");
  return (isSmall(scaled) ? scaled.toFixed(1) : scaled.toFixed(0)) + suffix;
}
