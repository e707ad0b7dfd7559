import { createParser } from "eventsource-parser";
import { RequestError } from "./request_error.ts";
import type { ExecOptions, ExecResult } from "../sandbox/contract/exec.ts";
import { displayEventSchema, outputEventSchema, requestErrorSchema } from "../wire/v1.ts";
import { callEventSchema, cancelEventSchema } from "../wire/v1_tools.ts";
import type { RunningCalls } from "./client_tools.ts";
import { type BodyChunks, execResponse, MAX_RESPONSE_BYTES, parseResponse } from "./responses.ts";
import { toRefusalError } from "./attempt.ts";

/** Event of a server. */
export interface ServerEvent {
  /** Type of the event; empty if it states none. */
  readonly name: string;
  readonly data: string;
}

/** Options of {@linkcode readOutput}. */
export interface ReadOutputOptions extends Pick<ExecOptions, "onOutput" | "onDisplay"> {
  /** Runs the program's calls of the client's tools. */
  readonly calls?: RunningCalls | undefined;
}

/**
 * Reads server-sent events: the output and the calls of a program, and its result as the last event.
 *
 * @throws {RequestError} if the events end without a result or are invalid.
 */
export async function readOutput(
  action: string,
  body: BodyChunks,
  { onOutput, onDisplay, calls }: ReadOutputOptions,
): Promise<ExecResult> {
  for await (const { name, data } of readEvents(action, body)) {
    if (name === "stdout" || name === "stderr") {
      await onOutput?.(name, parseResponse(action, data, outputEventSchema).text);
    } else if (name === "display") {
      await onDisplay?.(parseResponse(action, data, displayEventSchema).data);
    } else if (name === "call") calls?.start(parseResponse(action, data, callEventSchema));
    else if (name === "cancel") calls?.cancel(parseResponse(action, data, cancelEventSchema).callId);
    else if (name === "result") return parseResponse(action, data, execResponse);
    else if (name === "error") {
      throw toRefusalError(action, {
        status: "no result",
        ...parseResponse(action, data, requestErrorSchema),
      });
    }
  }
  throw new RequestError(`Cannot ${action} as the server's response ended before the result`, {
    code: "unreachable",
  });
}

/** Options of {@linkcode readEvents}. */
export interface ReadEventsOptions {
  /**
   * Maximum length of an event, in characters.
   *
   * @default MAX_RESPONSE_BYTES
   */
  maxCharacters?: number | undefined;
}

/**
 * Number of characters that are parsed at once. The parser searches a piece from each of its lines to its end for a
 * carriage return, so that long pieces of short lines would take quadratic time.
 */
const PIECE_CHARACTERS = 4_096;

/**
 * Parses a stream of server-sent events. An event without its empty line at the end is dropped.
 *
 * @throws {RequestError} if an event is too long or is not UTF-8.
 */
export async function* readEvents(
  action: string,
  body: AsyncIterable<Uint8Array<ArrayBuffer>>,
  { maxCharacters = MAX_RESPONSE_BYTES }: ReadEventsOptions = {},
): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const events: ServerEvent[] = [];
  let isTooLong = false;
  const parser = createParser({
    onEvent: ({ event: name = "", data }) => events.push({ name, data }),
    onError: ({ type }) => isTooLong ||= type === "max-buffer-size-exceeded", // unknown fields are ignored
    maxBufferSize: maxCharacters,
  });
  for await (const chunk of body) {
    const text = decode(action, () => decoder.decode(chunk, { stream: true }));
    for (let start = 0; start < text.length; start += PIECE_CHARACTERS) {
      parser.feed(text.slice(start, start + PIECE_CHARACTERS));
      if (isTooLong) {
        throw new RequestError(
          `Cannot ${action} as an event of the server must have at most ${maxCharacters} characters: it has more`,
          { code: "bad_response" },
        );
      }
      yield* events.splice(0);
    }
  }
  decode(action, () => decoder.decode());
}

function decode(action: string, read: () => string): string {
  try {
    return read();
  } catch (cause) {
    throw new RequestError(`Cannot ${action} as the server's response must be UTF-8: found an invalid byte`, {
      code: "bad_response",
      cause,
    });
  }
}
