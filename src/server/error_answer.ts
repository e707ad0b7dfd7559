import { HTTPException } from "hono/http-exception";
import type { z } from "zod";
import { type ErrorCode, errorCodeOf } from "../wire/error_codes.ts";
import { ServerError, sessionError, toErrorBody } from "./server_error.ts";

/** What is told of requests that were refused before they were looked at. */
const REFUSED: Partial<Record<ErrorCode, string>> = {
  malformed: "The body must be JSON",
  unsupported: "The body must be JSON and say so: send the header 'content-type: application/json'",
};

/** The answer to a request for what is not there; `index` shows what is. */
export function missing({ method, path }: { method: string; path: string }, index: string): Response {
  const asked = `${method} ${path.slice(0, 100)}`;
  return errorAnswer(new ServerError("not_found", `There is no ${asked}: ${index} shows what there is`));
}

/** The answer to a request that failed, in the words of the server's own API. */
export function errorAnswer(error: ServerError): Response {
  return Response.json({ error: toErrorBody(error) }, { status: error.status, headers: errorHeaders(error) });
}

/** The headers that go with a failure. */
export function errorHeaders({ code, retryAfter }: ServerError): Record<string, string> {
  return {
    ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
    ...(code === "unauthorized" && { "www-authenticate": "Bearer" }),
  };
}

/** Whatever was thrown, as whoever asked may see it: nothing of the host's is in it. */
export function asServerError(error: unknown): ServerError {
  if (error instanceof ServerError) return error;
  if (error instanceof HTTPException) {
    const code = errorCodeOf(error.status) ?? "malformed";
    return new ServerError(code, REFUSED[code] ?? "The request is refused", { cause: error });
  }
  return sessionError(error);
}

/** What is wrong with a request, one line for each issue. */
export function invalidRequest(error: z.core.$ZodError): ServerError {
  const lines = error.issues.map(({ path, message }) => `${path.join(".") || "the request"}: ${message}`);
  return new ServerError("invalid", lines.slice(0, 16).join("; "));
}
