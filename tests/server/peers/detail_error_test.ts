import { assertEquals } from "@std/assert";
import { z } from "zod";
import { toPydanticIssues } from "../../../src/server/peers/detail_error.ts";

Deno.test("toPydanticIssues() tells errors in the words that clients of FastAPI know", () => {
  const schema = z.strictObject({
    code: z.string(),
    count: z.int().nonnegative(),
    seconds: z.number().positive(),
    flags: z.array(z.boolean()),
    more: z.record(z.string(), z.unknown()),
    mode: z.enum(["a", "b"]),
  });
  const value = { count: -1, seconds: 0, flags: ["x"], more: 1, mode: "c", other: 1 };
  const { error } = schema.safeParse(value, { reportInput: true });
  assertEquals(error && toPydanticIssues(error, ["body"]), [
    { type: "missing", loc: ["body", "code"], msg: "Field required" },
    { type: "greater_than_equal", loc: ["body", "count"], msg: "Input should be greater than or equal to 0" },
    { type: "greater_than", loc: ["body", "seconds"], msg: "Input should be greater than 0" },
    { type: "bool_type", loc: ["body", "flags", 0], msg: "Input should be a valid boolean" },
    { type: "dict_type", loc: ["body", "more"], msg: "Input should be a valid dictionary" },
    { type: "literal_error", loc: ["body", "mode"], msg: 'Invalid option: expected one of "a"|"b"' },
    { type: "extra_forbidden", loc: ["body", "other"], msg: "Extra inputs are not permitted" },
  ]);
  const other = { ...value, seconds: "1", flags: 1, count: 1.5, mode: undefined };
  const { error: whole } = schema.safeParse(other, { reportInput: true });
  assertEquals(whole && toPydanticIssues(whole).slice(1, 4).map(({ type, loc }) => [type, ...loc]), [
    ["int_type", "count"],
    ["float_type", "seconds"],
    ["list_type", "flags"],
  ]);
  assertEquals(whole && toPydanticIssues(whole).find(({ loc }) => loc[0] === "mode")?.type, "missing");
});
