import { type Line, readLines } from "../read_lines.ts";
import { filePieces } from "./file_pieces.ts";
import { RawRow } from "./raw_row.ts";

const MAX_LINE_BYTES = 64 * 1024 * 1024;

/**
 * The rows of a file of JSON lines; empty lines are passed over. A line is parsed when its row is looked at, and
 * only then throws a `SyntaxError` if it is no JSON, no UTF-8, or longer than 64 MiB.
 */
export async function* readJsonLines(path: string): AsyncGenerator<RawRow> {
  let number = 0;
  for await (const line of readLines(filePieces(path), { maxBytes: MAX_LINE_BYTES })) {
    const place = `${path}:${++number}`;
    if (!("text" in line) || line.text.trim() !== "") {
      yield RawRow.inFile(path, number, () => parseLine(line, place));
    }
  }
}

function parseLine(line: Line, place: string): unknown {
  if ("text" in line) return parseJson(line.text, place);
  throw new SyntaxError(`Cannot read task at ${place} as ${line.fault}`);
}

function parseJson(line: string, place: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new SyntaxError(`Cannot read task at ${place} as it must be JSON: ${String(cause)}`, { cause });
  }
}
