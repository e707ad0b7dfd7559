const CHUNK_BYTES = 64 * 1024;

/**
 * Reads a file in chunks and decompresses it if its name ends in `.gz`. A chunk is valid until the next one
 * is read.
 *
 * @throws {SyntaxError} if the name ends in `.gz` and the file is not gzip.
 */
export function readFileChunks(path: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  return /\.gz$/i.test(path) ? decompressedChunks(path) : plainChunks(path);
}

async function* plainChunks(path: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  using file = await Deno.open(path);
  const chunk = new Uint8Array(CHUNK_BYTES);
  for (let size = await file.read(chunk); size !== null; size = await file.read(chunk)) {
    yield chunk.subarray(0, size);
  }
}

async function* decompressedChunks(path: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const { readable } = await Deno.open(path);
  const reader = readable.pipeThrough(new DecompressionStream("gzip")).getReader();
  try {
    for (let read = await nextChunk(reader, path); !read.done; read = await nextChunk(reader, path)) {
      yield read.value;
    }
  } finally {
    await reader.cancel().catch(() => {}); // The error of a failed stream was already thrown by `read`.
  }
}

async function nextChunk(
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>,
  path: string,
): Promise<ReadableStreamReadResult<Uint8Array<ArrayBuffer>>> {
  try {
    return await reader.read();
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new SyntaxError(`Cannot read tasks at ${path} as it must be gzip: ${cause.message}`, { cause });
  }
}
