import type * as z from "zod";
import type { AppContext } from "../http/context.ts";
import { ServerError, toErrorHeaders, toServerError } from "../http/http_errors.ts";

/** Error of an invalid body, for systems that report errors in `detail`. */
export class DetailError extends ServerError {
  readonly detail: readonly object[];

  constructor(detail: readonly object[]) {
    super("invalid", "The body is invalid");
    this.detail = detail;
  }
}

/** Reads and validates a JSON body. */
export async function readDetailBody<T>(c: AppContext, schema: z.ZodType<T>): Promise<T> {
  const parsed = schema.safeParse(await readJson(c), { reportInput: true });
  if (parsed.success) return parsed.data;
  throw new DetailError(toPydanticIssues(parsed.error, ["body"]));
}

/** Returns the response of a failed request. `detail` is a list of issues in the body, or a message. */
export function detailResponse(thrown: unknown): Response {
  const error = toServerError(thrown);
  const detail = error instanceof DetailError ? error.detail : error.message;
  return Response.json({ detail }, { status: error.status, headers: toErrorHeaders(error) });
}

async function readJson(c: AppContext): Promise<unknown> {
  try {
    return await c.req.json();
  } catch {
    throw new DetailError([{ type: "json_invalid", loc: ["body"], msg: "JSON decode error" }]);
  }
}

/** Issue in pydantic's format, as in FastAPI. */
export interface PydanticIssue {
  readonly type: string;
  readonly loc: readonly PropertyKey[];
  readonly msg: string;
}

/** Pydantic's error types and names of JSON types. */
const WANTED: Readonly<Record<string, readonly [type: string, name: string]>> = {
  string: ["string_type", "string"],
  number: ["float_type", "number"],
  int: ["int_type", "integer"],
  boolean: ["bool_type", "boolean"],
  array: ["list_type", "list"],
  object: ["dict_type", "dictionary"],
  record: ["dict_type", "dictionary"],
};

/** Maximum number of issues, and of unknown keys of an issue. */
const MAX_ISSUES = 20;

/**
 * Converts the first 20 zod issues to pydantic's format. `at` is the location of the value. The value must have been
 * parsed with `reportInput`, which distinguishes missing from wrong values.
 */
export function toPydanticIssues({ issues }: z.ZodError, at: readonly string[] = []): PydanticIssue[] {
  return issues.slice(0, MAX_ISSUES).flatMap((issue) => {
    const loc = [...at, ...issue.path];
    if (issue.code === "unrecognized_keys") {
      return issue.keys.slice(0, MAX_ISSUES).map((key) => ({
        type: "extra_forbidden",
        loc: [...loc, key],
        msg: "Extra inputs are not permitted",
      }));
    }
    return [{ loc, ...messageOf(issue) }];
  });
}

function messageOf(issue: z.core.$ZodIssue): { type: string; msg: string } {
  const { code, message } = issue;
  if (issue.input === undefined) return { type: "missing", msg: "Field required" };
  if (code === "too_small" && (issue.origin === "number" || issue.origin === "int")) {
    const { minimum, inclusive = true } = issue;
    return inclusive
      ? { type: "greater_than_equal", msg: `Input should be greater than or equal to ${minimum}` }
      : { type: "greater_than", msg: `Input should be greater than ${minimum}` };
  }
  if (code === "invalid_value") return { type: "literal_error", msg: message };
  if (code !== "invalid_type") return { type: code, msg: message };
  const [type, name] = WANTED[issue.expected] ?? [];
  return type === undefined ? { type: code, msg: message } : { type, msg: `Input should be a valid ${name}` };
}
