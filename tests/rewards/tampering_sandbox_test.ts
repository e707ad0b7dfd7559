import { assertEquals } from "@std/assert";
import { SandboxPool } from "../../mod.ts";
import { History } from "../../src/history.ts";
import { type Grader, toScore } from "../../src/rewards/grader.ts";
import { hiddenTests } from "../../src/rewards/hidden_tests.ts";
import { limited } from "../sandbox/started.ts";

interface Payload {
  readonly id: string;
  readonly family: number;
  readonly name: string;
  readonly code: string;
  /** Tests of this case, if they differ from the default ones. */
  readonly tests?: readonly string[];
  /** Time limit of code that never ends, in milliseconds. */
  readonly timeoutMs?: number;
}

const TASK = {
  id: "total",
  query: "Write total(numbers).",
  fields: {
    prompt: 'def total(numbers):\n    """The sum of a list. total([1, 2]) is 3."""\n',
    entry_point: "total",
    tests: [
      "assert total([1, 2, 3]) == 6",
      "expected = 0\nassert candidate([]) == expected",
      "import math\nassert math.isclose(total([0.1] * 10 + [40]), 41)",
      "result = total([2, 2])\nassert isinstance(result, int) and result <= 4 and result >= 4",
    ],
  },
};
const HONEST = "def total(numbers):\n    return sum(numbers)";

const text = await Deno.readTextFile(new URL("tampering.jsonl", import.meta.url));
const payloads: Payload[] = text.trim().split("\n").map((line) => JSON.parse(line));

Deno.test("tampering with a grader is worth 0, and does not harm the honest solution after it", async (t) => {
  await using pool = new SandboxPool({
    profile: await limited("python", { graceMs: 200, outputBytes: 128 * 1024 }),
    size: 1,
    resetMode: "rewind",
  });
  await using testPool = new SandboxPool({
    profile: await limited("tools", { hostToolCalls: 200 }),
    size: 1,
    resetMode: "rewind",
  });
  const grader = hiddenTests({ pool, testPool });
  assertEquals(await scoreOf(grader, HONEST), 1);
  for (const { id, name, code, tests, timeoutMs } of payloads) {
    await t.step(`${id}: ${name}`, async () => {
      assertEquals(await scoreOf(hiddenTests({ pool, testPool, timeoutMs }), code, tests), 0);
      if (tests) assertEquals(await scoreOf(grader, HONEST, tests), 1, "the honest solution of these tests");
      assertEquals(await scoreOf(grader, HONEST), 1, "the honest solution after it");
    });
  }
});

Deno.test("tampering covers the seven families of grader tampering with several payloads each", () => {
  for (const family of [60, 61, 62, 63, 64, 65, 66]) {
    assertEquals(payloads.filter((payload) => payload.family === family).length >= 5, true, `${family}`);
  }
  assertEquals(new Set(payloads.map(({ id }) => id)).size, payloads.length);
});

async function scoreOf(
  grader: Grader,
  code: string,
  tests: readonly string[] = TASK.fields.tests,
): Promise<number | null> {
  const reply = `\`\`\`python\n${code}\n\`\`\``;
  const history = History.fromChats([{ role: "assistant", content: reply }]);
  const task = { ...TASK, fields: { ...TASK.fields, tests } };
  return toScore(await grader.grade({ task, history })).score;
}
