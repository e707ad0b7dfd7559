import type { Message } from "../message.ts";
import type { Task } from "../task.ts";
import {
  columnsOf,
  lookUpPath,
  parseRow,
  pathsBelow,
  queryField,
  type Row,
  type RowTask,
  shorten,
} from "./row.ts";
import { findRowShape, hasBox, nativeTask, taskRowSchema } from "./row_shapes.ts";
import { isJsonObject } from "../json.ts";

/**
 * Columns of a file of tasks. A name may be a path with dots: `reward_model.ground_truth` is the field `ground_truth`
 * of the object in the column `reward_model`. A column whose own name has the dots is found first.
 */
export interface TaskColumns {
  /**
   * Column of the query: a text, or a list of messages.
   *
   * @default the row's column among `query`, `question`, `prompt`, `problem`, `input` and `messages`
   */
  query?: string | undefined;
  /**
   * Column of the answer: a text, a number, a boolean, or a list of such values.
   *
   * @default `reward_model.ground_truth`, or the row's column among `answer`, `target` and `ground_truth`, else a
   * `solution` with `\boxed{…}`
   */
  answer?: string | undefined;
  /**
   * Column of the id: a text or a number.
   *
   * @default `id`, or the name of the file and the number of the row
   */
  id?: string | undefined;
  /** Column of the system message. By default, a row has only the system messages of `messages`. */
  system?: string | undefined;
  /**
   * Columns that are kept in the task's `fields`, for graders and envs.
   *
   * @default all columns that are not used otherwise
   */
  keep?: readonly string[] | undefined;
}

const QUERIES = ["query", "question", "prompt", "problem", "input", "messages"];
const ANSWERS = ["answer", "target", "ground_truth"];
/** Column of the answer in rows of verl. */
const VERL_ANSWER = "reward_model.ground_truth";
const TASK_FIELDS = Object.keys(taskRowSchema.shape);
/** Columns that are found in any case of letters. */
const KNOWN = [...new Set([...QUERIES, ...ANSWERS, ...TASK_FIELDS, "solution"])];

/** Columns of a row that became the query and the answer. */
export interface FoundColumns {
  readonly query: string;
  /** Absent if the row has no answer. */
  readonly answer?: string;
  /** Columns that could have an answer: those that became `fields`, and paths of the fields of their objects. */
  readonly others: readonly string[];
}

/** Options of {@linkcode toFileTask}. */
export interface FileTaskOptions {
  /** Location of the row, for error messages. */
  location: string;
  columns: TaskColumns;
  /** Called for a row whose columns are no known format: neither Paddock's format nor the format of a data set. */
  onFound?: ((found: FoundColumns) => void) | undefined;
}

/** A row with the row's place, and the columns to read. */
interface Source extends Readonly<FileTaskOptions> {
  readonly row: Row;
}

/**
 * Converts a row of a file to a task: a row of GSM8K, IFEval, HumanEval, MBPP or MATH, a row in Paddock's own format,
 * or any row with a query, such as rows of TRL, verl and inspect.
 *
 * @throws {SyntaxError} if a column is missing, or several could be meant; the message names the option.
 * @throws {SyntaxError} if a column has a value of a wrong type.
 */
export function toFileTask(given: Row, options: FileTaskOptions): RowTask {
  const { columns } = options;
  const source = { ...options, row: withKnownNames(given, columns) };
  const isMapped = columns.query !== undefined || columns.answer !== undefined;
  const task = isMapped ? undefined : knownTask(source);
  const { system, keep } = columns;
  const mapped = withId(task ?? mappedTask(source), source);
  const prompted = system === undefined
    ? mapped
    : { ...mapped, query: withSystem(mapped.query, source, system) };
  return keep === undefined ? prompted : { ...withoutFields(prompted), ...keptFields(source, keep) };
}

/** Renames columns such as `Question` to the known name, if no option names them and the row lacks the known name. */
function withKnownNames(row: Row, { query, answer, id, system, keep = [] }: TaskColumns): Row {
  const given = [query, answer, id, system, ...keep].map((path) => path?.split(".")[0]);
  const nameOf = (key: string) => {
    const name = key.trim().toLowerCase();
    return KNOWN.includes(name) && !Object.hasOwn(row, name) && !given.includes(key) ? name : key;
  };
  const keys = Object.keys(row);
  if (keys.every((key) => nameOf(key) === key)) return row;
  return Object.fromEntries(keys.map((key) => [nameOf(key), row[key]]));
}

function knownTask({ row, location }: Source): RowTask | undefined {
  const shape = findRowShape(row);
  if (shape !== undefined) return shape.task(row, location);
  const isNative = "query" in row && Object.keys(row).every((key) => TASK_FIELDS.includes(key));
  return isNative ? nativeTask(row, location) : undefined;
}

function mappedTask(source: Source): RowTask {
  const { row, location, columns } = source;
  const query = queryColumn(source);
  const found = answerOf(source, query);
  const chat = splitChat(valueOf(source, query, "query"));
  const used = [query, found.column, columns.system, columns.id ?? "id"];
  const rest = Object.entries(row).filter(([key]) => !used.includes(key));
  const { replies, reference = found.reference ?? chat.reference, fields, ...others } = Object.fromEntries(
    rest,
  );
  const hasAnswer = found.from !== undefined;
  for (const key of Object.keys(others)) refuseTypo(key, source, hasAnswer);
  if (!isJsonObject(fields ?? {})) {
    throw new SyntaxError(
      `Cannot read task at ${location} as 'fields' must be an object: found ${shorten(fields)}`,
    );
  }
  source.onFound?.({ query, ...(hasAnswer && { answer: found.from }), others: columnsOf(others) });
  const allFields = { ...Object(fields), ...others };
  return nativeTask({
    query: parseRow(queryField, chat.query, `${location}: ${query}`),
    answer: found.answer,
    replies,
    reference,
    ...(Object.keys(allFields).length > 0 && { fields: allFields }),
  }, location);
}

/** Refuses a column that is probably a misspelt field of a task, as the task would lack that field. */
function refuseTypo(column: string, { row, location, columns }: Source, hasAnswer: boolean): void {
  const isNative = "query" in row && columns.query === undefined;
  const fields = isNative ? TASK_FIELDS : hasAnswer ? [] : ["answer"];
  const meant = fields.find((name) => !(name in row) && name.length > 3 && isMisspelt(column, name));
  if (meant === undefined || columns.keep?.includes(column)) return;
  throw new SyntaxError(
    `Cannot read task at ${location} as it has an unknown field [${column}]: '${meant}' is probably meant; ` +
      (meant === "answer" ? `--answer-field ${column} takes it as the answer, and ` : "") +
      `--keep-fields ${column} keeps it for graders`,
  );
}

/** True if two words differ by a letter that is added, removed or changed, or by two swapped neighbours. */
function isMisspelt(word: string, right: string): boolean {
  let start = 0;
  while (start < word.length && word[start] === right[start]) start++;
  let end = 0;
  const most = Math.min(word.length, right.length) - start;
  while (end < most && word.at(-1 - end) === right.at(-1 - end)) end++;
  const [wrong, meant] = [word, right].map((text) => text.slice(start, text.length - end));
  if (wrong === undefined || meant === undefined) return false;
  const isSwapped = wrong.length === 2 && meant.length === 2 && wrong[0] === meant[1] &&
    wrong[1] === meant[0];
  return isSwapped || (wrong.length <= 1 && meant.length <= 1);
}

function queryColumn({ row, location, columns }: Source): string {
  if (columns.query !== undefined) return columns.query;
  if ("query" in row) return "query";
  const [first, second] = QUERIES.filter((name) => name in row);
  if (first === undefined) {
    throw missing("the query", { row, location, option: "--query-field" });
  }
  if (second !== undefined) {
    throw new SyntaxError(
      `Cannot read task at ${location} as the query may be '${first}' or '${second}': give --query-field NAME`,
    );
  }
  const beside = ["instruction", "choices"].find((name) => name in row);
  if (beside === undefined) return first;
  throw new SyntaxError(
    `Cannot read task at ${location} as the query may be '${first}' without its '${beside}': ` +
      `give --query-field ${first}, or a column with both`,
  );
}

interface FoundAnswer {
  /** Column that has the value, also inside an object. */
  readonly from?: string;
  /** Column that is used up. */
  readonly column?: string;
  readonly answer?: string;
  /** The solution before the answer, as in GSM8K. */
  readonly reference?: string;
}

function answerOf(source: Source, query: string): FoundAnswer {
  const { row, location, columns: { answer } } = source;
  if (answer !== undefined) {
    return { column: answer, from: answer, ...textAnswer(valueOf(source, answer, "answer"), answer, source) };
  }
  const ofVerl = lookUpPath(row, VERL_ANSWER);
  if (ofVerl !== undefined) return { from: VERL_ANSWER, ...textAnswer(ofVerl, VERL_ANSWER, source) };
  const [column, other] = ANSWERS.filter((name) => name in row && name !== query);
  if (other !== undefined) {
    throw new SyntaxError(
      `Cannot read task at ${location} as the answer may be '${column}' or '${other}': give --answer-field NAME`,
    );
  }
  if (column !== undefined) {
    const found = textAnswer(row[column], column, source);
    return { column, from: column, ...splitWorked(found.answer) };
  }
  const { solution } = row;
  if (typeof solution !== "string" || !hasBox(solution)) return {};
  return { column: "solution", from: "solution", answer: solution };
}

/** Separates the number after the last `####` from the solution before the mark. */
function splitWorked(answer: string | undefined): FoundAnswer {
  const cut = answer?.lastIndexOf("\n####") ?? -1;
  if (answer === undefined || cut < 0) return answer === undefined ? {} : { answer };
  return { answer: answer.slice(cut + 5).trim(), reference: answer.slice(0, cut).trimEnd() };
}

function textAnswer(value: unknown, column: string, { location }: Source): FoundAnswer {
  if (value === undefined || value === null) return {};
  const [single, ...more] = Array.isArray(value) ? value : [value];
  if (more.length === 0 && ["string", "number", "boolean", "bigint"].includes(typeof single)) {
    return { answer: String(single) };
  }
  throw new SyntaxError(
    `Cannot read task at ${location} as the answer in '${column}' must be a text or a number: found ${
      shorten(value)
    }; give --answer-field NAME, for example a path such as ${
      Array.isArray(value) ? `${column}.0` : pathsBelow(column, value)[0] ?? column
    }`,
  );
}

/** Splits the reply off a conversation that ends in a reply, as the policy has to write that reply. */
function splitChat(query: unknown): { query: unknown; reference?: string } {
  const last = Array.isArray(query) ? query.at(-1) : undefined;
  if (!Array.isArray(query) || query.length < 2 || Object(last).role !== "assistant") return { query };
  const { content } = Object(last);
  return { query: query.slice(0, -1), ...(typeof content === "string" && { reference: content }) };
}

function withId(task: RowTask, { row, location, columns }: Source): RowTask {
  const column = columns.id ?? "id";
  const value = lookUpPath(row, column);
  if (typeof value === "string" && value !== "") return { ...task, id: value };
  if (["number", "bigint"].includes(typeof value)) return { ...task, id: String(value) };
  if (columns.id === undefined) return task;
  if (value === undefined) throw missing("the id", { row, location, option: "--id-field", column });
  throw new SyntaxError(
    `Cannot read task at ${location} as the id in '${column}' must be a text or a number: found ${
      shorten(value)
    }`,
  );
}

function withSystem(query: Task["query"], source: Source, column: string): Task["query"] {
  const content = valueOf(source, column, "system");
  if (content === null || content === "") return query;
  const start = `Cannot read task at ${source.location} as the system message in '${column}'`;
  if (typeof content !== "string") {
    throw new SyntaxError(`${start} must be a text: found ${shorten(content)}`);
  }
  const messages: Message[] = typeof query === "string" ? [{ role: "user", content: query }] : [...query];
  if (messages[0]?.role !== "system") return [{ role: "system", content }, ...messages];
  throw new SyntaxError(`${start} is one of two: its messages begin with another`);
}

function withoutFields({ fields: _, ...task }: RowTask): RowTask {
  return task;
}

function keptFields({ row, location }: Source, keep: readonly string[]): Pick<RowTask, "fields"> {
  const fields = Object.fromEntries(keep.map((column) => {
    const value = lookUpPath(row, column) ?? lookUpPath(Object(row.fields), column);
    if (value !== undefined) return [column, value];
    throw missing("data", { row, location, option: "--keep-fields", column });
  }));
  return keep.length > 0 ? { fields } : {};
}

function valueOf({ row, location }: Source, column: string, what: "query" | "answer" | "system"): unknown {
  const value = lookUpPath(row, column);
  if (value !== undefined) return value;
  throw missing(`the ${what}`, { row, location, option: `--${what}-field`, column });
}

function missing(
  what: string,
  { row, location, option, column }: { row: Row; location: string; option: string; column?: string },
): SyntaxError {
  const needs = column === undefined ? `a column with ${what}` : `${what} in '${column}'`;
  return new SyntaxError(
    `Cannot read task at ${location} as it needs ${needs}: found [${
      columnsOf(row).join(", ")
    }]; give ${option} NAME`,
  );
}
