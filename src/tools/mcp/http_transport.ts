import { StreamableHTTPClientTransport } from "./sdk.ts";
import type { JSONRPCMessage, MessageExtraInfo } from "./sdk.ts";
import { concat } from "@std/bytes";
import { type MessageMeter, requireJsonLimits, requireLength } from "./message_limits.ts";
import type { McpUrl } from "./mcp_server.ts";

type Deliver = (message: JSONRPCMessage, extra?: MessageExtraInfo) => void;

/**
 * The Model Context Protocol over streamable HTTP. It closes the connection when a response, or one event of a stream,
 * exceeds a limit of messages, or when the server sends too many of them.
 */
export class HttpTransport extends StreamableHTTPClientTransport {
  /** Limit that the server exceeded, for which the connection was closed. */
  exceededLimit: Error | undefined;

  constructor({ url, headers }: McpUrl, meter: MessageMeter) {
    super(new URL(url), {
      requestInit: { headers: { ...headers } },
      fetch: async (input, init) => this.#limitResponse(await fetch(input, init)),
    });
    this.#countMessages(meter);
  }

  /** Text that may explain a failure; empty if there is none. */
  get diagnostics(): string {
    return this.exceededLimit?.message ?? "";
  }

  /** Counts each message before it is delivered. `onmessage` is a field of the base class. */
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

  #limitResponse(response: Response): Response {
    if (response.body === null) return response;
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    const splitter = isStream ? new EventSplitter() : new BodySplitter();
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
    this.close().catch(() => {}); // it is closed already
  }
}

/** Collects a body that is one message. */
class BodySplitter {
  #chunks: Uint8Array<ArrayBuffer>[] = [];
  #length = 0;

  push(chunk: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    requireLength(this.#length, "bytes");
    return [];
  }

  end(): Uint8Array<ArrayBuffer>[] {
    const body = concat(this.#chunks);
    requireJsonLimits(body);
    return [body];
  }
}

const LF = 10;
const CR = 13;

/** Splits a stream into its events. An event ends at an empty line. */
class EventSplitter {
  #chunks: Uint8Array<ArrayBuffer>[] = [];
  #length = 0;
  #isLineEmpty = true;
  #last: number | undefined;

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
    requireJsonLimits(dataOf(event));
    return [event];
  }

  #add(bytes: Uint8Array<ArrayBuffer>): void {
    this.#chunks.push(bytes);
    this.#length += bytes.length;
    requireLength(this.#length, "bytes");
  }
}

/** Returns the text of the data lines of an event. */
function dataOf(event: Uint8Array): string {
  const lines = new TextDecoder().decode(event).split(/\r\n|\r|\n/);
  return lines.filter((line) => line.startsWith("data:")).map((line) => line.slice("data:".length)).join(
    "\n",
  );
}
