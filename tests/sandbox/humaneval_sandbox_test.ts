import { assert, assertEquals } from "@std/assert";
import { loadProfile, SandboxPool } from "../../mod/sandbox.ts";

const FILE = new URL("../data/humaneval/HumanEval.jsonl.gz", import.meta.url);

interface Problem {
  task_id: string;
  prompt: string;
  canonical_solution: string;
  test: string;
  entry_point: string;
}

async function readProblems(): Promise<Problem[]> {
  const file = await Deno.open(FILE);
  const text = await new Response(file.readable.pipeThrough(new DecompressionStream("gzip"))).text();
  return text.trim().split("\n").map((line) => JSON.parse(line));
}

function program({ prompt, test, entry_point }: Problem, body: string): string {
  return `${prompt}${body}\n${test}\ncheck(${entry_point})\n`;
}

Deno.test({
  name: "HumanEval: each of the 164 solutions passes its tests, and without its body fails them",
  fn: async () => {
    const problems = await readProblems();
    assertEquals(problems.length, 164);
    await using pool = new SandboxPool({
      profile: await loadProfile("python"),
      size: 2,
      resetMode: "rewind",
    });
    await Promise.all(problems.map(async (problem) => {
      await using lease = await pool.acquire();
      const right = await lease.session.exec(program(problem, problem.canonical_solution));
      assertEquals(right.status, "ok", `${problem.task_id}: ${JSON.stringify(right)}`);
      await lease.session.reset({ mode: "rewind" });
      const broken = await lease.session.exec(program(problem, "    pass\n"));
      assert(broken.status === "error", `${problem.task_id} without its body: ${JSON.stringify(broken)}`);
    }));
  },
});
