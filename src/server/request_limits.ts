import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "./app_env.ts";
import { ServerError } from "./server_error.ts";

/** What a request may be. */
export interface RequestLimits {
  bodyBytes: number;
  /** Names and values together. */
  headerBytes: number;
  /** Brackets of JSON inside of one another. */
  depth: number;
  /** Milliseconds until the whole body must be there. */
  bodyMs: number;
}

/** The limits unless others are given. */
export const REQUEST_LIMITS: RequestLimits = {
  bodyBytes: 32 * 1024 * 1024,
  headerBytes: 16 * 1024,
  depth: 64,
  bodyMs: 30_000,
};

/** Turns away what is too large, too deep or too slow, before anything reads it. */
export function requestLimits(limits: RequestLimits): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const { raw } = c.req;
    const headerBytes = [...raw.headers].reduce((sum, [name, value]) => sum + name.length + value.length, 0);
    if (headerBytes > limits.headerBytes) {
      throw new ServerError("headers_too_large", `Headers must have at most ${limits.headerBytes} bytes`);
    }
    if (raw.body !== null) {
      const body = await readBody(raw.body, Number(raw.headers.get("content-length")), limits);
      checkDepth(body, limits.depth);
      c.req.raw = new Request(raw.url, {
        method: raw.method,
        headers: raw.headers,
        body,
        signal: c.get("signal"),
      });
    }
    await next();
  };
}

async function readBody(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  announced: number,
  { bodyBytes, bodyMs }: RequestLimits,
): Promise<Uint8Array<ArrayBuffer>> {
  const tooLarge = new ServerError("too_large", `A body must have at most ${bodyBytes} bytes`);
  const reader = stream.getReader();
  const timer = setTimeout(() => reader.cancel(), bodyMs);
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  const startedAt = performance.now();
  try {
    if (announced > bodyBytes) throw tooLarge;
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      bytes += piece.value.length;
      if (bytes > bodyBytes) throw tooLarge;
      pieces.push(piece.value);
    }
  } finally {
    clearTimeout(timer);
    await reader.cancel().catch(() => {}); // whoever sent it may have gone
  }
  if (performance.now() - startedAt >= bodyMs) {
    throw new ServerError("too_slow", `The body must be there within ${bodyMs} ms`);
  }
  return await new Blob(pieces).bytes();
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** Throws when brackets lie too deep; what is no JSON is refused by whoever parses it. */
function checkDepth(body: Uint8Array, most: number): void {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < body.length; at++) {
    const byte = body[at] ?? 0;
    if (quoted && byte === BACKSLASH) at++;
    else if (byte === QUOTE) quoted = !quoted;
    else if (quoted) continue;
    else if (OPENING.has(byte) && ++depth > most) {
      throw new ServerError("malformed", `JSON must be at most ${most} levels deep`);
    } else if (CLOSING.has(byte)) depth--;
  }
}
