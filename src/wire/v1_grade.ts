/**
 * The JSON of `/v1` about grades.
 *
 * @module
 */
import * as z from "zod";
import { MAX_MESSAGES, MAX_NAME_CHARACTERS } from "./limits.ts";
import { optionalKey } from "./schema.ts";

/** The text that a grader compares with. A number is read as text. */
export const answerTextSchema = z.union([z.string(), z.number()], { error: "must be a text or a number" })
  .transform(String);

/** Task fields that a grade request may have at the top level. */
const TASK_FIELDS = ["answer", "tests"] as const;

/** A conversation or a completion to score. */
export const gradeRequestSchema = z.strictObject({
  grader: z.string().max(MAX_NAME_CHARACTERS),
  task: z.strictObject({
    id: z.string().default("task"),
    query: z.string().default(""),
    answer: optionalKey(answerTextSchema),
    reference: optionalKey(z.string()),
    fields: optionalKey(z.record(z.string(), z.unknown())),
  }).prefault({}).describe("the task; fields contains input of the grader, such as a program's tests"),
  messages: z.array(
    z.strictObject({ role: z.enum(["system", "user", "assistant", "tool"]), content: z.string() }),
  ).min(1).max(MAX_MESSAGES).optional().describe("the whole conversation"),
  completion: z.string().optional().describe("the final reply, instead of messages"),
  answer: answerTextSchema.optional().describe("the task's answer, instead of task.answer"),
  tests: z.array(z.string()).optional().describe("tests of a program, instead of task.fields.tests"),
}).superRefine((request, context) => {
  if ((request.messages === undefined) === (request.completion === undefined)) {
    context.addIssue({ code: "custom", message: "give either 'messages' or 'completion'" });
  }
  const inTask = { answer: request.task.answer, tests: request.task.fields?.tests };
  for (const name of TASK_FIELDS) {
    if (request[name] === undefined || inTask[name] === undefined) continue;
    context.addIssue({ code: "custom", path: [name], message: "must not be given twice: the task has it" });
  }
}).meta({ id: "GradeRequest" });

/** A score. */
export const scoreSchema = z.object({
  score: z.number().nullable().describe("null if no score can be computed, which is not 0"),
  parts: optionalKey(z.record(z.string(), z.number().nullable())),
  reason: optionalKey(z.string()).describe("reason for a missing score"),
}).meta({ id: "Score" });

/** The names of the graders. */
export const graderListSchema = z.object({ graders: z.array(z.string()) });
