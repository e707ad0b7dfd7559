import { HTTPException } from "hono/http-exception";
import type { z } from "zod";
import { type ErrorCode, errorCodeOf } from "../wire/error_codes.ts";
import { ServerError, toErrorBody, toPublicError } from "./server_error.ts";

/** Messages for requests that hono refuses before a route runs. */
const REFUSED: Partial<Record<ErrorCode, string>> = {
  malformed: "The body must be JSON",
  unsupported: "The body must be JSON: send the header 'content-type: application/json'",
};

/** Returns the 404 response for an unknown path. `index` is the path that lists the routes. */
export function notFoundResponse(
  { method, path }: { method: string; path: string },
  index: string,
): Response {
  const route = `${method} ${path.slice(0, 100)}`;
  return errorResponse(new ServerError("not_found", `There is no route ${route}: see ${index}`));
}

/** Returns the response of a failed request in the format of `/v1`. */
export function errorResponse(error: ServerError): Response {
  return Response.json({ error: toErrorBody(error) }, {
    status: error.status,
    headers: toErrorHeaders(error),
  });
}

/** Returns the headers of an error response. */
export function toErrorHeaders({ code, retryAfter }: ServerError): Record<string, string> {
  return {
    ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
    ...(code === "unauthorized" && { "www-authenticate": "Bearer" }),
  };
}

/** Converts any thrown value into an error that may be sent to the client. It contains nothing about the host. */
export function toServerError(error: unknown): ServerError {
  if (error instanceof ServerError) return error;
  if (error instanceof HTTPException) {
    const code = errorCodeOf(error.status) ?? "malformed";
    return new ServerError(code, REFUSED[code] ?? "The request is refused", { cause: error });
  }
  return toPublicError(error);
}

/** Converts validation issues into one `invalid` error, with at most 16 issues in its message. */
export function toInvalidRequest(error: z.core.$ZodError): ServerError {
  const issues = error.issues.map(({ path, message }) => `${path.join(".") || "the request"}: ${message}`);
  return new ServerError("invalid", issues.slice(0, 16).join("; "));
}
