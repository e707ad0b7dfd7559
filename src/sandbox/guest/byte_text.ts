import { defineGlobals } from "./realm.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const LATIN1 = new Set(["binary", "latin1", "ascii"]);
const PIECE = 8192;

/** Bytes as a text in one of the encodings that Node's buffers know; UTF-8 unless it is another. */
export function decode(bytes: Uint8Array, encoding: string): string {
  if (LATIN1.has(encoding)) return latin1(bytes);
  if (encoding === "base64") return bytes.toBase64();
  return encoding === "hex" ? bytes.toHex() : decoder.decode(bytes);
}

/** The bytes that {@linkcode decode} makes the text of. */
export function encode(text: string, encoding: string): Uint8Array {
  if (LATIN1.has(encoding)) return latin1Bytes(text);
  if (encoding === "base64") return Uint8Array.fromBase64(text);
  return encoding === "hex" ? Uint8Array.fromHex(text) : encoder.encode(text);
}

/** Bytes as the shell's pipes carry them: a text of which each character is one byte. */
export function latin1(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += PIECE) {
    text += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  }
  return text;
}

function latin1Bytes(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}

/** As much of Node's class as the shell's commands use. */
class ShellBuffer extends Uint8Array {
  override toString(encoding = "utf8"): string {
    return decode(this, encoding);
  }
}

defineGlobals({
  Buffer: {
    from: (value: string | Uint8Array, encoding = "utf8") =>
      new ShellBuffer(typeof value === "string" ? encode(value, encoding) : value),
  },
  atob: (text: string) => latin1(Uint8Array.fromBase64(text)),
  btoa: (text: string) => latin1Bytes(text).toBase64(),
});
