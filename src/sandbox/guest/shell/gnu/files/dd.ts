import {
  bytesOf,
  type CommandContext,
  errorText,
  type GnuCommand,
  pathOf,
  statusOf,
  unicodeText,
} from "../command.ts";
import { fail } from "./operands.ts";

const UNITS: Readonly<Record<string, number>> = {
  "": 1,
  c: 1,
  w: 2,
  b: 512,
  kB: 1000,
  k: 1024,
  K: 1024,
  KiB: 1024,
  MB: 1000 ** 2,
  M: 1024 ** 2,
  xM: 1024 ** 2,
  MiB: 1024 ** 2,
  GB: 1000 ** 3,
  G: 1024 ** 3,
  GiB: 1024 ** 3,
};
const CONVERSIONS = new Set(
  ["notrunc", "nocreat", "excl", "ucase", "lcase", "swab", "sync", "noerror", "fsync", "fdatasync"],
);
const STATUSES = new Set(["none", "noxfer", "progress"]);
/** Largest output, as files are in memory. */
const MAX_BYTES = 1024 ** 3;
/** Bytes that one call makes random. */
const RANDOM_BYTES = 65_536;

/** The operands of `dd`, such as `bs=1M`. */
interface Transfer {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly inputBlock: number;
  readonly outputBlock: number;
  readonly count: number | undefined;
  readonly skip: number;
  readonly seek: number;
  readonly conversions: ReadonlySet<string>;
  readonly status: string;
}

/** `dd` of GNU coreutils 9.1. */
export const dd: GnuCommand = (args, context) => {
  const transfer = readOperands(args);
  const startMs = performance.now();
  const read = readInput(transfer, context);
  const output = convert(read, transfer);
  writeOutput(output, transfer, context);
  if (transfer.status === "none") return 0;
  const records = (length: number, block: number) =>
    `${Math.floor(length / block)}+${length % block === 0 ? 0 : 1} records`;
  const { printError } = context;
  printError(`${records(read.length, transfer.inputBlock)} in\n`);
  printError(`${records(output.length, transfer.outputBlock)} out\n`);
  if (transfer.status === "noxfer") return 0;
  const seconds = Math.max(performance.now() - startMs, 0.001) / 1000;
  const size = output.length < 1000
    ? ""
    : ` (${sizeText(output.length, 1000)}, ${sizeText(output.length, 1024)})`;
  const rate = sizeText(output.length / seconds, 1000);
  printError(`${output.length} bytes${size} copied, ${Number(seconds.toPrecision(6))} s, ${rate}/s\n`);
  return 0;
};

function readOperands(args: readonly string[]): Transfer {
  const values = new Map<string, string>();
  for (const word of args[0] === "--" ? args.slice(1) : args) {
    const [, name = "", value = ""] = /^([a-z]+)=([^]*)$/.exec(word) ?? [];
    const isFlags = name === "iflag" || name === "oflag";
    if (isFlags) refuseFlags(name, value);
    else if (!/^(?:if|of|bs|ibs|obs|count|skip|seek|conv|status)$/.test(name)) {
      fail(`unrecognized operand '${unicodeText(word)}'`);
    }
    values.set(name, value);
  }
  const number = (name: string, least: number) => {
    const text = values.get(name);
    if (text === undefined) return undefined;
    const amount = amountOf(text);
    if (amount === undefined || amount < least) fail(`invalid number: '${unicodeText(text)}'`);
    return amount;
  };
  const conversions = new Set((values.get("conv") ?? "").split(",").filter((text) => text !== ""));
  const unknown = [...conversions].find((name) => !CONVERSIONS.has(name));
  if (unknown !== undefined) fail(`the conversion '${unicodeText(unknown)}' is not available in the sandbox`);
  if (conversions.has("ucase") && conversions.has("lcase")) fail("cannot combine lcase and ucase");
  const status = values.get("status") ?? "";
  if (status !== "" && !STATUSES.has(status)) fail(`invalid status level: '${unicodeText(status)}'`);
  const block = number("bs", 1);
  return {
    from: values.get("if"),
    to: values.get("of"),
    inputBlock: block ?? number("ibs", 1) ?? 512,
    outputBlock: block ?? number("obs", 1) ?? 512,
    count: number("count", 0),
    skip: number("skip", 0) ?? 0,
    seek: number("seek", 0) ?? 0,
    conversions,
    status,
  };
}

/** Flags of opening files, which make no difference in memory. */
const FLAGS = new Set([
  "direct",
  "dsync",
  "fullblock",
  "noatime",
  "nocache",
  "nonblock",
  "sync",
  "binary",
  "text",
]);

function refuseFlags(name: string, value: string): void {
  const unknown = value.split(",").find((flag) => !FLAGS.has(flag));
  if (unknown !== undefined) {
    fail(`the ${name} '${unicodeText(unknown)}' is not available in the sandbox`);
  }
}

/** Reads a number such as `2x512` or `1M`. */
function amountOf(text: string): number | undefined {
  return text.split(/x(?=\d)/).reduce<number | undefined>((product, part) => {
    const [, digits, unit = ""] = /^(\d+)([a-zA-Z]*)$/.exec(part) ?? [];
    const factor = UNITS[unit];
    return product === undefined || digits === undefined || factor === undefined
      ? undefined
      : product * Number(digits) * factor;
  }, 1);
}

function readInput({ from, inputBlock, count, skip }: Transfer, context: CommandContext): Uint8Array {
  const [start, length] = [skip * inputBlock, count === undefined ? Infinity : count * inputBlock];
  if (from !== undefined && /^\/dev\/(?:zero|u?random)$/.test(from)) {
    if (length > MAX_BYTES) fail(`'${from}' has no end, and files are in memory: state count=`);
    const bytes = new Uint8Array(length);
    for (let at = 0; from !== "/dev/zero" && at < length; at += RANDOM_BYTES) {
      crypto.getRandomValues(bytes.subarray(at, at + RANDOM_BYTES));
    }
    return bytes;
  }
  try {
    const bytes = from === undefined ? bytesOf(context.stdin) : context.files.read(pathOf(context.cwd, from));
    return bytes.subarray(start, start + length);
  } catch (error) {
    return fail(`failed to open '${unicodeText(from ?? "")}': ${errorText(error)}`);
  }
}

function convert(input: Uint8Array, { conversions, inputBlock }: Transfer): Uint8Array {
  let bytes = input;
  if (conversions.has("sync") && bytes.length % inputBlock !== 0) {
    bytes = new Uint8Array(Math.ceil(input.length / inputBlock) * inputBlock);
    bytes.set(input);
  }
  if (conversions.has("swab")) bytes = bytes.map((byte, at) => bytes[at ^ 1] ?? byte);
  const [from, to, change] = conversions.has("ucase") ? [97, 122, -32] : [65, 90, 32];
  if (!conversions.has("ucase") && !conversions.has("lcase")) return bytes;
  return bytes.map((byte) => byte >= from && byte <= to ? byte + change : byte);
}

function writeOutput(bytes: Uint8Array, transfer: Transfer, { files, cwd, print }: CommandContext): void {
  const { to, seek, outputBlock, conversions } = transfer;
  if (to === undefined) return print(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  const path = pathOf(cwd, to);
  const exists = statusOf(files, path) !== undefined;
  const refuse = (reason: string) => fail(`failed to open '${unicodeText(to)}': ${reason}`);
  if (conversions.has("excl") && exists) refuse("File exists");
  if (conversions.has("nocreat") && !exists) refuse("No such file or directory");
  try {
    const start = seek * outputBlock;
    const isKept = conversions.has("notrunc");
    const before = exists && (isKept || start > 0) ? files.read(path) : new Uint8Array();
    const length = Math.max(start + bytes.length, isKept ? before.length : 0);
    if (length > MAX_BYTES) refuse("File too large");
    const written = new Uint8Array(length);
    written.set(before.subarray(0, isKept ? before.length : start));
    written.set(bytes, start);
    files.write(path, written);
  } catch (error) {
    refuse(errorText(error));
  }
}

/** Returns a size with two digits, such as `1.0 MB` or `2.4 KiB`. */
function sizeText(bytes: number, base: 1000 | 1024): string {
  const names = base === 1000 ? ["B", "kB", "MB", "GB"] : ["B", "KiB", "MiB", "GiB"];
  let [value, at] = [bytes, 0];
  for (; value >= base && at < names.length - 1; at++) value /= base;
  if (bytes === 0) return "0.0 kB";
  return `${value < 10 && at > 0 ? value.toFixed(1) : String(Math.round(value))} ${names[at]}`;
}
