import type { OpenAPIHono } from "@hono/zod-openapi";
import { z } from "zod";
import { MAX_NAME_CHARACTERS } from "../../wire/limits.ts";
import { failure } from "../../wire/v1.ts";
import type { AppEnv } from "../app_env.ts";

/** The server's own API. */
export type Api = OpenAPIHono<AppEnv>;

/** JSON that fits a schema, as a route announces it. */
export interface JsonContent<Schema extends z.ZodType> {
  content: { "application/json": { schema: Schema } };
}

/** A body of JSON, which must be there. */
export function jsonBody<Schema extends z.ZodType>(schema: Schema): JsonContent<Schema> & { required: true } {
  return { required: true, content: { "application/json": { schema } } };
}

/** An answer of JSON. */
export function jsonAnswer<Schema extends z.ZodType>(
  schema: Schema,
  description: string,
): JsonContent<Schema> & { description: string } {
  return { description, content: { "application/json": { schema } } };
}

/** How every request may fail. */
export const failures: { default: JsonContent<typeof failure> & { description: string } } = {
  default: jsonAnswer(failure, "Why it failed; 429, 503 and 504 say in Retry-After when to ask again"),
};

/** The session that a path names. */
export const sessionPath: z.ZodObject<{ id: z.ZodString }> = z.object({
  id: z.string().max(MAX_NAME_CHARACTERS),
});
