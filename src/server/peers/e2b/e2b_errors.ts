import type * as z from "zod";
import type { AppContext } from "../../http/context.ts";
import { ServerError, toErrorHeaders, toInvalidRequest, toServerError } from "../../http/http_errors.ts";
import { describeIssue } from "../../../schema_words.ts";

/** Error of a request to a sandbox that does not exist any more, which E2B's proxy answers with 502. */
export class SandboxGoneError extends ServerError {
  readonly sandboxId: string;

  constructor(sandboxId: string) {
    super("not_found", `The sandbox '${sandboxId}' was not found`);
    this.sandboxId = sandboxId;
  }
}

/** Error of a feature of E2B that Paddock lacks: status 501. */
export class NotImplementedError extends ServerError {
  constructor(message: string) {
    super("unsupported", message);
  }
}

/** Returns the response of a failed request in the format of E2B's API: `{code, message}`. */
export function codeResponse(thrown: unknown): Response {
  const error = toServerError(thrown);
  const status = statusOf(error);
  const extra = error instanceof SandboxGoneError ? { sandboxId: error.sandboxId } : {};
  return Response.json({ ...extra, code: status, message: error.message }, {
    status,
    headers: toErrorHeaders(error),
  });
}

function statusOf(error: ServerError): number {
  if (error instanceof SandboxGoneError) return 502;
  if (error instanceof NotImplementedError) return 501;
  return error.code === "invalid" ? 400 : error.status;
}

/** Reads and validates a JSON body, which may be empty. */
export async function readCodeBody<T>(c: AppContext, schema: z.ZodType<T>): Promise<T> {
  const text = await c.req.text();
  let body: unknown = {};
  try {
    if (text.trim() !== "") body = JSON.parse(text);
  } catch (cause) {
    throw new ServerError("malformed", "The body must be JSON", { cause });
  }
  const parsed = schema.safeParse(body, { error: describeIssue });
  if (parsed.success) return parsed.data;
  throw toInvalidRequest(parsed.error);
}
