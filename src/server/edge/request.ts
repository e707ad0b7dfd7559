import * as z from "zod";
import { parseDataJson } from "../../numbers/data_json.ts";
import { gradeRequestSchema } from "../../wire/v1_grade.ts";
import { type GradeInput, toGradeInput } from "../graders.ts";
import { ServerError, toInvalidRequest } from "../http/http_errors.ts";
import { describeIssue } from "../../schema_words.ts";

const MAX_ITEMS = 256;

/** Maximum number of characters of a conversation: graders block the serving thread in proportion to it. */
const MAX_CHARACTERS = 512 * 1024;

/** Request of `/v1/grade` whose conversation has a bounded length. */
const edgeRequest = gradeRequestSchema.superRefine((request, context) => {
  const texts = [request.completion ?? "", ...(request.messages ?? []).map(({ content }) => content)];
  if (texts.reduce((sum, { length }) => sum + length, 0) > MAX_CHARACTERS) {
    context.addIssue({
      code: "custom",
      message: `all messages together must have at most ${MAX_CHARACTERS} characters`,
    });
  }
});

const batch = z.strictObject({ items: z.array(z.unknown()).min(1).max(MAX_ITEMS) });

/** Conversation to grade, its task and the name of the grader. */
export interface EdgeRequest extends GradeInput {
  readonly grader: string;
}

/**
 * Parses a grade request.
 *
 * @throws {ServerError} `invalid`; the message lists every issue.
 */
export function parseGradeRequest(body: unknown): EdgeRequest {
  const { data, error } = edgeRequest.safeParse(body, { error: describeIssue });
  if (error) throw toInvalidRequest(error);
  return { grader: data.grader, ...toGradeInput(data) };
}

/**
 * Parses a batch. Its items are parsed later.
 *
 * @throws {ServerError} `invalid` if there is no item or too many.
 */
export function parseItems(body: unknown): readonly unknown[] {
  const { data, error } = batch.safeParse(body, { error: describeIssue });
  if (error) throw toInvalidRequest(error);
  return data.items;
}

/**
 * Reads the body of a request as JSON, with large integers as text.
 *
 * @throws {ServerError} `malformed` if it is not JSON.
 */
export async function readJson(request: { text(): Promise<string> }): Promise<unknown> {
  try {
    return parseDataJson(await request.text());
  } catch (cause) {
    throw new ServerError("malformed", "The body must be JSON", { cause });
  }
}
