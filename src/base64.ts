import { decodeBase64, encodeBase64 } from "@std/encoding";

/** Returns bytes as base64. Node before 25 lacks the fast method. */
export function toBase64(bytes: Uint8Array): string {
  return "toBase64" in bytes ? bytes.toBase64() : encodeBase64(bytes);
}

/** Returns the bytes of base64. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return "fromBase64" in Uint8Array ? Uint8Array.fromBase64(text) : decodeBase64(text);
}
