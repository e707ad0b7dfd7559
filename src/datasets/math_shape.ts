import { z } from "zod";
import { parseRow } from "./checked.ts";
import { hasFields, otherFields, type RowShape, textField } from "./row_shape.ts";

const mathRow = z.object({
  id: textField.optional(),
  problem: z.string().min(1),
  solution: z.string(),
  answer: textField.nullish(),
});

/**
 * Rows of MATH: `{ problem, solution }`. The solution ends in `\boxed{…}`, which graders search for. It is
 * the task's answer, unless the row has a field `answer`.
 */
export const mathShape: RowShape = {
  matches: (row) => hasFields(row, ["problem", "solution"]),
  queryKey: "problem",
  task(row, location) {
    const { id, problem, solution, answer } = parseRow(mathRow, row, location);
    const answerKey = answer === undefined || answer === null ? "solution" : "answer";
    return {
      ...(id !== undefined && { id }),
      query: problem,
      answer: answer ?? solution,
      ...otherFields(row, ["id", "problem", answerKey]),
    };
  },
};
