import { assertEquals } from "@std/assert";
import { parse } from "@std/jsonc";
import { toScore } from "../../../src/rewards/grader.ts";
import { math } from "../../../src/rewards/math.ts";
import { replyContext } from "../replies.ts";

type Row = readonly [answer: string, reply: string, isRight: boolean];

const KINDS = parse(await Deno.readTextFile(new URL("kinds.jsonc", import.meta.url)));

for (const [kind, rows] of Object.entries(KINDS as unknown as Record<string, Row[]>)) {
  for (const [answer, reply, isRight] of rows) {
    const name = `math() ${isRight ? "accepts" : "refuses"} ${
      JSON.stringify(reply)
    } for '${answer}' (${kind})`;
    Deno.test(name, async () => {
      const { score, parts } = toScore(await math().grade(replyContext(reply, answer)));
      assertEquals({ isScored: score !== null, success: parts?.success }, {
        isScored: true,
        success: isRight ? 1 : 0,
      });
    });
  }
}
