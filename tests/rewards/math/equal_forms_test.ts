import { assertEquals } from "@std/assert";
import { parse } from "@std/jsonc";
import { isSameAnswer } from "../../../src/rewards/math/same_answer.ts";

const TABLE = parse(await Deno.readTextFile(new URL("equal_forms.jsonc", import.meta.url)));

for (const [truth, reply, expected] of TABLE as unknown as [string, string, boolean][]) {
  Deno.test(`isSameAnswer() ${expected ? "accepts" : "refuses"} '${reply}' for '${truth}' of the table`, () => {
    assertEquals(isSameAnswer(reply, truth), expected);
  });
}
