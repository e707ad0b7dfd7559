import { z } from "zod";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { formatVersion } from "../src/format_version.ts";

Deno.test("formatVersion() reads a missing version as 1, and every version up to the newest", () => {
  const schema = formatVersion(2);
  assertEquals([undefined, 1, 2].map((value) => z.parse(schema, value)), [1, 1, 2]);
});

Deno.test("formatVersion() throws for a newer version, and for a value that is not a version", () => {
  const schema = formatVersion(1);
  assertStringIncludes(
    z.safeParse(schema, 2).error?.message ?? "",
    "must be 1 or lower for this version of Paddock: a newer one wrote format 2",
  );
  for (const value of [0, 1.5, "1", null]) assertEquals(z.safeParse(schema, value).success, false);
});
