const encoder = new TextEncoder();

/**
 * A body that is written while it is read. What is written is bounded by what a program may print, so a slow
 * reader holds no session; one that goes away aborts the signal.
 */
export function liveBody(
  write: (send: (text: string) => void, signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const gone = new AbortController();
  return new ReadableStream({
    async start(controller) {
      const send = (text: string) => {
        if (!gone.signal.aborted) controller.enqueue(encoder.encode(text));
      };
      await write(send, AbortSignal.any([gone.signal, signal]));
      if (!gone.signal.aborted) controller.close();
    },
    cancel() {
      gone.abort(new DOMException("Whoever asked has gone", "AbortError"));
    },
  });
}
