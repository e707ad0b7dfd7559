import { parseDataJson, parseUntrustedDataJson } from "../numbers/data_json.ts";
import { type Line, readLines } from "../read_lines.ts";
import { readFileChunks, readTextChunks } from "./files.ts";
import { RawRow } from "./row.ts";

/** Maximum size of a JSON list, which is held in memory. Larger datasets need JSON lines. */
const MAX_CHARACTERS = 256 * 1024 * 1024;

/**
 * Reads the rows of a `.json` file, which contains either a JSON list or JSON lines. Rows of a list are
 * numbered from 1.
 *
 * @throws {SyntaxError} if the file begins with `[` and is not a list, is not UTF-8, or has more than 256 Mi
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
    return Array.from(parseDataJson(text) as unknown[]);
  } catch (cause) {
    throw new SyntaxError(`Cannot read tasks at ${path} as it must be a JSON list: ${String(cause)}`, {
      cause,
    });
  }
}

const MAX_LINE_BYTES = 32 * 1024 * 1024;
/** Maximum number of empty lines of a file: a small compressed file can have millions. */
const MAX_EMPTY_LINES = 100_000;

/**
 * Reads the rows of a JSON lines file; empty lines are skipped. A line is parsed when the row's value is
 * read, which throws a `SyntaxError` if the line is not JSON, not UTF-8, or longer than 32 MiB.
 *
 * @throws {SyntaxError} if there are more than 100,000 empty lines.
 */
export async function* readJsonLines(path: string): AsyncGenerator<RawRow> {
  let number = 0;
  let empty = 0;
  for await (const line of readLines(readFileChunks(path), { maxBytes: MAX_LINE_BYTES })) {
    const location = `${path}:${++number}`;
    if (!("text" in line) || line.text.trim() !== "") {
      yield RawRow.inFile(path, number, () => parseLine(line, location));
    } else if (++empty > MAX_EMPTY_LINES) {
      throw new SyntaxError(
        `Cannot read tasks at ${location} as a file must have at most ${MAX_EMPTY_LINES} empty lines: it has more`,
      );
    }
  }
}

function parseLine(line: Line, location: string): unknown {
  if ("text" in line) return parseJson(line.text, location);
  throw new SyntaxError(`Cannot read task at ${location} as ${line.fault}`);
}

function parseJson(line: string, location: string): unknown {
  try {
    return parseUntrustedDataJson(line);
  } catch (cause) {
    throw new SyntaxError(`Cannot read task at ${location} as it must be JSON: ${String(cause)}`, { cause });
  }
}
