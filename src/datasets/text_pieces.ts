import { readFileChunks } from "./file_pieces.ts";

/**
 * Reads the text of a file in chunks, without a byte order mark.
 *
 * @param location Returns the current location of the reader, for error messages.
 * @throws {SyntaxError} if the file is not UTF-8.
 */
export async function* readTextChunks(path: string, location: () => string): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const decode = (bytes?: Uint8Array<ArrayBuffer>) => {
    try {
      return decoder.decode(bytes, { stream: bytes !== undefined });
    } catch (cause) {
      throw new SyntaxError(
        `Cannot read tasks at ${location()} or after it as the file must be UTF-8: found an invalid byte`,
        { cause },
      );
    }
  };
  for await (const chunk of readFileChunks(path)) yield decode(chunk);
  yield decode();
}
