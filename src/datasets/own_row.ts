import { z } from "zod";
import { checked } from "./checked.ts";
import { queryField } from "./query_field.ts";
import { type RowTask, textField } from "./row_shape.ts";

const ownRow = z.strictObject({
  id: textField.nullish(),
  query: queryField,
  answer: textField.nullish(),
  replies: z.array(z.string()).nullish(),
  reference: z.string().nullish(),
  fields: z.record(z.string(), z.unknown()).nullish(),
}, { error: (issue) => issue.code === "unrecognized_keys" ? strangers(issue.keys) : undefined });

/** What a row of our own has too much, and where that belongs. */
function strangers(names: readonly string[]): string {
  const known = Object.keys(ownRow.shape).join(", ");
  return `unknown [${names.join(", ")}]: a row has ${known}, and in 'fields' what else graders and envs need`;
}

/** Whether a row has no fields but those of a task. */
export function isOwnRow(row: object): boolean {
  return "query" in row && Object.keys(row).every((key) => key in ownRow.shape);
}

/**
 * The task of a row of our own: `{ query, id?, answer?, replies?, reference?, fields? }`; `null` counts as left
 * out.
 *
 * @throws {SyntaxError} when it has another field, or one does not hold what it should.
 */
export function ownTask(row: unknown, place: string): RowTask {
  const { query, id, answer, replies, reference, fields } = checked(ownRow, row, place);
  return {
    query,
    ...(id && { id }),
    ...(typeof answer === "string" && { answer }),
    ...(replies && { replies }),
    ...(reference && { reference }),
    ...(fields && { fields }),
  };
}
