import type { TextSink } from "./write_text.ts";

/** The sink until nobody reads it any more; what is written to it from then on is dropped. */
export function ignoreBrokenPipe(sink: TextSink): TextSink {
  let closed = false;
  return {
    async write(bytes) {
      if (closed) return bytes.length;
      try {
        return await sink.write(bytes);
      } catch (error) {
        if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
        closed = true;
        return bytes.length;
      }
    },
  };
}
