/**
 * A message of a cluster: JSON with parts of bytes, such as files.
 *
 * | bytes | content                                         |
 * | ----- | ----------------------------------------------- |
 * | 4     | length of the head, little-endian               |
 * | n     | head: JSON, an object; `parts` has their sizes  |
 * | …     | the parts, in order                             |
 *
 * @module
 */
import * as z from "zod";
import { isJsonObject, type JsonLimits, parseUntrustedJson } from "../../json.ts";

/** Maximum size of a message, in bytes. The files of an exec have at most 64 MiB. */
export const MAX_MESSAGE_BYTES: number = 192 * 1024 * 1024;
const MAX_PARTS = 20_000;
const HEAD_LIMITS: JsonLimits = { depth: 80, values: 250_000 };

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });
const sizesSchema = z.array(z.int().nonnegative()).max(MAX_PARTS);

/** A message that was received. The head is not checked yet. */
export interface ReceivedMessage {
  readonly head: Readonly<Record<string, unknown>>;
  readonly parts: readonly Uint8Array[];
}

/** Bytes that are no message. */
export class MessageError extends Error {
  override readonly name = "MessageError";
}

/** Returns the bytes of a message. */
export function encodeMessage(head: object, parts: readonly Uint8Array[] = []): Uint8Array<ArrayBuffer> {
  const json = JSON.stringify(
    parts.length > 0 ? { ...head, parts: parts.map(({ length }) => length) } : head,
  );
  const text = encoder.encode(json);
  const length = parts.reduce((sum, part) => sum + part.length, 4 + text.length);
  const bytes = new Uint8Array(length);
  new DataView(bytes.buffer).setUint32(0, text.length, true);
  bytes.set(text, 4);
  let at = 4 + text.length;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/**
 * Reads a message. Parts are views of the bytes.
 *
 * @throws {MessageError} if the bytes are no message.
 */
export function decodeMessage(bytes: Uint8Array): ReceivedMessage {
  if (bytes.length < 4) throw new MessageError(`a message must have at least 4 bytes: found ${bytes.length}`);
  const headBytes = new DataView(bytes.buffer, bytes.byteOffset, bytes.length).getUint32(0, true);
  let at = 4 + headBytes;
  if (at > bytes.length) throw new MessageError("the head must end before the message");
  const { parts: listed = [], ...head } = parseHead(bytes.subarray(4, at));
  const sizes = sizesSchema.safeParse(listed);
  if (!sizes.success) throw new MessageError("'parts' must be a list of sizes");
  const parts = sizes.data.map((size) => bytes.subarray(at, at += size));
  if (at !== bytes.length) throw new MessageError("the parts must end with the message");
  return { head, parts };
}

function parseHead(bytes: Uint8Array): Record<string, unknown> {
  try {
    const head = parseUntrustedJson(decoder.decode(bytes), HEAD_LIMITS);
    if (isJsonObject(head)) return { ...head };
  } catch (cause) {
    throw new MessageError("the head must be JSON in UTF-8", { cause });
  }
  throw new MessageError("the head must be an object");
}
