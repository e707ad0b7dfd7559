import { concat } from "@std/bytes";
import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "./context.ts";
import { checkJsonLimits, JsonLimitError } from "../../json.ts";
import type { RequestLimits } from "../limits.ts";
import { ServerError } from "./errors.ts";

/** Methods of routes. */
export const METHODS: readonly string[] = ["GET", "POST", "DELETE"];

/** Refuses requests that are too large, too deeply nested or too slow, before a route reads them. */
export function requestLimits(limits: RequestLimits): MiddlewareHandler<AppEnv> {
  const memory = new BodyMemory(limits.heldBytes);
  return async (c, next) => {
    const { raw } = c.req;
    if (headerBytes(raw.headers) > limits.headerBytes) {
      throw new ServerError("headers_too_large", `Headers must have at most ${limits.headerBytes} bytes`);
    }
    if (raw.method === "TRACE") {
      throw new ServerError("method_not_allowed", "The method TRACE is refused", { allow: METHODS });
    }
    if (raw.body === null) return await next();
    const encoding = raw.headers.get("content-encoding") ?? "identity";
    if (encoding !== "identity") {
      throw new ServerError("unsupported", "A body must have no content-encoding");
    }
    using reservation = memory.reserve();
    const body = await readBody(raw.body, Number(raw.headers.get("content-length")), {
      ...limits,
      reservation,
    });
    checkJson(body, limits);
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

/** Memory of all request bodies until their responses. */
class BodyMemory {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Returns a reservation for one body. Disposing it frees the memory. */
  reserve(): Reservation {
    let own = 0;
    return {
      take: (bytes) => {
        own += bytes;
        this.#bytes += bytes;
        if (this.#bytes <= this.#maxBytes) return;
        throw new ServerError("busy", "The server holds too many request bodies", { retryAfter: 1 });
      },
      [Symbol.dispose]: () => void (this.#bytes -= own),
    };
  }
}

interface Reservation extends Disposable {
  /** Adds bytes to the reservation; throws if the limit is exceeded. */
  take(bytes: number): void;
}

async function readBody(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  announced: number,
  { bodyBytes, bodyMs, reservation }: RequestLimits & { reservation: Reservation },
): Promise<Uint8Array<ArrayBuffer>> {
  const tooLarge = () => new ServerError("too_large", `A body must have at most ${bodyBytes} bytes`);
  const reader = stream.getReader();
  const timer = setTimeout(() => reader.cancel(), bodyMs);
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  const startedAt = performance.now();
  try {
    if (announced > bodyBytes) throw tooLarge();
    const next = () => reader.read().catch(throwIncomplete);
    for (let piece = await next(); !piece.done; piece = await next()) {
      bytes += piece.value.length;
      if (bytes > bodyBytes) throw tooLarge();
      reservation.take(piece.value.length);
      pieces.push(piece.value);
    }
  } finally {
    clearTimeout(timer);
    await reader.cancel().catch(() => {}); // the client may have disconnected
  }
  if (performance.now() - startedAt >= bodyMs) {
    throw new ServerError("too_slow", `The body must arrive within ${bodyMs} ms`);
  }
  return concat(pieces);
}

function throwIncomplete(cause: unknown): never {
  throw new ServerError("malformed", "The body must be complete, as its headers announce it", { cause });
}

function checkJson(body: Uint8Array, limits: RequestLimits): void {
  try {
    checkJsonLimits(body, limits);
  } catch (error) {
    if (error instanceof JsonLimitError) throw new ServerError("malformed", error.message);
    throw error;
  }
}
