import type { z } from "zod";
import type { AppContext } from "../app_env.ts";
import { asServerError, errorHeaders } from "../error_answer.ts";
import { ServerError } from "../server_error.ts";
import { pydanticFaults } from "./pydantic_faults.ts";

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
  const parsed = schema.safeParse(await jsonOf(c), { reportInput: true });
  if (parsed.success) return parsed.data;
  throw new DetailError(pydanticFaults(parsed.error, ["body"]));
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
