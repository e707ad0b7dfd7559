import { z } from "zod";
import { parseRow } from "./checked.ts";
import { queryField } from "./query_field.ts";
import { type RowTask, textField } from "./row_shape.ts";

const ownRow = z.strictObject({
  id: textField.nullish(),
  query: queryField,
  answer: textField.nullish(),
  replies: z.array(z.string()).nullish(),
  reference: z.string().nullish(),
  fields: z.record(z.string(), z.unknown()).nullish(),
}, { error: (issue) => issue.code === "unrecognized_keys" ? unknownFields(issue.keys) : undefined });

function unknownFields(names: readonly string[]): string {
  const known = Object.keys(ownRow.shape).join(", ");
  return `unknown field [${
    names.join(", ")
  }]: allowed are ${known}; put data for graders and envs in 'fields'`;
}

/** True if a row has only the fields of a task. */
export function isNativeRow(row: object): boolean {
  return "query" in row && Object.keys(row).every((key) => key in ownRow.shape);
}

/**
 * Converts a row in Paddock's own format to a task: `{ query, id?, answer?, replies?, reference?, fields? }`.
 * A field that is `null` counts as absent.
 *
 * @throws {SyntaxError} if it has an unknown field, or a field of a wrong type.
 */
export function nativeTask(row: unknown, location: string): RowTask {
  const { query, id, answer, replies, reference, fields } = parseRow(ownRow, row, location);
  return {
    query,
    ...(id && { id }),
    ...(typeof answer === "string" && { answer }),
    ...(replies && { replies }),
    ...(reference && { reference }),
    ...(fields && { fields }),
  };
}
