const PIECE_BYTES = 64 * 1024;

/**
 * The bytes of a file, a piece at a time; one whose name ends in `.gz` is unpacked on the way. A piece is good
 * until the next one is asked for.
 *
 * @throws {SyntaxError} when a file is not gzip that says it is.
 */
export function filePieces(path: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  return /\.gz$/i.test(path) ? unpackedPieces(path) : plainPieces(path);
}

async function* plainPieces(path: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  using file = await Deno.open(path);
  const piece = new Uint8Array(PIECE_BYTES);
  for (let size = await file.read(piece); size !== null; size = await file.read(piece)) {
    yield piece.subarray(0, size);
  }
}

async function* unpackedPieces(path: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const { readable } = await Deno.open(path);
  const reader = readable.pipeThrough(new DecompressionStream("gzip")).getReader();
  try {
    for (let read = await nextPiece(reader, path); !read.done; read = await nextPiece(reader, path)) {
      yield read.value;
    }
  } finally {
    await reader.cancel().catch(() => {}); // a stream that broke was told of where it did
  }
}

async function nextPiece(
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
