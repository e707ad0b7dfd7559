import { type Line, readLines } from "../read_lines.ts";
import { readFileChunks } from "./file_pieces.ts";
import { RawRow } from "./raw_row.ts";

const MAX_LINE_BYTES = 64 * 1024 * 1024;

/**
 * Reads the rows of a JSON lines file; empty lines are skipped. A line is parsed when its row's value is
 * read, which throws a `SyntaxError` if the line is not JSON, not UTF-8, or longer than 64 MiB.
 */
export async function* readJsonLines(path: string): AsyncGenerator<RawRow> {
  let number = 0;
  for await (const line of readLines(readFileChunks(path), { maxBytes: MAX_LINE_BYTES })) {
    const location = `${path}:${++number}`;
    if (!("text" in line) || line.text.trim() !== "") {
      yield RawRow.inFile(path, number, () => parseLine(line, location));
    }
  }
}

function parseLine(line: Line, location: string): unknown {
  if ("text" in line) return parseJson(line.text, location);
  throw new SyntaxError(`Cannot read task at ${location} as ${line.fault}`);
}

function parseJson(line: string, location: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new SyntaxError(`Cannot read task at ${location} as it must be JSON: ${String(cause)}`, { cause });
  }
}
