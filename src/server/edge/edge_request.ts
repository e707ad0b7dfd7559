import { z } from "zod";
import { History } from "../../history.ts";
import type { Task } from "../../task.ts";
import { answerText, gradeRequest } from "../../wire/v1.ts";
import { invalidRequest } from "../error_answer.ts";
import { ServerError } from "../server_error.ts";

const MAX_ITEMS = 256;
const task = gradeRequest.shape.task;

/** Longer than any reply of a model; graders take time in proportion, and others wait for them. */
const MAX_CHARACTERS = 512 * 1024;

/** What of a task may stand beside it. */
const SHORT = ["answer", "tests"] as const;

/** A request of `/v1/grade`, or the same said shorter. */
const edgeRequest = gradeRequest.extend({
  task: task.prefault({}),
  messages: gradeRequest.shape.messages.optional(),
  completion: z.string().optional(),
  answer: answerText.optional(),
  tests: z.array(z.string()).optional(),
}).superRefine((given, context) => {
  if ((given.messages === undefined) === (given.completion === undefined)) {
    context.addIssue({ code: "custom", message: "give either 'messages' or 'completion'" });
  }
  const texts = [given.completion ?? "", ...(given.messages ?? []).map(({ content }) => content)];
  if (texts.reduce((sum, { length }) => sum + length, 0) > MAX_CHARACTERS) {
    context.addIssue({
      code: "custom",
      message: `what was said must have at most ${MAX_CHARACTERS} characters`,
    });
  }
  const inTask = { answer: given.task.answer, tests: given.task.fields?.tests };
  for (const name of SHORT) {
    if (given[name] === undefined || inTask[name] === undefined) continue;
    context.addIssue({ code: "custom", path: [name], message: "stands in the task already" });
  }
});

const batch = z.strictObject({ items: z.array(z.unknown()).min(1).max(MAX_ITEMS) });

/** What is to be graded, and by whom. */
export interface EdgeRequest {
  readonly grader: string;
  readonly task: Task;
  readonly history: History;
}

/**
 * Reads a request to grade.
 *
 * @throws {ServerError} when it is none; the message lists every fault.
 */
export function readRequest(body: unknown): EdgeRequest {
  const { data, error } = edgeRequest.safeParse(body);
  if (error) throw invalidRequest(error);
  const { grader, task, messages, completion = "", answer, tests } = data;
  const reply = [{ role: "assistant", content: completion }];
  const question = task.query === "" ? [] : [{ role: "user", content: task.query }];
  return {
    grader,
    task: {
      ...task,
      ...(answer !== undefined && { answer }),
      ...(tests !== undefined && { fields: { ...task.fields, tests } }),
    },
    history: History.fromChats(messages ?? [...question, ...reply]),
  };
}

/**
 * The items of a batch, which are read one by one.
 *
 * @throws {ServerError} when it is no list of them, or one too long.
 */
export function readItems(body: unknown): readonly unknown[] {
  const { data, error } = batch.safeParse(body);
  if (error) throw invalidRequest(error);
  return data.items;
}

/**
 * The body of a request as JSON.
 *
 * @throws {ServerError} when it is none.
 */
export async function readJson(request: Request): Promise<unknown> {
  try {
    return await request.json();
  } catch (cause) {
    throw new ServerError("malformed", "The body must be JSON", { cause });
  }
}
