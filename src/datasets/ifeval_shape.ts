import { z } from "zod";
import { parseRow } from "./checked.ts";
import { hasFields, otherFields, type RowShape, textField } from "./row_shape.ts";

const ifevalRow = z.object({
  key: textField.optional(),
  prompt: z.string().min(1),
  instruction_id_list: z.array(z.string()),
  kwargs: z.array(z.unknown()),
});

/**
 * Rows of IFEval: `{ key, prompt, instruction_id_list, kwargs }`. The instructions go to the task's `fields`.
 */
export const ifevalShape: RowShape = {
  matches: (row) => hasFields(row, ["prompt", "instruction_id_list", "kwargs"]),
  queryKey: "prompt",
  task(row, location) {
    const { key, prompt } = parseRow(ifevalRow, row, location);
    return { ...(key !== undefined && { id: key }), query: prompt, ...otherFields(row, ["prompt"]) };
  },
};
