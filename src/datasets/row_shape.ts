import { z } from "zod";
import type { Task } from "../task.ts";
import { checked } from "./checked.ts";

/** A row as data: its fields by name. */
export type Row = Readonly<Record<string, unknown>>;

const anyRow = z.looseObject({});

/**
 * A row as data.
 *
 * @throws {SyntaxError} when it is no object.
 */
export function requireRow(value: unknown, place: string): Row {
  return checked(anyRow, value, place);
}

/** A task as a row tells it, which need not name it. */
export type RowTask = Omit<Task, "id"> & { readonly id?: string };

/** A dataset's way of writing its rows. */
export interface RowShape {
  /** Whether a row is one of its own. */
  readonly fits: (row: Row) => boolean;
  /** The field that is asked. */
  readonly queryKey: string;
  /**
   * The task of a row that has those fields; `place` is for messages.
   *
   * @throws {SyntaxError} when a field does not hold what it should.
   */
  readonly task: (row: Row, place: string) => RowTask;
}

/** Whether a row has all these fields. */
export function hasFields(row: Row, keys: readonly string[]): boolean {
  return keys.every((key) => key in row);
}

/** Text, or a number that is taken as text. */
export const textField = z.union([z.string(), z.number()], { error: "must be a text or a number" })
  .transform(String);

/** The fields of a row that its task does not say elsewhere, for graders. */
export function otherFields(row: Row, said: readonly string[]): Pick<RowTask, "fields"> {
  const fields = Object.fromEntries(Object.entries(row).filter(([key]) => !said.includes(key)));
  return Object.keys(fields).length > 0 ? { fields } : {};
}
