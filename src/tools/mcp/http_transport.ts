import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { MAX_MESSAGE } from "./message_lines.ts";
import type { McpUrl } from "./mcp_server.ts";

/**
 * The Model Context Protocol over streamable HTTP. The connection is dropped when an answer, or one event of a
 * stream of them, is longer than a message may be.
 */
export class HttpTransport extends StreamableHTTPClientTransport {
  /** Why the connection was dropped; empty when it was not. */
  complaint = "";

  constructor({ url, headers }: McpUrl) {
    super(new URL(url), {
      requestInit: { headers: { ...headers } },
      fetch: async (input, init) => this.#limited(await fetch(input, init)),
    });
  }

  #limited(response: Response): Response {
    if (response.body === null) return response;
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    const body = response.body.pipeThrough(this.#limit(isStream ? eventLength() : wholeLength()));
    return new Response(body, response);
  }

  #limit(lengthWith: LengthWith): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
    return new TransformStream({
      transform: (piece, controller) => {
        const length = lengthWith(piece);
        if (length <= MAX_MESSAGE) return controller.enqueue(piece);
        this.complaint = `a message must have at most ${MAX_MESSAGE} bytes: it has ${length} or more`;
        controller.error(new RangeError(this.complaint));
        return this.close();
      },
    });
  }
}

/** How long the message is that a piece of the body belongs to, as far as it has come. */
type LengthWith = (piece: Uint8Array) => number;

function wholeLength(): LengthWith {
  let length = 0;
  return (piece) => length += piece.length;
}

const LF = 10;
const CR = 13;

/** Events end at an empty line; a piece in which one ends counts from there. */
function eventLength(): LengthWith {
  let length = 0;
  let isLineEmpty = true;
  let last = 0;
  return (piece) => {
    for (const byte of piece) {
      length++;
      const isEnd = byte === CR || byte === LF && last !== CR;
      if (isEnd && isLineEmpty) length = 0;
      if (isEnd || byte !== LF) isLineEmpty = isEnd;
      last = byte;
    }
    return length;
  };
}
