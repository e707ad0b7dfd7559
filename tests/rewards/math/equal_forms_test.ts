import { assertEquals } from "@std/assert";
import { parse } from "@std/jsonc";
import { math } from "../../../src/rewards/math.ts";
import { toScore } from "../../../src/rewards/grader.ts";
import { isSameAnswer } from "../../../src/rewards/math/same_answer.ts";
import { replyContext } from "../replies.ts";

const TABLE = parse(await Deno.readTextFile(new URL("equal_forms.jsonc", import.meta.url)));

for (const [truth, reply, expected] of TABLE as unknown as [string, string, boolean][]) {
  Deno.test(`isSameAnswer() ${expected ? "accepts" : "refuses"} '${reply}' for '${truth}' of the table`, () => {
    assertEquals(isSameAnswer(reply, truth), expected);
  });
}

const REPLIES = parse(await Deno.readTextFile(new URL("replies.jsonc", import.meta.url)));

for (const [answer, reply, expected] of REPLIES as unknown as [string, string, boolean][]) {
  Deno.test(`math() ${expected ? "accepts" : "refuses"} the reply ${JSON.stringify(reply)} for '${answer}'`, async () => {
    const { score } = toScore(await math().grade(replyContext(reply, answer)));
    assertEquals(score, expected ? 1 : 0);
  });
}
