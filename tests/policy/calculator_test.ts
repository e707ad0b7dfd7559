import { assert, assertEquals, assertMatch } from "@std/assert";
import { History } from "../../src/history.ts";
import { messageText } from "../../src/message.ts";
import { calculationOf, calculatorPolicy } from "../../src/policy/calculator.ts";
import { toReply } from "../../src/policy/policy.ts";
import { toScore } from "../../src/rewards/grader.ts";
import { numberMatch } from "../../src/rewards/text_match.ts";
import { readTasks } from "../../src/datasets/read_tasks.ts";

Deno.test("calculationOf() uses the variables of the first program in the second", () => {
  const calculation = calculationOf(
    "She has 48/2=$<<48/2=24>>24, then <<48+24=72>>, <<72-5=67>> and <<67*24=1608>>.",
  );
  assertEquals(calculation?.programs, [
    'v1 = 48 / 2\nv2 = 48 + v1\nprint("v1 =", v1)\nprint("v2 =", v2)',
    'v3 = v2 - 5\nv4 = v3 * v1\nprint("v2 =", v2)\nprint("v4 =", v4)',
  ]);
  assertEquals(calculation?.value, 1608);
});

Deno.test("calculationOf() prints a single result again in the second program", () => {
  assertEquals(calculationOf("<<3*(4+2)=18>>")?.programs, [
    'v1 = 3 * (4 + 2)\nprint("v1 =", v1)',
    'print("v1 =", v1)',
  ]);
});

Deno.test("calculationOf() skips annotations that are not calculations", () => {
  assertEquals(calculationOf("<<>> <<=5>> <<a=b>> <<1/0=0>> <<05*.5=2.5>> <<2 x 3 apples=6>>")?.programs, [
    'v1 = 5 * 0.5\nprint("v1 =", v1)',
    'v2 = 2 * 3\nprint("v1 =", v1)\nprint("v2 =", v2)',
  ]);
  assertEquals(calculationOf("no annotation, <<nothing>>"), null);
});

Deno.test("calculatorPolicy() answers with the printed number, not with the reference's", async () => {
  const task = { id: "t", query: "q", reference: "<<1+1=2>> <<2+1=3>>" };
  const policy = calculatorPolicy();
  let history = History.fromChats([{ role: "user", content: "q" }]);
  for (const printed of ["v1 = 2\n", "v1 = 2\nv2 = 77\n"]) {
    const { message } = toReply(await policy.reply(history, { task }));
    assertMatch(messageText(message), /^```python\n[^]*\n```$/);
    const result = { role: "tool", content: `Code block 1 executed successfully:\n${printed}` };
    history = history.append(message).append(result);
  }
  assertEquals(await policy.reply(history, { task }), "The answer is <answer>77</answer>");
});

Deno.test("calculatorPolicy() answers without a number when nothing was printed", async () => {
  const failed = { role: "tool", content: "Code block 1 failed:\nCode execution timed out" };
  const history = History.fromChats([
    { role: "assistant", content: "a" },
    { role: "assistant", content: "b" },
    failed,
  ]);
  const policy = calculatorPolicy();
  const task = { id: "t", query: "q" };
  assertEquals(
    await policy.reply(history, { task: { ...task, reference: "<<1=1>>" } }),
    "I could not work it out.",
  );
  assertEquals(await policy.reply(history, { task }), "I find nothing to calculate here.");
});

const gsm8k = decodeURIComponent(new URL("../data/gsm8k/test.jsonl", import.meta.url).pathname);

Deno.test({
  name: "calculationOf() ends in the answer of 1,208 of 1,319 GSM8K problems",
  async fn() {
    const grader = numberMatch();
    let problems = 0;
    let right = 0;
    for await (const task of readTasks(gsm8k)) {
      problems++;
      const calculation = calculationOf(task.reference ?? "");
      if (calculation === null) continue;
      const answer = { role: "assistant", content: `The answer is ${calculation.value}` };
      right += toScore(await grader.grade({ task, history: History.fromChats([answer]) })).score ?? 0;
      assert(/v\d/.test(calculation.programs[1]));
    }
    assertEquals({ problems, right }, { problems: 1319, right: 1208 });
  },
});
