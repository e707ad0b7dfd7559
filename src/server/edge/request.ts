import { z } from "zod";
import { History } from "../../history.ts";
import type { Task } from "../../task.ts";
import { answerTextSchema, gradeRequestSchema } from "../../wire/v1.ts";
import { ServerError, toInvalidRequest } from "../http/errors.ts";

const MAX_ITEMS = 256;
const task = gradeRequestSchema.shape.task;

/** Maximum number of characters of a conversation: graders block the serving thread in proportion to it. */
const MAX_CHARACTERS = 512 * 1024;

/** Task fields that may be given at the top level of the request. */
const SHORT = ["answer", "tests"] as const;

/** Request of `/v1/grade`, or its short form. */
const edgeRequest = gradeRequestSchema.extend({
  task: task.prefault({}),
  messages: gradeRequestSchema.shape.messages.optional(),
  completion: z.string().optional(),
  answer: answerTextSchema.optional(),
  tests: z.array(z.string()).optional(),
}).superRefine((request, context) => {
  if ((request.messages === undefined) === (request.completion === undefined)) {
    context.addIssue({ code: "custom", message: "give either 'messages' or 'completion'" });
  }
  const texts = [request.completion ?? "", ...(request.messages ?? []).map(({ content }) => content)];
  if (texts.reduce((sum, { length }) => sum + length, 0) > MAX_CHARACTERS) {
    context.addIssue({
      code: "custom",
      message: `all messages together must have at most ${MAX_CHARACTERS} characters`,
    });
  }
  const inTask = { answer: request.task.answer, tests: request.task.fields?.tests };
  for (const name of SHORT) {
    if (request[name] === undefined || inTask[name] === undefined) continue;
    context.addIssue({ code: "custom", path: [name], message: "must not be given twice: the task has it" });
  }
});

const batch = z.strictObject({ items: z.array(z.unknown()).min(1).max(MAX_ITEMS) });

/** Conversation to grade, its task and the name of the grader. */
export interface EdgeRequest {
  readonly grader: string;
  readonly task: Task;
  readonly history: History;
}

/**
 * Parses a grade request.
 *
 * @throws {ServerError} `invalid`; the message lists every issue.
 */
export function parseGradeRequest(body: unknown): EdgeRequest {
  const { data, error } = edgeRequest.safeParse(body);
  if (error) throw toInvalidRequest(error);
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
 * Parses a batch. Its items are parsed later, one by one.
 *
 * @throws {ServerError} `invalid` if there is no item or too many.
 */
export function parseItems(body: unknown): readonly unknown[] {
  const { data, error } = batch.safeParse(body);
  if (error) throw toInvalidRequest(error);
  return data.items;
}

/**
 * Reads the body of a request as JSON.
 *
 * @throws {ServerError} `malformed` if it is not JSON.
 */
export async function readJson(request: { json(): Promise<unknown> }): Promise<unknown> {
  try {
    return await request.json();
  } catch (cause) {
    throw new ServerError("malformed", "The body must be JSON", { cause });
  }
}
