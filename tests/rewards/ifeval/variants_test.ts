import { assertEquals } from "@std/assert";
import { looseVariants } from "../../../src/rewards/ifeval/variants.ts";

Deno.test("looseVariants() returns eight variants of a response", () => {
  assertEquals(looseVariants("Sure:\n\n*one*\n\nBye"), [
    "Sure:\n\n*one*\n\nBye",
    "*one*\n\nBye",
    "Sure:\n\n*one*",
    "*one*",
    "Sure:\n\none\n\nBye",
    "one\n\nBye",
    "Sure:\n\none",
    "one",
  ]);
  assertEquals(looseVariants("one"), ["one", "", "", "", "one", "", "", ""]);
});
