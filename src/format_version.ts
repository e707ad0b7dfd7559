import * as z from "zod";

/**
 * Returns the schema of the key `format`, which states the version of a file's format. What was written before the
 * key existed has none, and is version 1. A version above `newest` is refused.
 */
export function formatVersion(newest: number): z.core.$ZodType<number> {
  return z.int("must be an integer").min(1, "must be 1 or more").max(newest, {
    error: ({ input }) =>
      `must be ${newest} or lower for this version of Paddock: a newer one wrote format ${input}`,
  }).default(1);
}
