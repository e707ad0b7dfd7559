/** A row as it was found: whoever looks at its value may learn that it is none. */
export class RawRow {
  /** Where it stands, for messages: `train.jsonl:7`. */
  readonly place: string;
  /** What its task is called unless the row itself says so. */
  readonly id: string;
  /** Gives the row as data; throws when it cannot be read. */
  readonly value: () => unknown;

  constructor(row: { place: string; id: string; value: () => unknown }) {
    this.place = row.place;
    this.id = row.id;
    this.value = row.value;
  }

  /** A row of a file; rows count from 1. */
  static inFile(path: string, number: number, value: () => unknown): RawRow {
    return new RawRow({ place: `${path}:${number}`, id: `${stem(path)}:${number}`, value });
  }
}

/** A file's name without its folders and its ending. */
function stem(path: string): string {
  return path.replace(/^.*[/\\]/, "").replace(/\.gz$/i, "").replace(/(?<=.)\.[^.]+$/, "");
}
