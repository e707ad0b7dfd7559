import { RawRow } from "./raw_row.ts";
import { textPieces } from "./text_pieces.ts";

/**
 * The rows of a file of JSON lines; empty lines are passed over. A line is parsed when its row is looked at,
 * and only then throws a `SyntaxError` if it is no JSON.
 *
 * @throws {SyntaxError} when the file is not UTF-8.
 */
export async function* readJsonLines(path: string): AsyncGenerator<RawRow> {
  for await (const { line, number } of readLines(path)) {
    if (line.trim() !== "") yield RawRow.inFile(path, number, () => parseJson(line, `${path}:${number}`));
  }
}

async function* readLines(path: string): AsyncGenerator<{ line: string; number: number }> {
  let rest = "";
  let number = 0;
  for await (const piece of textPieces(path, () => `${path}:${number + 1}`)) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield { line, number: ++number };
  }
  if (rest !== "") yield { line: rest, number: ++number };
}

function parseJson(line: string, place: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new SyntaxError(`Cannot read task at ${place} as it must be JSON: ${String(cause)}`, { cause });
  }
}
