import { z } from "zod";
import { parseRow } from "./checked.ts";
import { hasFields, otherFields, type RowShape, textField } from "./row_shape.ts";

const mbppRow = z.object({ task_id: textField, text: z.string().min(1), test_list: z.array(z.string()) });

/**
 * Rows of MBPP: `{ task_id, text, code, test_list, test_setup_code }`. Tests and solution go to the task's
 * `fields`, which no policy sees.
 */
export const mbppShape: RowShape = {
  matches: (row) => hasFields(row, ["task_id", "text", "test_list"]),
  queryKey: "text",
  task(row, location) {
    const { task_id, text } = parseRow(mbppRow, row, location);
    return { id: task_id, query: text, ...otherFields(row, ["task_id", "text"]) };
  },
};
