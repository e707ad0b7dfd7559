import { filePieces } from "./file_pieces.ts";

/**
 * The text of a file, a piece at a time, without the mark that some programs put at the start of UTF-8.
 *
 * @throws {SyntaxError} when it is not UTF-8; `place` says how far its reader has come.
 */
export async function* textPieces(path: string, place: () => string): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const decode = (bytes?: Uint8Array<ArrayBuffer>) => {
    try {
      return decoder.decode(bytes, { stream: bytes !== undefined });
    } catch (cause) {
      throw new SyntaxError(`Cannot read tasks at ${place()} or after it as the file must be UTF-8`, {
        cause,
      });
    }
  };
  for await (const piece of filePieces(path)) yield decode(piece);
  yield decode();
}
