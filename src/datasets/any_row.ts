import { z } from "zod";
import { checked } from "./checked.ts";
import { queryField } from "./query_field.ts";
import { otherFields, type Row, type RowTask, textField } from "./row_shape.ts";

const named = z.object({ id: textField, answer: textField, replies: z.array(z.string()) }).partial();
const answered = z.looseObject({ answer: textField.nullish() });

/**
 * The task of a row of any dataset: what stands under `dataKey` is asked, `answer` is its answer, `id` and `replies`
 * are taken where they hold what a task's do, and all else is in the task's fields.
 *
 * @throws {SyntaxError} when there is nothing to ask, or the answer is neither text nor a number.
 */
export function anyTask(row: Row, options: { place: string; dataKey: string }): RowTask {
  const { place, dataKey } = options;
  if (!(dataKey in row)) {
    const keys = Object.keys(row).join(", ");
    throw new SyntaxError(
      `Cannot read task at ${place} as it must have a field '${dataKey}': it has [${keys}]`,
    );
  }
  if (dataKey !== "answer") checked(answered, row, place);
  const query = checked(queryField, row[dataKey], `${place}: ${dataKey}`);
  const said = Object.fromEntries(
    Object.entries(named.shape).map(([key, field]) => [key, field.safeParse(row[key]).data])
      .filter(([key, value]) => value !== undefined && key !== dataKey),
  );
  return { query, ...said, ...otherFields(row, [dataKey, ...Object.keys(said)]) };
}
