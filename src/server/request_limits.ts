import { concat } from "@std/bytes";
import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "./app_env.ts";
import type { RequestLimits } from "./limits.ts";
import { ServerError } from "./server_error.ts";

/** Turns away what is too large, too deep or too slow, before anything reads it. */
export function requestLimits(limits: RequestLimits): MiddlewareHandler<AppEnv> {
  const held = new Held(limits.heldBytes);
  return async (c, next) => {
    const { raw } = c.req;
    if (headerBytes(raw.headers) > limits.headerBytes) {
      throw new ServerError("headers_too_large", `Headers must have at most ${limits.headerBytes} bytes`);
    }
    if (raw.body === null) return await next();
    if (raw.method === "TRACE") throw new ServerError("malformed", "The method is refused");
    const encoding = raw.headers.get("content-encoding") ?? "identity";
    if (encoding !== "identity") {
      throw new ServerError("unsupported", "A body must come as it is, without a content-encoding");
    }
    using room = held.room();
    const body = await readBody(raw.body, Number(raw.headers.get("content-length")), { ...limits, room });
    checkDepth(body, limits.depth);
    const { method, headers } = raw;
    c.req.raw = new Request(raw.url, { method, headers, body, signal: c.get("signal") });
    await next();
  };
}

function headerBytes(headers: Headers): number {
  let bytes = 0;
  for (const [name, value] of headers) bytes += name.length + value.length;
  return bytes;
}

/** What bodies take of the server together, until they are answered. */
class Held {
  readonly #most: number;
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Room for one body, which is free again when disposed. */
  room(): Room {
    let own = 0;
    return {
      take: (bytes) => {
        own += bytes;
        this.#bytes += bytes;
        if (this.#bytes <= this.#most) return;
        throw new ServerError("busy", "The server holds too many bodies", { retryAfter: 1 });
      },
      [Symbol.dispose]: () => void (this.#bytes -= own),
    };
  }
}

interface Room extends Disposable {
  /** Takes as many bytes, or throws. */
  take(bytes: number): void;
}

async function readBody(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  announced: number,
  { bodyBytes, bodyMs, room }: RequestLimits & { room: Room },
): Promise<Uint8Array<ArrayBuffer>> {
  const tooLarge = () => new ServerError("too_large", `A body must have at most ${bodyBytes} bytes`);
  const reader = stream.getReader();
  const timer = setTimeout(() => reader.cancel(), bodyMs);
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  const startedAt = performance.now();
  try {
    if (announced > bodyBytes) throw tooLarge();
    const next = () => reader.read().catch(cutShort);
    for (let piece = await next(); !piece.done; piece = await next()) {
      bytes += piece.value.length;
      if (bytes > bodyBytes) throw tooLarge();
      room.take(piece.value.length);
      pieces.push(piece.value);
    }
  } finally {
    clearTimeout(timer);
    await reader.cancel().catch(() => {}); // whoever sent it may have gone
  }
  if (performance.now() - startedAt >= bodyMs) {
    throw new ServerError("too_slow", `The body must be there within ${bodyMs} ms`);
  }
  return concat(pieces);
}

function cutShort(cause: unknown): never {
  throw new ServerError("malformed", "The body must come as its headers say", { cause });
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
