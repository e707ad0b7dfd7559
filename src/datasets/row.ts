import * as z from "zod";
import { errorMessage } from "../errors.ts";
import { History } from "../history.ts";
import type { Task } from "../task.ts";
import { isJsonObject } from "../json.ts";

/** A row of a dataset: fields by name. */
export type Row = Readonly<Record<string, unknown>>;

const anyRow = z.looseObject({});

/**
 * Checks that a value is a row.
 *
 * @throws {SyntaxError} if the value is not an object.
 */
export function requireRow(value: unknown, location: string): Row {
  return parseRow(anyRow, value, location);
}

/** Maximum number of columns that a message lists. */
const MAX_LISTED = 40;

/**
 * Returns the names of the columns. The paths of the values replace a column with an object or a list of objects.
 */
export function columnsOf(row: Row): string[] {
  const names = Object.entries(row).flatMap(([key, value]) => pathsBelow(key, value));
  return names.length > MAX_LISTED ? [...names.slice(0, MAX_LISTED), "…"] : names;
}

/** Returns the paths of the values in the value of a column. Of a list, only the first item is looked at. */
export function pathsBelow(path: string, value: unknown): string[] {
  if (isMessages(value)) return [path];
  const inner = Array.isArray(value)
    ? isJsonObject(value[0]) || value.length === 1 ? [["0", value[0]] as const] : []
    : isJsonObject(value)
    ? Object.entries(value)
    : [];
  if (inner.length === 0) return [path];
  return inner.flatMap(([name, each]) => pathsBelow(`${path}.${name}`, each));
}

function isMessages(value: unknown): boolean {
  return Array.isArray(value) && typeof Object(value[0]).role === "string";
}

/** Returns the value at a path; `undefined` if there is none. */
export function lookUpPath(row: Row, path: string): unknown {
  if (Object.hasOwn(row, path)) return row[path];
  let value: unknown = row;
  for (const name of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = Object(value)[name];
  }
  return value;
}

/** Returns a value for a message. */
export function shorten(value: unknown): string {
  return typeof value === "bigint" ? `${value}` : JSON.stringify(value)?.slice(0, 80) ?? typeof value;
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

/**
 * Parses a row with a schema.
 *
 * @throws {SyntaxError} if the row does not match; the message has the location and all issues.
 */
export function parseRow<Schema extends z.core.$ZodType>(
  schema: Schema,
  row: unknown,
  location: string,
): z.output<Schema> {
  const parsed = z.safeParse(schema, row);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) =>
    path.length > 0 ? `${path.join(".")}: ${message}` : message
  );
  throw new SyntaxError(`Cannot read task at ${location}: ${issues.join("; ")}`);
}

/** Schema of a query: text, a list of messages, or a {@linkcode History}. */
export const queryField = z.unknown().transform((value, context): Task["query"] => {
  try {
    return parseQuery(value);
  } catch (error) {
    context.issues.push({
      code: "custom",
      message: errorMessage(error),
      input: value,
    });
    return z.NEVER;
  }
});

function parseQuery(value: unknown): Task["query"] {
  if (typeof value === "string" && value !== "") return value;
  if (value instanceof History && value.length > 0) return value;
  if (Array.isArray(value) && value.length > 0) return History.fromChats(value).toChats();
  const found = JSON.stringify(value)?.slice(0, 80) ?? "nothing";
  throw new TypeError(`must be a text or a list of messages, not empty: found ${found}`);
}

/** A row that is not parsed yet. */
export class RawRow {
  /** Location for error messages, such as `train.jsonl:7`. */
  readonly location: string;
  /** Id of the row's task, if the row has no id. */
  readonly id: string;
  /** Returns the row as data; throws if the row cannot be read. */
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
