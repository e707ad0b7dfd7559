import { readJsonLines } from "./json_lines.ts";
import { RawRow } from "./raw_row.ts";
import { readTextChunks } from "./text_pieces.ts";

/** Maximum size of a JSON list, which is held in memory. Larger datasets need JSON lines. */
const MAX_CHARACTERS = 256 * 1024 * 1024;

/**
 * Reads the rows of a `.json` file, which contains either one JSON list or JSON lines. Rows of a list are
 * numbered from 1.
 *
 * @throws {SyntaxError} if it begins with `[` and is not a list, is not UTF-8, or has more than 256 Mi
 * characters.
 */
export async function* readJsonFile(path: string): AsyncGenerator<RawRow> {
  if (await firstCharacter(path) !== "[") return yield* readJsonLines(path);
  for (const [index, row] of parseList(await readText(path), path).entries()) {
    yield RawRow.inFile(path, index + 1, () => row);
  }
}

/** Returns the first character that is not white space; empty if there is none. */
async function firstCharacter(path: string): Promise<string> {
  for await (const chunk of readTextChunks(path, () => path)) {
    const start = chunk.trimStart();
    if (start !== "") return start.slice(0, 1);
  }
  return "";
}

async function readText(path: string): Promise<string> {
  const chunks: string[] = [];
  let length = 0;
  for await (const chunk of readTextChunks(path, () => path)) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_CHARACTERS) {
      throw new SyntaxError(
        `Cannot read tasks at ${path} as a JSON list must have at most ${MAX_CHARACTERS} characters: use JSON lines`,
      );
    }
  }
  return chunks.join("");
}

function parseList(text: string, path: string): readonly unknown[] {
  try {
    return Array.from<unknown>(JSON.parse(text));
  } catch (cause) {
    throw new SyntaxError(`Cannot read tasks at ${path} as it must be a JSON list: ${String(cause)}`, {
      cause,
    });
  }
}
