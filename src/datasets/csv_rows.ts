import { readCsvRecords } from "./csv_records.ts";
import { RawRow } from "./raw_row.ts";

/**
 * Reads the rows of a CSV file with a header row. All values are strings. Row numbers start at 1 with the
 * header. A row whose number of fields differs from the header's throws a `SyntaxError` when its value is
 * read.
 *
 * @throws {SyntaxError} if the file is not valid CSV, or the header contains a name twice.
 */
export async function* readCsv(path: string): AsyncGenerator<RawRow> {
  let number = 0;
  let names: readonly string[] | undefined;
  for await (const fields of readCsvRecords(path)) {
    const location = `${path}:${++number}`;
    if (names !== undefined) yield csvRow(fields, { names, path, number });
    else names = requireNames(fields, location);
  }
}

function requireNames(names: readonly string[], location: string): readonly string[] {
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate === undefined) return names;
  throw new SyntaxError(
    `Cannot read tasks at ${location} as field names must be unique: found '${duplicate}' twice`,
  );
}

function csvRow(
  fields: readonly string[],
  { names, path, number }: { names: readonly string[]; path: string; number: number },
): RawRow {
  return RawRow.inFile(path, number, () => {
    if (fields.length === names.length) {
      return Object.fromEntries(names.map((name, at) => [name, fields[at]]));
    }
    throw new SyntaxError(
      `Cannot read task at ${path}:${number} as it must be CSV with ${names.length} fields: found ${fields.length}`,
    );
  });
}
