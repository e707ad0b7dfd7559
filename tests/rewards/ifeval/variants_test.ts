import { assertEquals } from "@std/assert";
import { looseVariantsOf } from "../../../src/rewards/ifeval/variants.ts";

Deno.test("looseVariantsOf() returns eight variants of a response", () => {
  assertEquals(looseVariantsOf("Sure:\n\n*one*\n\nBye"), [
    "Sure:\n\n*one*\n\nBye",
    "*one*\n\nBye",
    "Sure:\n\n*one*",
    "*one*",
    "Sure:\n\none\n\nBye",
    "one\n\nBye",
    "Sure:\n\none",
    "one",
  ]);
  assertEquals(looseVariantsOf("one"), ["one", "", "", "", "one", "", "", ""]);
});
