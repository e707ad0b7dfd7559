import type { z } from "zod";
import { errorMessage, SandboxError } from "../errors.ts";
import { readBytes } from "../http/request.ts";

/** What a server answers, piece by piece. */
export type AnswerBody = AsyncIterable<Uint8Array<ArrayBuffer>>;

/** An answer holds what a program may print and its files may hold; more is refused. */
const MAX_ANSWER_BYTES = 512 * 1024 * 1024;
const SHOWN_CHARACTERS = 200;

/**
 * All of an answer.
 *
 * @throws {SandboxError} when there is too much of it.
 */
export async function wholeBody(doing: string, body: AnswerBody): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await readBytes(body, MAX_ANSWER_BYTES);
  if (bytes !== null) return bytes;
  const most = `${MAX_ANSWER_BYTES} bytes`;
  throw new SandboxError(`Cannot ${doing} as the server must answer in ${most}: it has more`);
}

/**
 * An answer of JSON as what it must be.
 *
 * @throws {SandboxError} when it is something else.
 */
export async function checkedAnswer<T>(doing: string, body: AnswerBody, answer: z.ZodType<T>): Promise<T> {
  return checkedText(doing, new TextDecoder().decode(await wholeBody(doing, body)), answer);
}

/**
 * A text of JSON as what it must be; an empty one is `undefined`.
 *
 * @throws {SandboxError} when it is something else.
 */
export function checkedText<T>(doing: string, text: string, answer: z.ZodType<T>): T {
  try {
    return answer.parse(text === "" ? undefined : JSON.parse(text));
  } catch (cause) {
    const reason = errorMessage(cause);
    const shown = reason.replace(/\s+/g, " ").slice(0, SHOWN_CHARACTERS);
    throw new SandboxError(`Cannot ${doing} as the server's answer does not fit: ${shown}`, { cause });
  }
}
