import { assert, assertEquals, assertRejects } from "@std/assert";
import { History, loadProfile, replyAction, rollout, SandboxPool, scriptedPolicy } from "../../mod.ts";
import { familyTasks, makeEnv } from "../../mod/envs.ts";
import { toReply } from "../../src/families/answer.ts";
import { FAMILY_NAMES, type FamilyName } from "../../src/families/names.ts";
import { FAMILIES } from "../../src/families/registry.ts";
import { generateProblem } from "../../src/families/tasks.ts";
import { family } from "../../src/rewards/family.ts";
import { checkFamily } from "./checks.ts";

async function openPool(profile: "python" | "workspace"): Promise<SandboxPool> {
  return new SandboxPool({ profile: await loadProfile(profile), size: 1, resetMode: "rewind" });
}

Deno.test("families that run answers score references 1, and other answers at most 0.1", async () => {
  await using python = await openPool("python");
  await using workspace = await openPool("workspace");
  for (const name of FAMILY_NAMES) {
    const { profile } = FAMILIES[name];
    if (profile === undefined) continue;
    const pool = profile === "python" ? python : workspace;
    const report = await checkFamily({ name, difficulties: [3, 9], count: 1, seed: 50, guesses: 1, pool });
    assertEquals(report.references, report.problems, name);
    assertEquals([report.copies, report.rightGuesses, [...report.constants]], [0, 0, []], name);
  }
});

Deno.test("makeEnv() plays a family with tools of a shell, and refuses a task of another family", async () => {
  await using env = await makeEnv("paddock/shell-files", { difficulty: 2 });
  const [task] = familyTasks("shell-files", { difficulty: 2, count: 1 });
  assert(task !== undefined);
  const { reward, steps } = await rollout(env, scriptedPolicy(), task);
  assertEquals([reward, steps.length], [1, 2]);
  const idle = await rollout(env, scriptedPolicy({ replies: () => ["I am done."] }), task);
  assertEquals([idle.reward, idle.rewardParts], [0, { family: 0, well_formed: 1 }]);
  const [other] = familyTasks("countdown", { count: 1 });
  assert(other !== undefined);
  await assertRejects(() => env.reset(other), Error, "the task is of family 'countdown'");
});

/** A program that looks for expected results in the interpreter, and answers with what it finds. */
const SNOOP = `import gc
def solve(items):
    found = [value for value in gc.get_objects() if isinstance(value, dict) and "expected" in value]
    return found[0]["expected"][0] if found else sorted(globals())
`;

const CHEATS: readonly (readonly [family: FamilyName, answer: string])[] = [
  ["debugging", SNOOP],
  ["debugging", "class Any(int):\n    def __eq__(self, other): return True\ndef solve(items): return Any()"],
  ["sql-queries", "SELECT sql FROM sqlite_master"],
  ["sql-queries", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"],
  ["sql-queries", "SELECT 1; DROP TABLE orders"],
];

Deno.test("answers that cheat score 0 in families that run answers", async () => {
  await using pool = await openPool("python");
  const grader = family({ pool });
  for (const [name, answer] of CHEATS) {
    const [task] = familyTasks(name, { difficulty: 2, count: 1 });
    assert(task !== undefined);
    const history = History.fromChats([{ role: "assistant", content: toReply(answer) }]);
    assertEquals((await grader.grade({ task, history }) as { score: number }).score, 0, answer);
  }
});

Deno.test("an episode with a session refuses a checkpoint, and one of a state machine is copied", async () => {
  await using env = await makeEnv("state-machines", { difficulty: 1 });
  const [task] = familyTasks("state-machines", { count: 1 });
  assert(task !== undefined && "fork" in env);
  await env.reset(task);
  const [first = "", ...rest] = task.replies ?? [];
  await env.step(replyAction(first));
  const [copy] = await (env as unknown as { fork(count: number): Promise<(typeof env)[]> }).fork(1);
  assert(copy !== undefined);
  await using _copy = copy;
  let reward: number | null = null;
  for (const reply of rest) ({ reward } = await copy.step(replyAction(reply)));
  assertEquals(reward, 1);
});

Deno.test("a pool without a shell is refused before the first reply", async () => {
  await using pool = await openPool("python");
  await using env = await makeEnv("shell-files", { pool });
  await assertRejects(() => env.reset({ id: "", query: "" }), Error, "shell");
  const problem = generateProblem({ family: "shell-files", version: 1, difficulty: 1, seed: 1 });
  assert(problem.kind === "tools");
  await assertRejects(() => problem.open(), Error, "it needs a session");
});
