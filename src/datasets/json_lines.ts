import { type Line, readLines } from "../read_lines.ts";
import { filePieces } from "./file_pieces.ts";
import { RawRow } from "./raw_row.ts";

const MAX_LINE_BYTES = 256 * 1024 * 1024;

/**
 * The rows of a file of JSON lines; empty lines are passed over. A line is parsed when its row is looked at,
 * and only then throws a `SyntaxError` if it is no JSON, or no UTF-8.
 *
 * @throws {SyntaxError} when the file is not gzip that says it is.
 */
export async function* readJsonLines(path: string): AsyncGenerator<RawRow> {
  let number = 0;
  for await (const line of readLines(ownPieces(path), { maxBytes: MAX_LINE_BYTES })) {
    const place = `${path}:${++number}`;
    if ("text" in line && line.text.trim() === "") continue;
    yield RawRow.inFile(path, number, () => parseLine(line, place));
  }
}

/** A line may reach over several pieces, so they must stay as they are. */
async function* ownPieces(path: string): AsyncGenerator<Uint8Array> {
  for await (const piece of filePieces(path)) yield piece.slice();
}

function parseLine(line: Line, place: string): unknown {
  if ("fault" in line) throw new SyntaxError(`Cannot read task at ${place}: ${line.fault}`);
  try {
    return JSON.parse(line.text);
  } catch (cause) {
    throw new SyntaxError(`Cannot read task at ${place} as it must be JSON: ${String(cause)}`, { cause });
  }
}
