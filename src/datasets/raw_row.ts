/** A row that is not parsed yet. */
export class RawRow {
  /** Location for error messages, such as `train.jsonl:7`. */
  readonly location: string;
  /** Id of its task, if the row has none. */
  readonly id: string;
  /** Returns the row as data; throws if it cannot be read. */
  readonly value: () => unknown;

  constructor(row: { location: string; id: string; value: () => unknown }) {
    this.location = row.location;
    this.id = row.id;
    this.value = row.value;
  }

  /** Creates a row of a file; rows are numbered from 1. */
  static inFile(path: string, number: number, value: () => unknown): RawRow {
    return new RawRow({ location: `${path}:${number}`, id: `${stem(path)}:${number}`, value });
  }
}

/** Returns a file's name without folders and extension. */
function stem(path: string): string {
  return path.replace(/^.*[/\\]/, "").replace(/\.gz$/i, "").replace(/(?<=.)\.[^.]+$/, "");
}
