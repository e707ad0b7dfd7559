import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { DISCARD_MS, MAX_DISCARDED_BYTES, MAX_HEADERS } from "../limits.ts";
import type { BodyReader } from "./context.ts";
import { ServerError } from "./http_errors.ts";
import { AT_ONCE_BYTES, isStream, RESPONSE_CHUNK_BYTES } from "./response_stream.ts";

/** Base of URLs. The header `Host` is not part of the base, since a client can write any text there. */
const ORIGIN = "http://localhost";

/**
 * Returns a request of `node:http` as a `Request`. The `Request` has the head at once; the body is only read through
 * the `Request` if a method asks for the body, since {@linkcode bodyReader} costs less.
 */
export function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request {
  return new IncomingRequest(incoming, signal) as unknown as Request;
}

class IncomingRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly signal: AbortSignal;
  readonly #incoming: IncomingMessage;
  #request: Request | undefined;

  constructor(incoming: IncomingMessage, signal: AbortSignal) {
    this.#incoming = incoming;
    this.method = incoming.method ?? "";
    this.url = toUrl(incoming.url ?? "/");
    this.headers = new Headers(incoming.headers as Record<string, string>);
    this.signal = signal;
  }

  get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    return hasBody(this.#incoming) ? this.#whole.body : null;
  }
  get bodyUsed(): boolean {
    return this.#request?.bodyUsed ?? false;
  }
  arrayBuffer(): Promise<ArrayBuffer> {
    return this.#whole.arrayBuffer();
  }
  blob(): Promise<Blob> {
    return this.#whole.blob();
  }
  bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#whole.bytes();
  }
  clone(): Request {
    return this.#whole.clone();
  }
  formData(): Promise<FormData> {
    return this.#whole.formData();
  }
  json(): Promise<unknown> {
    return this.#whole.json();
  }
  text(): Promise<string> {
    return this.#whole.text();
  }

  get #whole(): Request {
    const { method, url, headers, signal } = this;
    const body = hasBody(this.#incoming) ? Readable.toWeb(this.#incoming) as ReadableStream : null;
    this.#request ??= new Request(url, { method, headers, signal, body });
    return this.#request;
  }
}

/** Returns the URL of a request target: a path, or the whole URL that a client sends to a proxy. */
function toUrl(target: string): string {
  if (target.startsWith("/")) return ORIGIN + target;
  const { pathname, search } = URL.parse(target) ?? { pathname: "/", search: "" };
  return ORIGIN + pathname + search;
}

/**
 * Returns the reason why the headers of a request are refused: there are too many (`headers_too_large`), or several
 * are `Host` (`malformed`, RFC 9112). The handler cannot see either, since `node:http` drops such headers.
 */
export function findHeaderFault({ rawHeaders }: IncomingMessage): ServerError | undefined {
  const names = rawHeaders.filter((_, at) => at % 2 === 0);
  if (names.length > MAX_HEADERS) {
    return new ServerError("headers_too_large", `A request must have at most ${MAX_HEADERS} headers`);
  }
  const hosts = names.filter((name) => name.toLowerCase() === "host").length;
  if (hosts <= 1) return undefined;
  return new ServerError("malformed", `A request must have one header 'Host': found ${hosts}`);
}

/** True if a request has a body, which may be empty. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** Returns the function that reads the body of a request. */
export function bodyReader(incoming: IncomingMessage, outgoing: ServerResponse): BodyReader {
  return async (onPiece, signal) => {
    if (incoming.headers.expect !== undefined && !incoming.complete) outgoing.writeContinue();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onData = (piece: Uint8Array<ArrayBuffer>) => {
      try {
        onPiece(piece);
      } catch (error) {
        reject(error);
      }
    };
    const onAbort = () => resolve();
    const onClose = () => {
      if (incoming.readableEnded) return; // each body closes at once after the end
      reject(new DOMException("The client has disconnected", "AbortError"));
    };
    signal.addEventListener("abort", onAbort);
    incoming.on("data", onData).once("end", resolve).once("close", onClose);
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
      incoming.off("data", onData).off("end", resolve).off("close", onClose).pause();
    }
  };
}

/**
 * Reads the rest of a body that no route has read. Returns true if the body ends soon, and the connection can be used
 * again.
 */
export async function discardBody(incoming: IncomingMessage): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, DISCARD_MS);
  let bytes = 0;
  incoming.on("data", (piece: Uint8Array) => {
    bytes += piece.length;
    if (bytes > MAX_DISCARDED_BYTES) resolve();
  });
  incoming.once("end", resolve).once("close", resolve);
  await promise;
  clearTimeout(timer);
  incoming.pause();
  return incoming.complete;
}

/**
 * Sends a response, and reads the body as fast as the client does. Closes the connection of a client that takes longer
 * than `readMs` to read a chunk: such a client could make the server hold a response without end. A stream that has no
 * data to read may pause.
 *
 * @throws the error of the response's body.
 */
export async function sendResponse(
  response: Response,
  outgoing: ServerResponse,
  readMs: number,
): Promise<void> {
  const { body, status, headers } = response;
  const length = headers.get("content-length");
  const isPiped = body !== null && (isStream(response) || Number(length) > AT_ONCE_BYTES);
  const bytes = body === null || isPiped ? undefined : await response.bytes();
  if (bytes && length === null) headers.set("content-length", String(bytes.length));
  outgoing.writeHead(status, [...headers].flat());
  if (isPiped) await writeStream(body, outgoing, readMs);
  if (outgoing.destroyed) return;
  const sent = untilEvent(outgoing, "finish", readMs);
  // `node:http` joins a text with the head, which saves a system call; each character of Latin-1 is a byte.
  outgoing.end(bytes && toLatin1(bytes), "latin1");
  await sent;
}

function toLatin1({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString("latin1");
}

async function writeStream(
  body: ReadableStream<Uint8Array>,
  outgoing: ServerResponse,
  readMs: number,
): Promise<void> {
  const reader = body.getReader();
  const onClose = () => void reader.cancel().catch(() => {}); // the client has disconnected and reads no error
  outgoing.once("close", onClose);
  if (outgoing.destroyed) onClose();
  outgoing.flushHeaders();
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    for (let start = 0; start < piece.value.length && !outgoing.destroyed; start += RESPONSE_CHUNK_BYTES) {
      const drained = outgoing.write(piece.value.subarray(start, start + RESPONSE_CHUNK_BYTES));
      if (!drained) await untilEvent(outgoing, "drain", readMs);
    }
  }
  outgoing.off("close", onClose);
}

/** Waits for an event, or until the connection is closed, at the latest after `ms`. */
async function untilEvent(outgoing: ServerResponse, event: "drain" | "finish", ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(() => outgoing.destroy(), ms);
  outgoing.once(event, resolve).once("close", resolve);
  await promise;
  clearTimeout(timer);
  outgoing.off(event, resolve).off("close", resolve);
}
