import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { MAX_MESSAGE_LENGTH } from "./child_transport.ts";
import type { McpUrl } from "./mcp_server.ts";

/**
 * The Model Context Protocol over streamable HTTP. It closes the connection when a response, or one event of
 * a stream, exceeds the maximum message size.
 */
export class HttpTransport extends StreamableHTTPClientTransport {
  /** Reason why the connection was closed; empty if it was not. */
  diagnostics = "";

  constructor({ url, headers }: McpUrl) {
    super(new URL(url), {
      requestInit: { headers: { ...headers } },
      fetch: async (input, init) => this.#limitResponse(await fetch(input, init)),
    });
  }

  #limitResponse(response: Response): Response {
    if (response.body === null) return response;
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    const body = response.body.pipeThrough(this.#limit(isStream ? countEvent() : countBody()));
    return new Response(body, response);
  }

  #limit(messageLength: MessageLength): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
    return new TransformStream({
      transform: (chunk, controller) => {
        const length = messageLength(chunk);
        if (length <= MAX_MESSAGE_LENGTH) return controller.enqueue(chunk);
        this.diagnostics =
          `a message must have at most ${MAX_MESSAGE_LENGTH} bytes: it has ${length} or more`;
        controller.error(new RangeError(this.diagnostics));
        return this.close();
      },
    });
  }
}

/** Adds a chunk of the body and returns the length of the current message so far, in bytes. */
type MessageLength = (chunk: Uint8Array) => number;

function countBody(): MessageLength {
  let length = 0;
  return (chunk) => length += chunk.length;
}

const LF = 10;
const CR = 13;

/** Counts the bytes of the current event. An event ends at an empty line. */
function countEvent(): MessageLength {
  let length = 0;
  let isLineEmpty = true;
  let last = 0;
  return (chunk) => {
    for (const byte of chunk) {
      length++;
      const isEnd = byte === CR || byte === LF && last !== CR;
      if (isEnd && isLineEmpty) length = 0;
      if (isEnd || byte !== LF) isLineEmpty = isEnd;
      last = byte;
    }
    return length;
  };
}
