import { bytesOf, type GnuCommand, readInputs, textOf } from "../command.ts";
import { fail, quoted } from "../files/operands.ts";
import { parseOptions } from "../options.ts";
import { UsageError } from "../command.ts";

const POLYNOMIAL = 0x04c11db7;
const TABLE = Array.from({ length: 256 }, (_, index) => {
  let value = index << 24;
  for (let bit = 0; bit < 8; bit++) value = value & 0x80000000 ? value << 1 ^ POLYNOMIAL : value << 1;
  return value >>> 0;
});

/** `cksum` of GNU coreutils 9.1, with the CRC of POSIX. */
export const cksum: GnuCommand = (args, context) => {
  const options = parseOptions(
    args,
    "a,algorithm=:c,check:l,length=:tag:untagged:z,zero:debug:quiet:status:strict:w,warn:ignore-missing",
  );
  if ((options.value("a") ?? "crc") !== "crc" || options.given.some(({ name }) => name !== "a")) {
    fail("only the CRC is available in the sandbox: use md5sum, sha1sum or sha256sum");
  }
  const { inputs, failed } = readInputs(options.operands, context);
  for (const { name, text } of inputs) {
    let sum = 0;
    const add = (byte: number) => sum = (sum << 8 ^ (TABLE[(sum >>> 24) ^ byte] ?? 0)) >>> 0;
    for (let at = 0; at < text.length; at++) add(text.charCodeAt(at));
    for (let left = text.length; left > 0; left = Math.floor(left / 256)) add(left % 256);
    context.print(`${(~sum) >>> 0} ${text.length}${options.operands.length > 0 ? ` ${name}` : ""}\n`);
  }
  return failed ? 1 : 0;
};

/** `sum` of GNU coreutils 9.1, with the algorithms of BSD and System V. */
export const sum: GnuCommand = (args, context) => {
  const options = parseOptions(args, "r:s,sysv");
  const { inputs, failed } = readInputs(options.operands, context);
  const isNamed = options.operands.length > 0;
  const isSystem = options.given.findLast(({ name }) => name === "r" || name === "s")?.name === "s";
  for (const { name, text } of inputs) {
    let total = 0;
    for (let at = 0; at < text.length; at++) {
      const byte = text.charCodeAt(at);
      total = isSystem ? (total + byte) >>> 0 : ((total >> 1) + ((total & 1) << 15) + byte) & 0xffff;
    }
    if (isSystem) {
      const folded = (total & 0xffff) + (total >>> 16);
      total = (folded & 0xffff) + (folded >>> 16);
      context.print(`${total} ${Math.ceil(text.length / 512)}${isNamed ? ` ${name}` : ""}\n`);
    } else {
      const blocks = String(Math.ceil(text.length / 1024)).padStart(5);
      context.print(`${String(total).padStart(5, "0")} ${blocks}${isNamed ? ` ${name}` : ""}\n`);
    }
  }
  return failed ? 1 : 0;
};

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** `base32` of GNU coreutils 9.1. */
export const base32: GnuCommand = (args, context) => {
  const options = parseOptions(args, "d,decode:i,ignore-garbage:w,wrap=");
  const [name, extra] = options.operands;
  if (extra !== undefined) throw new UsageError(`extra operand ${quoted(extra)}`);
  const { inputs: [input], failed } = readInputs(name === undefined ? [] : [name], context);
  if (failed || !input) return 1;
  if (!options.has("d")) {
    const wrap = options.value("w") ?? "76";
    if (!/^\d+$/.test(wrap)) fail(`invalid wrap size: '${wrap}'`);
    const text = encode(bytesOf(input.text));
    const width = Number(wrap);
    if (width === 0) context.print(text);
    else for (let at = 0; at < text.length; at += width) context.print(`${text.slice(at, at + width)}\n`);
    return 0;
  }
  const text = options.has("i") ? input.text.replace(/[^A-Z2-7=]/g, "") : input.text.replaceAll("\n", "");
  const [valid = ""] =
    /^(?:[A-Z2-7]{8})*(?:[A-Z2-7]{2}={6}|[A-Z2-7]{4}={4}|[A-Z2-7]{5}={3}|[A-Z2-7]{7}=)?/.exec(text) ?? [];
  context.print(textOf(decode(valid)));
  if (valid.length === text.length) return 0;
  context.warn("invalid input");
  return 1;
};

function encode(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 5) {
    const piece = bytes.subarray(at, at + 5);
    let value = 0n;
    for (let index = 0; index < 5; index++) value = value << 8n | BigInt(piece[index] ?? 0);
    const used = Math.ceil(piece.length * 8 / 5);
    for (let digit = 0; digit < 8; digit++) {
      text += digit < used ? DIGITS.charAt(Number(value >> BigInt(35 - 5 * digit) & 31n)) : "=";
    }
  }
  return text;
}

function decode(text: string): Uint8Array {
  const bytes: number[] = [];
  let [bits, value] = [0, 0];
  for (const sign of text.replaceAll("=", "")) {
    value = (value << 5 | DIGITS.indexOf(sign)) & 0xfff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes.push(value >> bits & 0xff);
    }
  }
  return Uint8Array.from(bytes);
}
