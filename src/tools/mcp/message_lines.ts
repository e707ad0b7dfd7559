/** No message of a server may be longer, in characters or, where they are counted, in bytes. */
export const MAX_MESSAGE = 64 * 1024 * 1024;

/**
 * The lines of a text that comes in pieces, without their ends; what no line end follows is no line. Each
 * character is looked at once, however long its line.
 *
 * @throws {RangeError} when a line is longer than a message may be.
 */
export async function* messageLines(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let parts: string[] = [];
  let length = 0;
  for await (const piece of pieces) {
    const [first = "", ...others] = piece.split("\n");
    parts.push(first);
    length += first.length;
    for (const next of others) {
      yield parts.join("");
      parts = [next];
      length = next.length;
    }
    if (length > MAX_MESSAGE) {
      throw new RangeError(`a message must have at most ${MAX_MESSAGE} characters: it has ${length} or more`);
    }
  }
}
