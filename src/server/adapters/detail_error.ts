import type { z } from "zod";
import type { AppContext } from "../app_env.ts";
import { toErrorHeaders, toServerError } from "../error_answer.ts";
import { ServerError } from "../server_error.ts";
import { toPydanticIssues } from "./pydantic_faults.ts";

/** Error of an invalid body, for systems that report it in `detail`. */
export class DetailError extends ServerError {
  readonly detail: readonly object[];

  constructor(detail: readonly object[]) {
    super("invalid", "The body is invalid");
    this.detail = detail;
  }
}

/** Reads a JSON body and validates it. */
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
