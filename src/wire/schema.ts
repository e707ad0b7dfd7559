import * as z from "zod";

/**
 * Declares that a key may be missing. A value of `undefined`, which JSON cannot have, is accepted too: the generator of
 * `/openapi.json` lists keys that refuse it as required.
 */
export function optionalKey<Schema extends z.core.$ZodType>(schema: Schema): z.ZodExactOptional<Schema> {
  return z.optional(schema) as unknown as z.ZodExactOptional<Schema>;
}

/**
 * Accepts `null` beside a schema that has an id. The generator of `/openapi.json` would make all uses of the id accept
 * `null` if `nullable()` was called.
 */
export function nullOr<Schema extends z.core.$ZodType>(schema: Schema): z.ZodUnion<[Schema, z.ZodNull]> {
  return z.union([schema, z.null()]);
}
