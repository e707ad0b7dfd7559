import type { MiddlewareHandler } from "hono";
import { jsonLength } from "../../json.ts";
import { rawNumberText } from "../../numbers/exact_numbers.ts";
import type { AppEnv } from "./context.ts";
import { cutAt } from "./response_stream.ts";

/** Characters of JSON above which a value is serialized in pieces. */
const LARGE_CHARACTERS = 256 * 1024;
/** Characters for each value, so that a list of many small values is serialized in pieces too. */
const CHARACTERS_PER_VALUE = 8;
/** Characters of a piece. V8 collects longer texts with all of the heap, which takes longer. */
const PIECE_CHARACTERS = 32 * 1024;
/** Characters after which other requests have their turn. */
const TURN_CHARACTERS = 1024 * 1024;

/**
 * Serializes large JSON responses in pieces, between which the server handles other requests: 70 MB of the output of
 * programs in a single piece take half a second.
 */
export function largeJson(): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const { json } = c;
    const inPieces = (value: unknown, status?: unknown, headers?: unknown) =>
      isLarge(value)
        ? c.body(toStream(value), status as never, {
          ...headers as object,
          "content-type": "application/json",
        })
        : json(value as never, status as never, headers as never);
    c.json = inPieces as typeof json;
    await next();
  };
}

function isLarge(value: unknown): boolean {
  const length = jsonLength(value, { most: LARGE_CHARACTERS, perValue: CHARACTERS_PER_VALUE });
  return length > LARGE_CHARACTERS;
}

function toStream(value: unknown): ReadableStream<Uint8Array<ArrayBuffer>> {
  return ReadableStream.from(jsonPieces(value));
}

/** Yields the bytes of `JSON.stringify(value)` in pieces. Other tasks have their turn between some of them. */
export async function* jsonPieces(value: unknown): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  let texts: string[] = [];
  let characters = 0;
  let sinceTurn = 0;
  for (const text of jsonTexts(value)) {
    texts.push(text);
    characters += text.length;
    if (characters < PIECE_CHARACTERS) continue;
    yield encoder.encode(texts.join(""));
    sinceTurn += characters;
    texts = [];
    characters = 0;
    if (sinceTurn < TURN_CHARACTERS) continue;
    await new Promise((resolve) => setTimeout(resolve));
    sinceTurn = 0;
  }
  if (characters > 0) yield encoder.encode(texts.join(""));
}

/** Yields parts of a JSON text. A value that is small, or that serializes itself, is a single part. */
function* jsonTexts(value: unknown): Generator<string> {
  if (typeof value === "string") yield* stringTexts(value);
  else if (!isContainer(value) || !isLarge(value)) yield JSON.stringify(value) ?? "null";
  else if (Array.isArray(value)) yield* listTexts(value);
  else yield* objectTexts(value);
}

function* stringTexts(text: string): Generator<string> {
  if (text.length <= PIECE_CHARACTERS) return yield JSON.stringify(text);
  yield '"';
  for (let at = 0; at < text.length;) {
    const end = cutAt(text, at + PIECE_CHARACTERS);
    yield JSON.stringify(text.slice(at, end)).slice(1, -1);
    at = end;
  }
  yield '"';
}

function* listTexts(list: readonly unknown[]): Generator<string> {
  yield "[";
  for (const [index, item] of list.entries()) {
    if (index > 0) yield ",";
    yield* jsonTexts(item);
  }
  yield "]";
}

function* objectTexts(object: object): Generator<string> {
  yield "{";
  let separator = "";
  for (const [key, member] of Object.entries(object)) {
    if (member === undefined || typeof member === "function" || typeof member === "symbol") continue;
    yield `${separator}${JSON.stringify(key)}:`;
    yield* jsonTexts(member);
    separator = ",";
  }
  yield "}";
}

/** True for a list or an object with parts that are serialized in turn. */
function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null && !("toJSON" in value) &&
    rawNumberText(value) === undefined;
}
