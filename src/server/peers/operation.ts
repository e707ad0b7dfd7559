import type { RouteConfig } from "@hono/zod-openapi";
import * as z from "zod";

type Responses = RouteConfig["responses"];

/** Description of a route, without the group, which is the peer's name. */
export type PeerOperation = Omit<RouteConfig, "tags"> & {
  /** Names of further groups that list the operation. */
  readonly alsoIn?: readonly string[];
};

/** Options of {@linkcode operation}. */
export interface OperationOptions extends Pick<PeerOperation, "alsoIn" | "responses"> {
  /** Id of the operation, unique in the description of the API. */
  readonly id: string;
  readonly summary: string;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly headers?: z.ZodObject;
  readonly body?: NonNullable<NonNullable<RouteConfig["request"]>["body"]>;
}

type Method = RouteConfig["method"];

/** Describes a route, which is named as `post /execute`. */
export function operation(route: `${Method} ${string}`, options: OperationOptions): PeerOperation {
  const { id: operationId, summary, responses, alsoIn = [], ...request } = options;
  const at = route.indexOf(" ");
  const [method, path] = [route.slice(0, at) as Method, route.slice(at + 1)];
  return { operationId, method, path, summary, alsoIn, request, responses };
}

/** Format of a system's errors. */
export interface ErrorFormat {
  readonly schema: z.ZodType;
  readonly example: unknown;
  /** True if some errors are plain text. */
  readonly hasText?: boolean;
}

/** Errors that any route of a compatible system can have. */
const ANY = [500, 503];

/** Declares the errors of a route in the format of the system. */
export function errorsOf(
  { schema, example, hasText = false }: ErrorFormat,
  statuses: readonly number[],
): Responses {
  const content = {
    "application/json": { schema, example },
    ...(hasText && { "text/plain": { schema: z.string() } }),
  };
  return Object.fromEntries(
    [...statuses, ...ANY].map((status) => [
      status,
      { description: DESCRIPTIONS[status] ?? "The request failed", content },
    ]),
  );
}

const DESCRIPTIONS: Readonly<Record<number, string>> = {
  400: "The request is wrong",
  401: "A token is required, or is not one of the server's",
  404: "There is no such session, context or file",
  406: "The client must accept the format of the response",
  409: "The session has ended, or has such a stream",
  415: "The body must be JSON",
  422: "The body is invalid",
  429: "The server is busy",
  500: "The server failed",
  501: "Paddock lacks what is requested",
  502: "There is no such sandbox",
  503: "The sandbox failed, or the request was cancelled",
  504: "No session was free in time, or the server is busy: retry",
};

/** Errors of FastAPI's servers: a list of issues in the body, or a message. */
export const DETAIL_ERROR: ErrorFormat = {
  schema: z.object({
    detail: z.union([
      z.string(),
      z.array(z.looseObject({
        type: z.string(),
        loc: z.array(z.union([z.string(), z.number()])),
        msg: z.string(),
      })),
    ]),
  }).meta({ id: "DetailError" }),
  example: { detail: [{ type: "missing", loc: ["body", "code"], msg: "Field required" }] },
};
