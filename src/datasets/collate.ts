import type { Row } from "./row_shape.ts";

/**
 * A function that transforms the rows of a batch: it can rename fields, write prompts, and drop or add rows.
 */
export type Collate = (rows: readonly Row[]) => readonly Row[] | Promise<readonly Row[]>;

/**
 * Renames the field `text` to `query` in rows without a `query`. The default {@linkcode Collate} function.
 */
export function renameTextToQuery(rows: readonly Row[]): readonly Row[] {
  return rows.map((row) => {
    if (!("text" in row) || "query" in row) return row;
    const { text, ...others } = row;
    return { query: text, ...others };
  });
}
