import { z } from "zod";
import type { Task } from "../task.ts";
import { parseRow } from "./checked.ts";

/** A row of a dataset: its fields by name. */
export type Row = Readonly<Record<string, unknown>>;

const anyRow = z.looseObject({});

/**
 * Checks that a value is a row.
 *
 * @throws {SyntaxError} if it is not an object.
 */
export function requireRow(value: unknown, location: string): Row {
  return parseRow(anyRow, value, location);
}

/** A task as read from a row, possibly without id. */
export type RowTask = Omit<Task, "id"> & { readonly id?: string };

/** The row format of a dataset. */
export interface RowShape {
  /** True if a row has this format. */
  readonly matches: (row: Row) => boolean;
  /** The field with the query. */
  readonly queryKey: string;
  /**
   * Converts a row to a task. The location is used in error messages.
   *
   * @throws {SyntaxError} if a field has a wrong type.
   */
  readonly task: (row: Row, location: string) => RowTask;
}

/** True if a row has all these fields. */
export function hasFields(row: Row, keys: readonly string[]): boolean {
  return keys.every((key) => key in row);
}

/** Schema of a text field; a number is converted to text. */
export const textField = z.union([z.string(), z.number()], { error: "must be a text or a number" })
  .transform(String);

/** Returns the task field `fields` with all fields of a row except the used ones. */
export function otherFields(row: Row, used: readonly string[]): Pick<RowTask, "fields"> {
  const fields = Object.fromEntries(Object.entries(row).filter(([key]) => !used.includes(key)));
  return Object.keys(fields).length > 0 ? { fields } : {};
}
