import type { z } from "zod";
import { errorMessage, SandboxError } from "../errors.ts";
import { readBytes } from "../http/request.ts";

/** Body of a response, in chunks. */
export type ResponseBody = AsyncIterable<Uint8Array<ArrayBuffer>>;

/** Maximum size of a response, which carries the output and the files of a program. */
const MAX_RESPONSE_BYTES = 512 * 1024 * 1024;
const SHOWN_CHARACTERS = 200;

/**
 * Reads the whole body of a response.
 *
 * @throws {SandboxError} if it has more than 512 MiB.
 */
export async function readBody(action: string, body: ResponseBody): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await readBytes(body, MAX_RESPONSE_BYTES);
  if (bytes !== null) return bytes;
  throw new SandboxError(
    `Cannot ${action} as the response must have at most ${MAX_RESPONSE_BYTES} bytes: found more`,
  );
}

/**
 * Reads a JSON response and validates it.
 *
 * @throws {SandboxError} if it does not match the schema.
 */
export async function readResponse<T>(action: string, body: ResponseBody, schema: z.ZodType<T>): Promise<T> {
  return parseResponse(action, new TextDecoder().decode(await readBody(action, body)), schema);
}

/**
 * Parses a JSON text and validates it. An empty text is `undefined`.
 *
 * @throws {SandboxError} if it does not match the schema.
 */
export function parseResponse<T>(action: string, text: string, schema: z.ZodType<T>): T {
  try {
    return schema.parse(text === "" ? undefined : JSON.parse(text));
  } catch (cause) {
    const reason = errorMessage(cause);
    const shown = reason.replace(/\s+/g, " ").slice(0, SHOWN_CHARACTERS);
    throw new SandboxError(`Cannot ${action} as the server's response does not match /v1: ${shown}`, {
      cause,
    });
  }
}
