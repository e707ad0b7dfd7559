import { concat } from "@std/bytes";
import type { MiddlewareHandler } from "hono";
import type { AppContext, AppEnv, BodyReader } from "./context.ts";
import { checkJsonLimits, JsonLimitError, JsonMeter } from "../../json.ts";
import type { Budget, BudgetLease } from "../admission/budget.ts";
import { MEMORY_PER_BYTE, type RequestLimits } from "../limits.ts";
import { ServerError } from "./http_errors.ts";
import { toHeldResponse } from "./response_stream.ts";
import { UnreadResponses } from "./unread_responses.ts";

/** Methods of routes. */
export const METHODS: readonly string[] = ["GET", "POST", "DELETE"];

/** Options of {@linkcode requestLimits}. */
export interface RequestLimitsOptions {
  /**
   * True to read each response as a whole, except streams of events and lines, and to count the bytes; false to send
   * all responses as they are written.
   *
   * @default true
   */
  readonly measured?: boolean | undefined;
  /**
   * Budget of the requests without a token, so that they take nothing from requests with a token.
   *
   * @default `waiting`
   */
  readonly open?: Budget | undefined;
  /** Responses that clients have not read. @default the responses of this middleware alone, with the shipped limits */
  readonly unread?: UnreadResponses | undefined;
}

/**
 * Refuses requests that are too large, too deeply nested or too slow, before a route reads them. The body and the
 * response count as waiting data of the owner until the client has read the response. Clients that do not read are
 * disconnected when the owner has too many of them.
 */
export function requestLimits(
  limits: RequestLimits,
  waiting: Budget,
  { measured = true, open = waiting, unread = new UnreadResponses() }: RequestLimitsOptions = {},
): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const { raw } = c.req;
    if (headerBytes(raw.headers) > limits.headerBytes) {
      throw new ServerError("headers_too_large", `Headers must have at most ${limits.headerBytes} bytes`);
    }
    if (raw.method === "TRACE") {
      throw new ServerError("method_not_allowed", "The method TRACE is refused", { allow: METHODS });
    }
    const budget = c.get("isAuthenticated") ? waiting : open;
    c.set("memory", budget.account(c.get("owner")));
    const lease = budget.take(c.get("owner"), 0);
    try {
      await cacheBody(c, { ...limits, lease });
      if (c.get("isAuthenticated")) c.env?.accept?.();
      await next();
      const disconnect = c.env?.disconnect;
      const response = await toHeldResponse(c.res, {
        lease,
        measured: measured && !c.get("isCounted"),
        wait: (bytes) => disconnect && unread.add(c.get("owner"), { bytes, disconnect }),
      });
      if (response === c.res) return;
      c.res = undefined; // otherwise the headers of both are merged
      c.res = response;
    } catch (error) {
      lease[Symbol.dispose]();
      throw error;
    }
  };
}

/** Reads the body for the methods of `c.req`. The methods of `c.req.raw` cannot read the body afterwards. */
async function cacheBody(c: AppContext, limits: RequestLimits & { lease: BudgetLease }): Promise<void> {
  const { headers } = c.req.raw;
  const read = c.env?.readBody ?? streamReader(c.req.raw.body);
  if (read === undefined) {
    return setBody(c, new ArrayBuffer(0));
  }
  const isRaw = RAW_BODIES.test(c.req.path);
  if (!ENCODED_BODIES.test(c.req.path) && (headers.get("content-encoding") ?? "identity") !== "identity") {
    throw new ServerError("unsupported", "A body must have no content-encoding");
  }
  const meter = isRaw ? undefined : new JsonMeter(limits);
  const body = await readBody(read, Number(headers.get("content-length")), { ...limits, meter });
  if (isRaw) {
    for (const text of jsonTexts(body, headers.get("content-type") ?? "")) {
      refuseLimits(() => checkJsonLimits(text, limits));
    }
  }
  setBody(c, body.buffer);
}

/** Paths of E2B's clients with bodies that may be encoded: files, and messages of bounded size. */
const ENCODED_BODIES = /^\/(files$|(filesystem\.Filesystem|process\.Process)\/)/;
/** Paths with bodies that may be no JSON: the paths above, and checkpoints. */
const RAW_BODIES = /^\/(files$|v1\/checkpoints$|(filesystem\.Filesystem|process\.Process)\/)/;

/** Yields the JSON texts of a raw body: the body, or each message of a stream after the head of five bytes. */
function* jsonTexts(body: Uint8Array, type: string): Generator<Uint8Array> {
  if (/^application\/json\b/i.test(type)) yield body;
  if (!/^application\/connect\+json\b/i.test(type)) return;
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  for (let at = 0; at + 5 <= body.length;) {
    const end = at + 5 + view.getUint32(at + 1);
    yield body.subarray(at + 5, end);
    at = end;
  }
}

function setBody({ req }: AppContext, body: ArrayBuffer): void {
  req.bodyCache = new CachedBody(body) as unknown as typeof req.bodyCache; // the cache holds promises, against the cache's type
}

/** A body for the methods of `c.req`. Hono itself copies a cached body once more before decoding the text. */
class CachedBody {
  readonly arrayBuffer: Promise<ArrayBuffer>;
  readonly #body: ArrayBuffer;
  #text: Promise<string> | undefined;

  constructor(body: ArrayBuffer) {
    this.#body = body;
    this.arrayBuffer = Promise.resolve(body);
  }

  get text(): Promise<string> {
    return this.#text ??= Promise.resolve(new TextDecoder().decode(this.#body));
  }

  set text(text: Promise<string>) {
    this.#text = text;
  }
}

function headerBytes(headers: Headers): number {
  let bytes = 0;
  for (const [name, value] of headers) bytes += name.length + value.length;
  return bytes;
}

/** Returns the function that reads a stream; `undefined` if there is none. */
function streamReader(stream: ReadableStream<Uint8Array<ArrayBuffer>> | null): BodyReader | undefined {
  if (stream === null) return undefined;
  return async (onPiece, signal) => {
    const reader = stream.getReader();
    const onAbort = () => void reader.cancel().catch(() => {}); // the read fails
    signal.addEventListener("abort", onAbort);
    try {
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) onPiece(piece.value);
    } finally {
      signal.removeEventListener("abort", onAbort);
      onAbort();
    }
  };
}

/** Reads a body, and counts the JSON on arrival: to count all of a large body at once holds up other requests. */
async function readBody(
  read: BodyReader,
  announced: number,
  { bodyBytes, bodyMs, lease, meter }: RequestLimits & { lease: BudgetLease; meter: JsonMeter | undefined },
): Promise<Uint8Array<ArrayBuffer>> {
  const tooLarge = () => new ServerError("too_large", `A body must have at most ${bodyBytes} bytes`);
  if (announced > bodyBytes) throw tooLarge();
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), bodyMs);
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  const onPiece = (piece: Uint8Array<ArrayBuffer>) => {
    bytes += piece.length;
    if (bytes > bodyBytes) throw tooLarge();
    lease.grow(MEMORY_PER_BYTE * piece.length);
    refuseLimits(() => meter?.push(piece));
    pieces.push(piece);
  };
  try {
    await read(onPiece, late.signal).catch(throwIncomplete);
  } finally {
    clearTimeout(timer);
  }
  if (late.signal.aborted) throw new ServerError("too_slow", `The body must arrive within ${bodyMs} ms`);
  return concat(pieces);
}

function throwIncomplete(cause: unknown): never {
  if (cause instanceof ServerError) throw cause;
  throw new ServerError("malformed", "The body must be complete, as its headers announce it", { cause });
}

/** Reports JSON that exceeds a limit as a malformed request. */
function refuseLimits(check: () => void): void {
  try {
    check();
  } catch (error) {
    if (error instanceof JsonLimitError) throw new ServerError("malformed", error.message);
    throw error;
  }
}
