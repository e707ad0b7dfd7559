const encoder = new TextEncoder();

/** What {@linkcode writeText} writes to: stdout, stderr, a file. */
export interface TextSink {
  write(bytes: Uint8Array): Promise<number>;
}

/** Writes all of a text, however little the sink takes at a time. */
export async function writeText(sink: TextSink, text: string): Promise<void> {
  let rest = encoder.encode(text);
  while (rest.length > 0) rest = rest.subarray(await sink.write(rest));
}
