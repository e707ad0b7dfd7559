import { readJsonLines } from "./json_lines.ts";
import { RawRow } from "./raw_row.ts";
import { textPieces } from "./text_pieces.ts";

/** The whole list is held at once; what is longer belongs in JSON lines. */
const MAX_CHARACTERS = 256 * 1024 * 1024;

/**
 * The rows of a file that ends in `.json`: of the one list that it is, else of its JSON lines. Rows of a list count
 * from 1.
 *
 * @throws {SyntaxError} when it begins as a list and is none, is not UTF-8, or has more than 256 Mi characters.
 */
export async function* readJsonFile(path: string): AsyncGenerator<RawRow> {
  if (await firstCharacter(path) !== "[") return yield* readJsonLines(path);
  for (const [index, row] of parsedList(await wholeText(path), path).entries()) {
    yield RawRow.inFile(path, index + 1, () => row);
  }
}

/** The first character that is no white space; empty when there is none. */
async function firstCharacter(path: string): Promise<string> {
  for await (const piece of textPieces(path, () => path)) {
    const start = piece.trimStart();
    if (start !== "") return start.slice(0, 1);
  }
  return "";
}

async function wholeText(path: string): Promise<string> {
  const pieces: string[] = [];
  let length = 0;
  for await (const piece of textPieces(path, () => path)) {
    pieces.push(piece);
    length += piece.length;
    if (length > MAX_CHARACTERS) {
      throw new SyntaxError(
        `Cannot read tasks at ${path} as one list must have at most ${MAX_CHARACTERS} characters: write it as JSON lines`,
      );
    }
  }
  return pieces.join("");
}

function parsedList(text: string, path: string): readonly unknown[] {
  try {
    return Array.from<unknown>(JSON.parse(text));
  } catch (cause) {
    throw new SyntaxError(`Cannot read tasks at ${path} as it must be a JSON list: ${String(cause)}`, {
      cause,
    });
  }
}
