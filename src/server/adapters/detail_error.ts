import type { z } from "zod";
import type { AppContext } from "../app_env.ts";
import { asServerError, errorHeaders } from "../error_answer.ts";
import { ServerError } from "../server_error.ts";

/** A body that does not fit, in the words of the systems that say `detail`. */
export class DetailError extends ServerError {
  readonly detail: readonly object[];

  constructor(detail: readonly object[]) {
    super("invalid", "The body does not fit");
    this.detail = detail;
  }
}

/** The body of a request as JSON that fits a schema. */
export async function detailBody<T>(c: AppContext, schema: z.ZodType<T>): Promise<T> {
  const body = await jsonOf(c);
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new DetailError(
    parsed.error.issues.map((issue) => ({ ...fault(issue, body), loc: ["body", ...issue.path] })),
  );
}

/** What types are called there, and in a sentence. */
const TYPES: Readonly<Record<string, readonly [string, string]>> = {
  string: ["string_type", "string"],
  number: ["float_type", "number"],
  int: ["int_type", "integer"],
  boolean: ["bool_type", "boolean"],
  array: ["list_type", "list"],
  object: ["dict_type", "dictionary"],
  record: ["dict_type", "dictionary"],
};

/** What is wrong at one place, in Pydantic's words where it has a word for it. */
function fault(issue: z.core.$ZodIssue, body: unknown): { type: string; msg: string } {
  if (valueAt(body, issue.path) === undefined) return { type: "missing", msg: "Field required" };
  const [type, name] = (issue.code === "invalid_type" && TYPES[issue.expected]) || [];
  if (type !== undefined) return { type, msg: `Input should be a valid ${name}` };
  return { type: issue.code === "invalid_value" ? "literal_error" : issue.code, msg: issue.message };
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((at, key) => Object(at)[key], value);
}

/** The answer to a request that failed: `detail` is a list of faults in the body, or a sentence. */
export function detailAnswer(thrown: unknown): Response {
  const error = asServerError(thrown);
  const detail = error instanceof DetailError ? error.detail : error.message;
  return Response.json({ detail }, { status: error.status, headers: errorHeaders(error) });
}

async function jsonOf(c: AppContext): Promise<unknown> {
  try {
    return await c.req.json();
  } catch {
    throw new DetailError([{ type: "json_invalid", loc: ["body"], msg: "JSON decode error" }]);
  }
}
