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
