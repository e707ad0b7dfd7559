import type { Row } from "./row_shape.ts";

/** Makes the rows of a batch into those that are asked: renames fields, writes prompts, drops rows or adds some. */
export type Collate = (rows: readonly Row[]) => readonly Row[] | Promise<readonly Row[]>;

/** The {@linkcode Collate} that is used unless another is given: a field `text` is called `query` where there is none. */
export function textAsQuery(rows: readonly Row[]): readonly Row[] {
  return rows.map((row) => {
    if (!("text" in row) || "query" in row) return row;
    const { text, ...others } = row;
    return { query: text, ...others };
  });
}
