import * as z from "zod";
import type { Task } from "../task.ts";
import {
  hasFields,
  otherFields,
  parseRow,
  queryField,
  requireRow,
  type Row,
  type RowShape,
  type RowTask,
  textField,
} from "./row.ts";

const ANSWER =
  "must end in a line '#### number' in a row with a 'question', as in GSM8K; otherwise use the field 'query'";

const gsm8kRow = z.object({
  id: textField.optional(),
  question: z.string().min(1),
  answer: z.string(ANSWER).regex(/\n?####[^\n]*\d/, ANSWER),
});

/** Rows of GSM8K: `{ question, answer }`. The answer is a worked solution that ends in `#### number`. */
export const gsm8kShape: RowShape = {
  matches: ({ question, answer }) =>
    question !== undefined && typeof answer === "string" && answer.includes("####"),
  queryKey: "question",
  task(row, location) {
    const { id, question, answer } = parseRow(gsm8kRow, row, location);
    const cut = answer.lastIndexOf("####");
    return {
      ...(id !== undefined && { id }),
      query: question,
      answer: answer.slice(cut + 4).trim(),
      reference: answer.slice(0, cut).trimEnd(),
      ...otherFields(row, ["id", "question", "answer"]),
    };
  },
};

const humanevalRow = z.object({
  task_id: textField,
  prompt: z.string().min(1),
  entry_point: z.string(),
  test: z.string(),
});

/**
 * Rows of HumanEval: `{ task_id, prompt, entry_point, canonical_solution, test }`. Tests and solution go to the task's
 * `fields`, which no policy sees. The prompt goes there too, since a grader may run the program after the prompt.
 */
const humanevalShape: RowShape = {
  matches: (row) => hasFields(row, ["task_id", "prompt", "entry_point", "test"]),
  queryKey: "prompt",
  task(row, location) {
    const { task_id, prompt } = parseRow(humanevalRow, row, location);
    return { id: task_id, query: prompt, ...otherFields(row, ["task_id"]) };
  },
};

const ifevalRow = z.object({
  key: textField.optional(),
  prompt: z.string().min(1),
  instruction_id_list: z.array(z.string()),
  kwargs: z.array(z.unknown()),
});

/**
 * Rows of IFEval: `{ key, prompt, instruction_id_list, kwargs }`. The instructions go to the task's `fields`.
 */
const ifevalShape: RowShape = {
  matches: (row) => hasFields(row, ["prompt", "instruction_id_list", "kwargs"]),
  queryKey: "prompt",
  task(row, location) {
    const { key, prompt } = parseRow(ifevalRow, row, location);
    return { ...(key !== undefined && { id: key }), query: prompt, ...otherFields(row, ["prompt"]) };
  },
};

const mbppRow = z.object({ task_id: textField, text: z.string().min(1), test_list: z.array(z.string()) });

/**
 * Rows of MBPP: `{ task_id, text, code, test_list, test_setup_code }`. Tests and solution go to the task's
 * `fields`, which no policy sees.
 */
const mbppShape: RowShape = {
  matches: (row) => hasFields(row, ["task_id", "text", "test_list"]),
  queryKey: "text",
  task(row, location) {
    const { task_id, text } = parseRow(mbppRow, row, location);
    return { id: task_id, query: text, ...otherFields(row, ["task_id", "text"]) };
  },
};

const mathRow = z.object({
  id: textField.optional(),
  problem: z.string().min(1),
  solution: z.string(),
  answer: textField.nullish(),
});

/**
 * Rows of MATH: `{ problem, solution }`. The solution ends in `\boxed{…}`, which graders search for. The
 * solution is the task's answer, unless the row has a field `answer`.
 */
const mathShape: RowShape = {
  matches: (row) => hasFields(row, ["problem", "solution"]),
  queryKey: "problem",
  task(row, location) {
    const { id, problem, solution, answer } = parseRow(mathRow, row, location);
    const answerKey = answer === undefined || answer === null ? "solution" : "answer";
    if (answerKey === "solution" && !hasBox(solution)) {
      throw new SyntaxError(
        `Cannot read task at ${location} as its 'solution' must have the answer in \\boxed{…}, as in MATH: ` +
          "give --answer-field NAME, the column with the answer",
      );
    }
    return {
      ...(id !== undefined && { id }),
      query: problem,
      answer: answer ?? solution,
      ...otherFields(row, ["id", "problem", answerKey]),
    };
  },
};

/** True if a solution has the answer in a box. */
export function hasBox(solution: string): boolean {
  return /\\(?:boxed|fbox)(?![a-zA-Z])/.test(solution);
}

/** Schema of a row in Paddock's own format. */
export const taskRowSchema = z.strictObject({
  id: textField.nullish(),
  query: queryField,
  answer: textField.nullish(),
  replies: z.array(z.string()).nullish(),
  reference: z.string().nullish(),
  fields: z.record(z.string(), z.unknown()).nullish(),
}, { error: (issue) => issue.code === "unrecognized_keys" ? unknownFields(issue.keys) : undefined });

function unknownFields(names: readonly string[]): string {
  const known = Object.keys(taskRowSchema.shape).join(", ");
  return `unknown field [${
    names.join(", ")
  }]: allowed are ${known}; put data for graders and envs in 'fields'`;
}

/** True if a row has only the fields of a task. */
function isNativeRow(row: object): boolean {
  return "query" in row && Object.keys(row).every((key) => key in taskRowSchema.shape);
}

/**
 * Converts a row in Paddock's own format to a task: `{ query, id?, answer?, replies?, reference?, fields? }`.
 * A field that is `null` counts as absent.
 *
 * @throws {SyntaxError} if the row has an unknown field, or a field of a wrong type.
 */
export function nativeTask(row: unknown, location: string): RowTask {
  const { query, id, answer, replies, reference, fields } = parseRow(taskRowSchema, row, location);
  return {
    query,
    ...(id && { id }),
    ...(typeof answer === "string" && { answer }),
    ...(replies && { replies }),
    ...(reference && { reference }),
    ...(fields && { fields }),
  };
}

const optionalFields = z.object({ id: textField, answer: textField, replies: z.array(z.string()) }).partial();
const answerRow = z.looseObject({ answer: textField.nullish() });

/**
 * Converts a row of any dataset to a task. The field `dataKey` is the query and `answer` the answer; `id` and
 * `replies` are used if they have the right type. All other fields go to the task's `fields`.
 *
 * @throws {SyntaxError} if there is no query, or the answer is neither a string nor a number.
 */
function genericTask(row: Row, options: { location: string; dataKey: string }): RowTask {
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

/** Options of {@linkcode toEpisodeTask}. */
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
 * Converts a row to a task. The row can be in Paddock's own format, in the format of GSM8K, IFEval, HumanEval,
 * MBPP or MATH, or in any format with a query field.
 *
 * @throws {SyntaxError} if the row does not describe a task; the message has the location.
 */
export function toTask(value: unknown, options: ToTaskOptions): Task {
  const { location, id, dataKey } = options;
  return { id, ...taskOf(requireRow(value, location), location, dataKey) };
}

/** Returns the known format of a row; `undefined` if the format is unknown. */
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
