import { z } from "zod";
import { parseRow } from "./checked.ts";
import { hasFields, otherFields, type RowShape, textField } from "./row_shape.ts";

const humanevalRow = z.object({
  task_id: textField,
  prompt: z.string().min(1),
  entry_point: z.string(),
  test: z.string(),
});

/**
 * Rows of HumanEval: `{ task_id, prompt, entry_point, canonical_solution, test }`. Tests and solution go to
 * the task's `fields`, which no policy sees. So does the prompt, since a grader may run the program after it.
 */
export const humanevalShape: RowShape = {
  matches: (row) => hasFields(row, ["task_id", "prompt", "entry_point", "test"]),
  queryKey: "prompt",
  task(row, location) {
    const { task_id, prompt } = parseRow(humanevalRow, row, location);
    return { id: task_id, query: prompt, ...otherFields(row, ["task_id"]) };
  },
};
