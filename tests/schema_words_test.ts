import { assertEquals } from "@std/assert";
import * as z from "zod";
import { describeIssue } from "../src/schema_words.ts";

const schema = z.strictObject({
  text: z.string().min(2).max(3).optional(),
  count: z.int().gte(1).lte(9).optional(),
  part: z.number().gt(0).lt(1).optional(),
  even: z.number().multipleOf(2).optional(),
  list: z.array(z.boolean()).max(1).optional(),
  map: z.record(z.string(), z.null()).optional(),
  kind: z.enum(["a", "b"]).optional(),
  one: z.literal("x").optional(),
  code: z.string().regex(/^\d+$/).optional(),
  id: z.uuid().optional(),
  form: z.union([z.string(), z.number()]).optional(),
  own: z.string("must be a name").optional(),
  needed: z.string(),
});

const CASES: readonly [value: Record<string, unknown>, message: string][] = [
  [{ text: 5 }, "text: must be a string: found 5"],
  [{ text: "a" }, "text: must have at least 2 characters"],
  [{ text: "abcd" }, "text: must have at most 3 characters"],
  [{ count: 1.5 }, "count: must be a whole number: found 1.5"],
  [{ count: 0 }, "count: must be at least 1"],
  [{ count: 10 }, "count: must be at most 9"],
  [{ part: 0 }, "part: must be more than 0"],
  [{ part: 1 }, "part: must be less than 1"],
  [{ even: 3 }, "even: must be a multiple of 2"],
  [{ list: "x" }, "list: must be a list: found a string"],
  [{ list: [true, false] }, "list: must have at most 1 items"],
  [{ list: [null] }, "list.0: must be true or false: found null"],
  [{ map: [] }, "map: must be an object: found a list"],
  [{ map: { a: true } }, "map.a: must be null: found true"],
  [{ kind: "c" }, "kind: must be one of 'a', 'b': found a string"],
  [{ one: "y" }, "one: must be 'x': found a string"],
  [{ code: "x" }, String.raw`code: must match /^\d+$/`],
  [{ id: "x" }, "id: must be in the format 'uuid'"],
  [{ form: true }, "form: must have one of its forms, and has none"],
  [{ own: 5 }, "own: must be a name"],
  [{ needed: undefined }, "needed: must be a string: it is missing"],
  [{ extra: 1, other: 2 }, ": unknown keys 'extra', 'other'"],
  [{ extra: 1 }, ": unknown key 'extra'"],
];

Deno.test("describeIssue() describes each kind of issue, and keeps a schema's own message", () => {
  for (const [value, message] of CASES) {
    const { error } = schema.safeParse({ needed: "", ...value }, { error: describeIssue });
    assertEquals(error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`), [message]);
  }
});
