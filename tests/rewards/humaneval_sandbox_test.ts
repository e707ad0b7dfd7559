import { assertEquals } from "@std/assert";
import { loadProfile, SandboxPool } from "../../mod.ts";
import { History } from "../../src/history.ts";
import { toScore } from "../../src/rewards/grader.ts";
import { hiddenTests } from "../../src/rewards/hidden_tests.ts";

const FILE = new URL("../data/humaneval/HumanEval.jsonl.gz", import.meta.url);

interface Problem {
  readonly task_id: string;
  readonly prompt: string;
  readonly canonical_solution: string;
}

async function readProblems(): Promise<Problem[]> {
  const file = await Deno.open(FILE);
  const text = await new Response(file.readable.pipeThrough(new DecompressionStream("gzip"))).text();
  return text.trim().split("\n").map((line) => JSON.parse(line));
}

Deno.test({
  name: "hiddenTests() gives the 164 HumanEval solutions 1, and their copies without a body 0",
  async fn() {
    const problems = await readProblems();
    assertEquals(problems.length, 164);
    const tools = await loadProfile("tools");
    const profile = { ...tools, limits: { ...tools.limits, hostToolCalls: 200 } };
    await using pool = new SandboxPool({
      profile: await loadProfile("python"),
      size: 1,
      resetMode: "rewind",
    });
    await using testPool = new SandboxPool({ profile, size: 1, resetMode: "rewind" });
    const grader = hiddenTests({ pool, testPool });
    const wrong: string[] = [];
    await Promise.all(problems.map(async (problem) => {
      const { task_id: id, prompt, canonical_solution } = problem;
      const task = { id, query: prompt, fields: { ...problem } };
      const score = async (program: string) => {
        const reply = { role: "assistant", content: `\`\`\`python\n${prompt}${program}\n\`\`\`` };
        return toScore(await grader.grade({ task, history: History.fromChats([reply]) })).score;
      };
      if (await score(canonical_solution) !== 1) wrong.push(id);
      if (await score("    pass") !== 0) wrong.push(`${id} without its body`);
    }));
    assertEquals(wrong, []);
  },
});
