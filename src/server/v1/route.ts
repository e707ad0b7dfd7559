import type { OpenAPIHono } from "@hono/zod-openapi";
import type { MiddlewareHandler } from "hono";
import * as z from "zod";
import { type ErrorCode, HTTP_STATUS } from "../../wire/error_codes.ts";
import { MAX_NAME_CHARACTERS } from "../../wire/limits.ts";
import { toDataJson } from "../../numbers/data_json.ts";
import { parseWithIntegers } from "../../numbers/exact_numbers.ts";
import type { AppEnv } from "../http/context.ts";

/** The server's `/v1` API. */
export type Api = OpenAPIHono<AppEnv>;

/** JSON content with a schema. */
export interface JsonContent<Schema extends z.ZodType> {
  content: { "application/json": { schema: Schema; example?: unknown } };
}

/** Declares a required JSON body. Each body has an example, which must be valid. */
export function jsonBody<Schema extends z.ZodType>(
  schema: Schema,
  example: unknown,
): JsonContent<Schema> & { required: true } {
  return { required: true, content: { "application/json": { schema, example } } };
}

/** Declares a JSON body that a request may omit, which means `{}`. */
export function optionalJsonBody<Schema extends z.ZodType>(
  schema: Schema,
  example: unknown,
): JsonContent<Schema> & { required: false } {
  return { ...jsonBody(schema, example), required: false };
}

/**
 * Middleware of a route with tasks in the body: large integers of the body become text, as in a file of tasks.
 * Otherwise `JSON.parse` would round them before a grader compares them.
 */
export const keepTaskNumbers: MiddlewareHandler<AppEnv> = async (c, next) => {
  const text = await c.req.text();
  c.req.bodyCache.text = Promise.resolve(toDataJson(text)) as unknown as string; // the cache holds promises
  await next();
};

/**
 * Middleware of a route with values for Python in the body: an integer that a number cannot hold becomes a bigint. A
 * number that neither holds is an error, as `JSON.parse` would make the number infinite, and `JSON.stringify` null.
 */
export const keepIntegers: MiddlewareHandler<AppEnv> = async (c, next) => {
  const text = await c.req.text();
  // deno-lint-ignore no-explicit-any
  c.req.json = async (): Promise<any> => await Promise.resolve(parseBody(text));
  await next();
};

function parseBody(text: string): unknown {
  return parseWithIntegers(text);
}

/** Declares a JSON response. */
export function jsonResponse<Schema extends z.ZodType>(
  schema: Schema,
  description: string,
  { example }: { example: unknown },
): JsonContent<Schema> & { description: string } {
  return { description, content: { "application/json": { schema, example } } };
}

/**
 * Declares the errors of a route beside those that any request can have, which the document of the API adds. Their
 * bodies are in the format of `/v1`.
 */
export function failures(...codes: readonly ErrorCode[]): Record<never, { description: string }> {
  return Object.fromEntries(codes.map((code) => [HTTP_STATUS[code], { $ref: failureRef(code) }]));
}

/** Returns the reference to the response of an error code in the document. */
export function failureRef(code: ErrorCode): string {
  return `#/components/responses/${failureName(code)}`;
}

/** Returns the name of an error code's response in the document, such as `NotFound`. */
export function failureName(code: ErrorCode): string {
  return code.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** True if the response of a POST to this path is a stream, which is not kept for a repeated request. */
export function isStreamPath(path: string): boolean {
  return path.endsWith("/stream") || path === ROLLOUTS_PATH;
}

/** Path at which rollouts begin. */
export const ROLLOUTS_PATH = "/v1/rollouts";

/** Path parameter with the id of a session. */
export const idParams: z.ZodObject<{ id: z.ZodString }> = z.object({
  id: z.string().max(MAX_NAME_CHARACTERS),
});
