import { encodeHex } from "@std/encoding";

/** The SHA-256 of bytes or of a text, in lower-case hex. */
export async function sha256(data: Uint8Array | string): Promise<string> {
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  const digest = await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>);
  return encodeHex(new Uint8Array(digest));
}
