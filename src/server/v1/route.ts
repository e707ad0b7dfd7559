import type { OpenAPIHono } from "@hono/zod-openapi";
import { z } from "zod";
import { MAX_NAME_CHARACTERS } from "../../wire/limits.ts";
import { failureSchema } from "../../wire/v1.ts";
import type { AppEnv } from "../http/context.ts";

/** The server's `/v1` API. */
export type Api = OpenAPIHono<AppEnv>;

/** JSON content with a schema. */
export interface JsonContent<Schema extends z.ZodType> {
  content: { "application/json": { schema: Schema } };
}

/** Declares a required JSON body. */
export function jsonBody<Schema extends z.ZodType>(schema: Schema): JsonContent<Schema> & { required: true } {
  return { required: true, content: { "application/json": { schema } } };
}

/** Declares a JSON body that a request may omit, which means `{}`. */
export function optionalJsonBody<Schema extends z.ZodType>(
  schema: Schema,
): JsonContent<Schema> & { required: false } {
  return { ...jsonBody(schema), required: false };
}

/** Declares a JSON response. */
export function jsonResponse<Schema extends z.ZodType>(
  schema: Schema,
  description: string,
): JsonContent<Schema> & { description: string } {
  return { description, content: { "application/json": { schema } } };
}

/** Declares the error response of every route. */
export const failures: { default: JsonContent<typeof failureSchema> & { description: string } } = {
  default: jsonResponse(failureSchema, "The error; 429, 503 and 504 have a Retry-After header"),
};

/** Path parameter with the id of a session. */
export const idParams: z.ZodObject<{ id: z.ZodString }> = z.object({
  id: z.string().max(MAX_NAME_CHARACTERS),
});
