/** Maximum length of a message: in characters over pipes, in bytes over HTTP. */
export const MAX_MESSAGE_LENGTH = 64 * 1024 * 1024;

/**
 * Splits chunks of text into lines, without line ends. Ignores a last line that has no line end. Looks at
 * each character once, for lines of any length.
 *
 * @throws {RangeError} when a line exceeds the maximum message length.
 */
export async function* splitLines(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let parts: string[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    const [first = "", ...others] = chunk.split("\n");
    parts.push(first);
    length += first.length;
    for (const next of others) {
      yield parts.join("");
      parts = [next];
      length = next.length;
    }
    if (length > MAX_MESSAGE_LENGTH) {
      throw new RangeError(
        `a message must have at most ${MAX_MESSAGE_LENGTH} characters: it has ${length} or more`,
      );
    }
  }
}
