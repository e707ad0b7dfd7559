import { StreamableHTTPClientTransport } from "./sdk.ts";
import type { JSONRPCMessage, MessageExtraInfo, RequestId } from "./sdk.ts";
import { concat } from "@std/bytes";
import { type MessageMeter, requireJsonLimits, requireLength } from "./message_limits.ts";
import { readMessages, toFailure } from "./message_reader.ts";
import type { McpUrl } from "./mcp_server.ts";

type Deliver = (message: JSONRPCMessage, extra?: MessageExtraInfo) => void;

/**
 * The Model Context Protocol over streamable HTTP. The transport closes the connection when a response, or an event
 * of a stream, exceeds a limit of messages, or when the server sends too many messages. An unreadable response fails the
 * call.
 */
export class HttpTransport extends StreamableHTTPClientTransport {
  /** Limit that the server exceeded, for which the connection was closed. */
  exceededLimit: Error | undefined;

  constructor({ url, headers }: McpUrl, meter: MessageMeter) {
    super(new URL(url), {
      requestInit: { headers: { ...headers } },
      fetch: async (input, init) => this.#limitResponse(await fetch(input, init), requestIdOf(init?.body)),
    });
    this.#countMessages(meter);
  }

  /** Text that may explain a failure; empty if there is none. */
  get diagnostics(): string {
    return this.exceededLimit?.message ?? "";
  }

  /** Counts each message before the delivery. `onmessage` is a field of the base class. */
  #countMessages(meter: MessageMeter): void {
    let deliver: Deliver | undefined;
    Object.defineProperty(this, "onmessage", {
      get: () => deliver,
      set: (handler: Deliver | undefined) => {
        deliver = handler && ((message, extra) => {
          if (this.exceededLimit !== undefined) return;
          try {
            meter.count(message);
          } catch (error) {
            return this.#end(error);
          }
          handler(message, extra);
        });
      },
    });
  }

  /** @param id id of the request, if the response answers a request */
  #limitResponse(response: Response, id: RequestId | undefined): Response {
    if (response.body === null) return response;
    const type = response.headers.get("content-type") ?? "";
    const rewrite = (text: string) => rewriteMessage(text, id);
    const splitter = type.startsWith("text/event-stream")
      ? new EventSplitter(rewrite)
      : new BodySplitter(response.ok && type.startsWith("application/json") ? rewrite : undefined);
    const body = response.body.pipeThrough(
      new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
        transform: (chunk, controller) => this.#guard(() => splitter.push(chunk), controller),
        flush: (controller) => this.#guard(() => splitter.end(), controller),
      }),
    );
    return new Response(body, response);
  }

  /** Passes on complete messages, or closes the connection. */
  #guard(
    read: () => Uint8Array<ArrayBuffer>[],
    controller: TransformStreamDefaultController<Uint8Array<ArrayBuffer>>,
  ): void {
    try {
      for (const message of read()) controller.enqueue(message);
    } catch (error) {
      controller.error(error);
      this.#end(error);
    }
  }

  #end(error: unknown): void {
    this.exceededLimit ??= error instanceof Error ? error : new Error(String(error));
    this.close().catch(() => {}); // the connection is closed already
  }
}

/** Returns the id of a request's body, or `undefined` if the body is a notification or none. */
function requestIdOf(body: unknown): RequestId | undefined {
  if (typeof body !== "string") return undefined;
  const { id } = Object(JSON.parse(body));
  return id;
}

type Rewrite = (text: string) => string;

/**
 * Returns the text of a message in a form that the MCP library can read: see {@linkcode readMessages}.
 *
 * @param id id of the request, for a response without a readable id
 */
function rewriteMessage(text: string, id: RequestId | undefined): string {
  const read = readMessages(text);
  if (read.kind === "messages") {
    return JSON.stringify(read.messages.length > 1 ? read.messages : read.messages[0]);
  }
  const answered = read.kind === "unreadable" ? read.id ?? id : undefined;
  if (read.kind !== "unreadable" || answered === undefined) return text;
  return JSON.stringify(toFailure(answered, read.fault));
}

const encoder = new TextEncoder();

/** Collects a body that is a single message. */
class BodySplitter {
  readonly #rewrite: Rewrite | undefined;
  #chunks: Uint8Array<ArrayBuffer>[] = [];
  #length = 0;

  constructor(rewrite: Rewrite | undefined) {
    this.#rewrite = rewrite;
  }

  push(chunk: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
    this.#chunks.push(chunk.slice()); // a chunk of a compressed response has 4 KiB, in a buffer of 64 KiB
    this.#length += chunk.length;
    requireLength(this.#length, "bytes");
    return [];
  }

  end(): Uint8Array<ArrayBuffer>[] {
    const body = concat(this.#chunks);
    requireJsonLimits(body);
    return [
      this.#rewrite === undefined ? body : encoder.encode(this.#rewrite(new TextDecoder().decode(body))),
    ];
  }
}

const LF = 10;
const CR = 13;

/** Splits a stream into events. An event ends at an empty line. */
class EventSplitter {
  readonly #rewrite: Rewrite;
  #chunks: Uint8Array<ArrayBuffer>[] = [];
  #length = 0;
  #isLineEmpty = true;
  #last: number | undefined;

  constructor(rewrite: Rewrite) {
    this.#rewrite = rewrite;
  }

  push(chunk: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
    const events: Uint8Array<ArrayBuffer>[] = [];
    let start = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at];
      const isEnd = byte === CR || byte === LF && this.#last !== CR;
      if (isEnd && this.#isLineEmpty) {
        this.#add(chunk.subarray(start, at + 1));
        events.push(...this.end());
        start = at + 1;
      }
      if (isEnd || byte !== LF) this.#isLineEmpty = isEnd;
      this.#last = byte;
    }
    this.#add(chunk.subarray(start));
    return events;
  }

  /** Returns the bytes since the last event. */
  end(): Uint8Array<ArrayBuffer>[] {
    const event = concat(this.#chunks);
    this.#chunks = [];
    this.#length = 0;
    const lines = new TextDecoder().decode(event).split(/\r\n|\r|\n/);
    const data = lines.filter(isData).map((line) => line.slice("data:".length)).join("\n");
    requireJsonLimits(data);
    if (data.trim() === "") return [event];
    const others = lines.filter((line) => line !== "" && !isData(line));
    const rewritten = this.#rewrite(data).split("\n").map((line) => `data: ${line}`);
    return [encoder.encode([...others, ...rewritten, "", ""].join("\n"))];
  }

  #add(bytes: Uint8Array<ArrayBuffer>): void {
    this.#chunks.push(bytes.slice()); // `bytes` may be a small part of a large buffer
    this.#length += bytes.length;
    requireLength(this.#length, "bytes");
  }
}

function isData(line: string): boolean {
  return line.startsWith("data:");
}
