import { z } from "zod";
import { checked } from "./checked.ts";
import { hasFields, otherFields, type RowShape, textField } from "./row_shape.ts";

const mathRow = z.object({
  id: textField.optional(),
  problem: z.string().min(1),
  solution: z.string(),
  answer: textField.nullish(),
});

/**
 * MATH: `{ problem, solution }`, the solution ending in a `\boxed{…}`, which graders look for; it is the answer
 * unless the row has one apart.
 */
export const mathShape: RowShape = {
  fits: (row) => hasFields(row, ["problem", "solution"]),
  queryKey: "problem",
  task(row, place) {
    const { id, problem, solution, answer } = checked(mathRow, row, place);
    const said = answer === undefined || answer === null ? ["solution"] : ["answer"];
    return {
      ...(id !== undefined && { id }),
      query: problem,
      answer: answer ?? solution,
      ...otherFields(row, ["id", "problem", ...said]),
    };
  },
};
