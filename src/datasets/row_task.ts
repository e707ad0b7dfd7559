import type { Task } from "../task.ts";
import { genericTask } from "./any_row.ts";
import { gsm8kShape } from "./gsm8k_shape.ts";
import { humanevalShape } from "./humaneval_shape.ts";
import { ifevalShape } from "./ifeval_shape.ts";
import { mathShape } from "./math_shape.ts";
import { mbppShape } from "./mbpp_shape.ts";
import { isNativeRow, nativeTask } from "./own_row.ts";
import { requireRow, type Row, type RowShape, type RowTask } from "./row_shape.ts";

/** Options of {@linkcode toTask}. */
export interface ToTaskOptions {
  /** Location of the row, for error messages. */
  location: string;
  /** Id of the task, if the row has none. */
  id: string;
  /**
   * The field with the query, for rows of no known format.
   *
   * @default "query"
   */
  dataKey?: string | undefined;
}

const SHAPES: readonly RowShape[] = [gsm8kShape, ifevalShape, humanevalShape, mbppShape, mathShape];

/**
 * Converts a row to a task. The row can be in Paddock's own format, in that of GSM8K, IFEval, HumanEval, MBPP
 * or MATH, or in any format with a query field.
 *
 * @throws {SyntaxError} if the row does not describe a task; the message has its location.
 */
export function toTask(value: unknown, options: ToTaskOptions): Task {
  const { location, id, dataKey } = options;
  return { id, ...taskOf(requireRow(value, location), location, dataKey) };
}

/** Returns the known format of a row; `undefined` if it has none. */
export function findRowShape(row: Row, dataKey?: string): RowShape | undefined {
  return SHAPES.find(({ matches: fits, queryKey }) =>
    fits(row) && (dataKey === undefined || dataKey === queryKey)
  );
}

function taskOf(row: Row, location: string, dataKey?: string): RowTask {
  const shape = findRowShape(row, dataKey);
  if (shape !== undefined) return shape.task(row, location);
  if (isNativeRow(row) && (dataKey ?? "query") === "query") return nativeTask(row, location);
  return genericTask(row, { location, dataKey: dataKey ?? "query" });
}
