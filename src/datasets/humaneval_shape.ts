import { z } from "zod";
import { checked } from "./checked.ts";
import { hasFields, otherFields, type RowShape, textField } from "./row_shape.ts";

const humanevalRow = z.object({
  task_id: textField,
  prompt: z.string().min(1),
  entry_point: z.string(),
  test: z.string(),
});

/**
 * HumanEval: `{ task_id, prompt, entry_point, canonical_solution, test }`; tests and solution are in the task's
 * fields, where no policy sees them, and with them the prompt, which a program may go on from.
 */
export const humanevalShape: RowShape = {
  fits: (row) => hasFields(row, ["task_id", "prompt", "entry_point", "test"]),
  queryKey: "prompt",
  task(row, place) {
    const { task_id, prompt } = checked(humanevalRow, row, place);
    return { id: task_id, query: prompt, ...otherFields(row, ["task_id"]) };
  },
};
