import { concat } from "@std/bytes";
import type { MiddlewareHandler } from "hono";
import type { AppContext, AppEnv } from "./context.ts";
import { checkJsonLimits, JsonLimitError } from "../../json.ts";
import type { Budget, BudgetLease } from "../budget.ts";
import { DISCARD_MS, MAX_DISCARDED_BYTES, MEMORY_PER_BYTE, type RequestLimits } from "../limits.ts";
import { ServerError } from "./errors.ts";
import { toHeldResponse } from "./response_stream.ts";

/** Methods of routes. */
export const METHODS: readonly string[] = ["GET", "POST", "DELETE"];

/** Options of {@linkcode requestLimits}. */
export interface RequestLimitsOptions {
  /**
   * True to read each response as a whole, except streams of events and lines, and to count its bytes; false to send
   * all responses as they are written.
   *
   * @default true
   */
  readonly measured?: boolean | undefined;
}

/**
 * Refuses requests that are too large, too deeply nested or too slow, before a route reads them. The body and the
 * response count as waiting data of the owner until the client has read the response.
 */
export function requestLimits(
  limits: RequestLimits,
  waiting: Budget,
  { measured = true }: RequestLimitsOptions = {},
): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const { raw } = c.req;
    if (headerBytes(raw.headers) > limits.headerBytes) {
      throw new ServerError("headers_too_large", `Headers must have at most ${limits.headerBytes} bytes`);
    }
    if (raw.method === "TRACE") {
      throw new ServerError("method_not_allowed", "The method TRACE is refused", { allow: METHODS });
    }
    c.set("memory", waiting.account(c.get("owner")));
    const lease = waiting.take(c.get("owner"), 0);
    try {
      if (raw.body !== null) c.req.raw = await readRequest(c, { ...limits, lease });
      if (c.get("isAuthenticated")) c.env?.accept?.();
      await next();
      const response = await toHeldResponse(c.res, { lease, measured });
      if (response === c.res) return;
      c.res = undefined; // otherwise the headers of both are merged
      c.res = response;
    } catch (error) {
      lease[Symbol.dispose]();
      throw error;
    }
  };
}

async function readRequest(
  c: AppContext,
  limits: RequestLimits & { lease: BudgetLease },
): Promise<Request> {
  const { raw } = c.req;
  const encoding = raw.headers.get("content-encoding") ?? "identity";
  if (encoding !== "identity") {
    throw new ServerError("unsupported", "A body must have no content-encoding");
  }
  const body = await readBody(
    raw.body ?? new ReadableStream(),
    Number(raw.headers.get("content-length")),
    limits,
  );
  checkJson(body, limits);
  const { method, headers } = raw;
  return new Request(raw.url, { method, headers, body, signal: c.get("signal") });
}

function headerBytes(headers: Headers): number {
  let bytes = 0;
  for (const [name, value] of headers) bytes += name.length + value.length;
  return bytes;
}

async function readBody(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  announced: number,
  { bodyBytes, bodyMs, lease }: RequestLimits & { lease: BudgetLease },
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
      lease.grow(MEMORY_PER_BYTE * piece.value.length);
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

/** Reads the body of a refused request. Returns true if its end arrived soon. */
export async function discardBody(body: ReadableStream<Uint8Array>): Promise<boolean> {
  const reader = body.getReader();
  const timer = setTimeout(() => reader.cancel(), DISCARD_MS);
  const startedAt = performance.now();
  let bytes = 0;
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      bytes += piece.value.length;
      if (bytes <= MAX_DISCARDED_BYTES) continue;
      await reader.cancel();
      return false;
    }
    return performance.now() - startedAt < DISCARD_MS;
  } catch {
    return false; // the client has disconnected
  } finally {
    clearTimeout(timer);
  }
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
