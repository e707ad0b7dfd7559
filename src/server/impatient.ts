const PIECE_BYTES = 256 * 1024;
/** What is written while it is read; everything else is there as a whole. */
const LIVE = /^(text\/event-stream|application\/x-ndjson)/;

/**
 * A response that fails when its reader takes longer than `readMs` over a piece of it, so that nobody makes the
 * server keep an answer for ever. A stream in which nothing is to be read yet may stand still.
 */
export async function impatient(response: Response, readMs: number): Promise<Response> {
  if (response.body === null || response.status === 101) return response;
  const { status, statusText, headers } = response;
  const init = { status, statusText, headers };
  if (LIVE.test(headers.get("content-type") ?? "")) return new Response(inTime(response.body, readMs), init);
  const whole = await response.bytes();
  headers.set("content-length", String(whole.length));
  if (whole.length <= PIECE_BYTES) return new Response(whole, init);
  return new Response(inTime(new Blob([whole]).stream(), readMs), init);
}

function inTime(
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
      controller.enqueue(rest.slice(0, PIECE_BYTES));
      rest = rest.subarray(PIECE_BYTES);
      timer = setTimeout(() => {
        controller.error(new Error("the reader is too slow"));
        reader.cancel().catch(() => {}); // it ends all the same
      }, readMs);
    },
    async cancel(reason) {
      clearTimeout(timer);
      await reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
}
