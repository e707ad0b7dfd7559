import type { Message } from "./message.ts";
import { z } from "zod";

/** One problem to be solved in one episode. */
export interface Task {
  readonly id: string;
  /** What the user asks, or a conversation that the episode goes on from. */
  readonly query: string | Iterable<Message>;
  /** What a grader compares with; a policy is never shown it. */
  readonly answer?: string;
  /** What a scripted policy says, turn by turn. */
  readonly replies?: readonly string[];
  /** A worked solution that leads to the answer without stating it apart. */
  readonly reference?: string;
  /** The other fields of its row, for graders and envs; a policy is never shown them. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** A task as a policy may see it. */
export type OpenTask = Omit<Task, "answer" | "fields">;

/** How {@linkcode readTasks} reads. */
export interface ReadTasksOptions {
  /** Stops after so many tasks. */
  limit?: number | undefined;
}

const text = z.union([z.string(), z.number()]).transform(String);

const ownRow = z.strictObject({
  id: text.optional(),
  query: z.string().min(1),
  answer: text.optional(),
  replies: z.array(z.string()).optional(),
  reference: z.string().optional(),
});

const gsm8kRow = z.object({
  question: z.string().min(1),
  answer: z.string().regex(/\n?####[^\n]*\d/, "must end in a line '#### number'"),
});

/** The task without what would give its answer away. */
export function withoutAnswer(task: Task): OpenTask {
  const { answer: _answer, fields: _fields, ...open } = task;
  return open;
}

/**
 * Reads a file of JSON lines, one task at a time: rows of GSM8K `{ question, answer }`, or rows of our own
 * `{ query, id?, answer?, replies?, reference? }`. Empty lines are passed over.
 *
 * @throws {SyntaxError} at a line that is no task, with the file and the line's number.
 * @throws {RangeError} when the limit is not a whole number of at least 1.
 */
export async function* readTasks(path: string, options: ReadTasksOptions = {}): AsyncGenerator<Task> {
  const { limit = Infinity } = options;
  if (!(limit >= 1) || (limit !== Infinity && !Number.isInteger(limit))) {
    throw new RangeError(
      `Cannot read tasks as 'limit' must be a whole number >= 1: current value is ${limit}`,
    );
  }
  let given = 0;
  for await (const { line, number } of readLines(path)) {
    if (line.trim() === "") continue;
    yield parseTask(line, path, number);
    if (++given >= limit) return;
  }
}

async function* readLines(path: string): AsyncGenerator<{ line: string; number: number }> {
  using file = await Deno.open(path);
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const piece = new Uint8Array(64 * 1024);
  let rest = "";
  let number = 0;
  for (let size = await file.read(piece); size !== null; size = await file.read(piece)) {
    const lines = (rest + decode(decoder, piece.subarray(0, size), `${path}:${number + 1}`)).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield { line, number: ++number };
  }
  rest += decode(decoder, undefined, `${path}:${number + 1}`);
  if (rest !== "") yield { line: rest, number: ++number };
}

function decode(decoder: TextDecoder, bytes: Uint8Array<ArrayBuffer> | undefined, place: string): string {
  try {
    return decoder.decode(bytes, { stream: bytes !== undefined });
  } catch (cause) {
    throw new SyntaxError(`Cannot read tasks at ${place} or after it as the file must be UTF-8`, { cause });
  }
}

function parseTask(line: string, path: string, number: number): Task {
  const row = parseJson(line, `${path}:${number}`);
  const name = path.replace(/^.*[/\\]/, "").replace(/\.[^.]+$/, "");
  const id = `${name}:${number}`;
  if (typeof row === "object" && row !== null && "question" in row) {
    return gsm8kTask(checked(gsm8kRow, row, `${path}:${number}`), id);
  }
  const { query, answer, replies, reference, id: ownId = id } = checked(ownRow, row, `${path}:${number}`);
  return {
    id: ownId,
    query,
    ...(answer !== undefined && { answer }),
    ...(replies !== undefined && { replies }),
    ...(reference !== undefined && { reference }),
  };
}

function gsm8kTask(row: z.output<typeof gsm8kRow>, id: string): Task {
  const cut = row.answer.lastIndexOf("####");
  return {
    id,
    query: row.question,
    answer: row.answer.slice(cut + 4).trim(),
    reference: row.answer.slice(0, cut).trimEnd(),
  };
}

function parseJson(line: string, place: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new SyntaxError(`Cannot read task at ${place} as it must be JSON: ${String(cause)}`, { cause });
  }
}

function checked<Schema extends z.ZodType>(schema: Schema, row: unknown, place: string): z.output<Schema> {
  const parsed = schema.safeParse(row);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) =>
    path.length > 0 ? `${path.join(".")}: ${message}` : message
  );
  throw new SyntaxError(`Cannot read task at ${place}: ${issues.join("; ")}`);
}
