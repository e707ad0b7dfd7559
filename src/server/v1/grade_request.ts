import { z } from "zod";

const message = z.strictObject({
  role: z.enum(["system", "user", "assistant", "tool"]),
  content: z.string(),
});

/** What a grader compares with: a text, or a number that is taken as one. */
export const answerText = z.union([z.string(), z.number()], { error: "must be a text or a number" })
  .transform(String);

/** A conversation to score, as it comes in. */
export const gradeRequest = z.strictObject({
  grader: z.string().max(64),
  task: z.strictObject({
    id: z.string().default("task"),
    query: z.string().default(""),
    answer: answerText.exactOptional(),
    reference: z.string().exactOptional(),
    fields: z.record(z.string(), z.unknown()).exactOptional(),
  }).describe("what it was about; fields hold what the grader needs, such as a program's tests"),
  messages: z.array(message).min(1).max(4096).describe("the whole conversation"),
}).meta({ id: "GradeRequest" });
