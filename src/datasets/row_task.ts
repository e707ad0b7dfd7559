import type { Task } from "../task.ts";
import { anyTask } from "./any_row.ts";
import { gsm8kShape } from "./gsm8k_shape.ts";
import { humanevalShape } from "./humaneval_shape.ts";
import { ifevalShape } from "./ifeval_shape.ts";
import { mathShape } from "./math_shape.ts";
import { mbppShape } from "./mbpp_shape.ts";
import { isOwnRow, ownTask } from "./own_row.ts";
import { requireRow, type Row, type RowShape, type RowTask } from "./row_shape.ts";

/** What {@linkcode rowTask} needs to know of a row. */
export interface RowTaskOptions {
  /** Where it stands, for messages. */
  place: string;
  /** What the task is called unless the row says so. */
  id: string;
  /** The field that is asked, for rows of no known shape; `query` unless given. */
  dataKey?: string | undefined;
}

const SHAPES: readonly RowShape[] = [gsm8kShape, ifevalShape, humanevalShape, mbppShape, mathShape];

/**
 * The task of a row: one of our own, of GSM8K, IFEval, HumanEval, MBPP or MATH, or any that has the field to ask.
 *
 * @throws {SyntaxError} when it is none, with its place.
 */
export function rowTask(value: unknown, options: RowTaskOptions): Task {
  const { place, id, dataKey } = options;
  return { id, ...taskOf(requireRow(value, place), place, dataKey) };
}

/** The known shape of a row; `undefined` when it has none. */
export function knownShape(row: Row, dataKey?: string): RowShape | undefined {
  return SHAPES.find(({ fits, queryKey }) => fits(row) && (dataKey === undefined || dataKey === queryKey));
}

function taskOf(row: Row, place: string, dataKey?: string): RowTask {
  const shape = knownShape(row, dataKey);
  if (shape !== undefined) return shape.task(row, place);
  if (isOwnRow(row) && (dataKey ?? "query") === "query") return ownTask(row, place);
  return anyTask(row, { place, dataKey: dataKey ?? "query" });
}
