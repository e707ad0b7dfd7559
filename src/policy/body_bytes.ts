/** A body as a whole; `null` when there is more of it than anybody would write. */
export async function bodyBytes(
  body: AsyncIterable<Uint8Array<ArrayBuffer>>,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > maxBytes) return null;
    pieces.push(piece);
  }
  return await new Blob(pieces).bytes();
}
