const CHUNK_BYTES = 256 * 1024;
/** Content types of streamed responses; all others are sent as a whole. */
const STREAMED = /^(text\/event-stream|application\/x-ndjson)/;

/**
 * Returns a response that fails when the client takes longer than `readMs` to read a chunk. Otherwise a client could
 * make the server hold a response without end. A stream that has no data to read may pause.
 */
export async function withReadTimeout(response: Response, readMs: number): Promise<Response> {
  if (response.body === null || response.status === 101) return response;
  const { status, statusText, headers } = response;
  const init = { status, statusText, headers };
  if (STREAMED.test(headers.get("content-type") ?? "")) {
    return new Response(withChunkTimeout(response.body, readMs), init);
  }
  const bytes = await response.bytes();
  headers.set("content-length", String(bytes.length));
  if (bytes.length <= CHUNK_BYTES) return new Response(bytes, init);
  return new Response(withChunkTimeout(new Blob([bytes]).stream(), readMs), init);
}

function withChunkTimeout(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  readMs: number,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  let rest = new Uint8Array(0);
  let timer: ReturnType<typeof setTimeout> | undefined;
  return new ReadableStream({
    async pull(controller) {
      clearTimeout(timer);
      if (rest.length === 0) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        rest = value;
      }
      controller.enqueue(rest.slice(0, CHUNK_BYTES));
      rest = rest.subarray(CHUNK_BYTES);
      timer = setTimeout(() => {
        controller.error(new Error("the client reads too slowly"));
        reader.cancel().catch(() => {}); // the response has failed in any case
      }, readMs);
    },
    async cancel(reason) {
      clearTimeout(timer);
      await reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
}

const encoder = new TextEncoder();

/**
 * Returns a body that `write` produces while the client reads it. The output limit of a program bounds the buffered
 * text, so a slow client holds no session. A client that disconnects aborts the signal of `write`.
 */
export function streamBody(
  write: (send: (text: string) => void, signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const disconnect = new AbortController();
  return new ReadableStream({
    async start(controller) {
      const send = (text: string) => {
        if (!disconnect.signal.aborted) controller.enqueue(encoder.encode(text));
      };
      await write(send, AbortSignal.any([disconnect.signal, signal]));
      if (!disconnect.signal.aborted) controller.close();
    },
    cancel() {
      disconnect.abort(new DOMException("The client has disconnected", "AbortError"));
    },
  });
}
