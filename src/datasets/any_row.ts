import { z } from "zod";
import { parseRow } from "./checked.ts";
import { queryField } from "./query_field.ts";
import { otherFields, type Row, type RowTask, textField } from "./row_shape.ts";

const optionalFields = z.object({ id: textField, answer: textField, replies: z.array(z.string()) }).partial();
const answerRow = z.looseObject({ answer: textField.nullish() });

/**
 * Converts a row of any dataset to a task. The field `dataKey` is the query and `answer` the answer; `id` and
 * `replies` are used if they have the right type. All other fields go to the task's `fields`.
 *
 * @throws {SyntaxError} if there is no query, or the answer is neither a string nor a number.
 */
export function genericTask(row: Row, options: { location: string; dataKey: string }): RowTask {
  const { location, dataKey } = options;
  if (!(dataKey in row)) {
    const keys = Object.keys(row).join(", ");
    throw new SyntaxError(
      `Cannot read task at ${location} as it must have a field '${dataKey}': found [${keys}]`,
    );
  }
  if (dataKey !== "answer") parseRow(answerRow, row, location);
  const query = parseRow(queryField, row[dataKey], `${location}: ${dataKey}`);
  const taskFields = Object.fromEntries(
    Object.entries(optionalFields.shape).map(([key, field]) => [key, field.safeParse(row[key]).data])
      .filter(([key, value]) => value !== undefined && key !== dataKey),
  );
  return { query, ...taskFields, ...otherFields(row, [dataKey, ...Object.keys(taskFields)]) };
}
