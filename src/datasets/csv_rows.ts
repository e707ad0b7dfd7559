import { csvRecords } from "./csv_records.ts";
import { RawRow } from "./raw_row.ts";

/**
 * The rows of a CSV file by the names in its first row; each value is text. Rows count from 1, that of the names
 * among them. A row that has more or fewer fields than there are names throws a `SyntaxError` when it is looked at.
 *
 * @throws {SyntaxError} when it is no CSV, or a name is there twice.
 */
export async function* readCsv(path: string): AsyncGenerator<RawRow> {
  let number = 0;
  let names: readonly string[] | undefined;
  for await (const fields of csvRecords(path)) {
    const place = `${path}:${++number}`;
    if (names !== undefined) yield csvRow(fields, { names, path, number });
    else names = requireNames(fields, place);
  }
}

function requireNames(names: readonly string[], place: string): readonly string[] {
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return names;
  throw new SyntaxError(
    `Cannot read tasks at ${place} as each field must have its own name: '${twice}' is twice`,
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
      `Cannot read task at ${path}:${number} as it must be CSV with ${names.length} fields: it has ${fields.length}`,
    );
  });
}
