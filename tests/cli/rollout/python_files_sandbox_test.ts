import { assertEquals, assertStringIncludes } from "@std/assert";
import { resolveText } from "../../../src/cli/config/config_file.ts";
import { isPluginPath } from "../../../src/cli/rollout/plugins.ts";
import { TempFolder } from "../../temp_folder.ts";
import { runPaddock } from "../run_paddock.ts";

const TASKS = [
  { id: "a", query: "q", answer: "3", level: 2, replies: ["It is 3"] },
  { id: "b", query: "q", answer: "4", level: 3, replies: ["It is 3"] },
].map((row) => JSON.stringify(row)).join("\n");

const GRADER = `
def grade(completion: str, answer: str, level: int) -> dict:
    print("grading", completion)
    right = float(completion.endswith(answer))
    return {"score": right, "level": level}
`;

Deno.test("a Python file of an option is a file, and relative to that of --config", () => {
  assertEquals(["g.py", "./g.py", "G.PY", "sub/g.py"].filter(isPluginPath).length, 4);
  assertEquals(["scripted:a.py", "gpy", "g.pyc"].filter(isPluginPath), []);
  assertEquals(resolveText("g.py", "source", "/srv"), "/srv/g.py");
  assertEquals(resolveText("g.py=0.5", "source", "/srv"), "/srv/g.py=0.5");
});

Deno.test("--grader takes a Python file, with a weight and beside others", async () => {
  await using folder = await TempFolder.of({ "t.jsonl": TASKS, "g.py": GRADER });
  const { path } = folder;
  const args = ["--tasks", `${path}/t.jsonl`, "--json"];
  const run = await runPaddock([
    "rollout",
    ...args,
    "--grader",
    `${path}/g.py=0.5`,
    "--grader",
    "exact_match=2",
  ]);
  assertEquals(run.code, 0, run.stderr);
  const rows = run.stdout.trim().split("\n").map((line) => JSON.parse(line));
  assertEquals(
    rows.map(({ task, reward, rewardParts }) => [task.id, reward, rewardParts["g"], rewardParts["g.level"]])
      .sort(),
    [["a", 0.5, 1, 2], ["b", 0, 0, 3]],
  );
  assertStringIncludes(run.stderr, "g.py: grading It is 3\n");
});

Deno.test("grade takes a Python file, and an exception leaves the episode without a score", async () => {
  const broken = "def grade(completion, answer):\n    return 1 / (int(answer) - 4)\n";
  await using folder = await TempFolder.of({ "t.jsonl": TASKS, "g.py": broken });
  const { path } = folder;
  const out = ["--tasks", `${path}/t.jsonl`, "--grader", "none", "--out", `${path}/a.jsonl`];
  assertEquals((await runPaddock(["rollout", ...out])).code, 0);
  const run = await runPaddock(["grade", `${path}/a.jsonl`, "--grader", `${path}/g.py`, "--json"]);
  assertEquals(run.code, 1);
  const rows = run.stdout.trim().split("\n").map((line) => JSON.parse(line));
  const byId = new Map(rows.map((row) => [row.task.id, row]));
  assertEquals(byId.get("a").reward, -1);
  assertEquals(byId.get("b").reward, null);
  assertStringIncludes(
    byId.get("b").error.message,
    `ZeroDivisionError: division by zero (${path}/g.py, line 2)`,
  );
  assertStringIncludes(run.stderr, `g.py:   File "${path}/g.py", line 2, in grade\n`);
});

Deno.test("a Python file that does not load is wrong usage, with its line", async () => {
  await using folder = await TempFolder.of({ "t.jsonl": TASKS, "g.py": "x = 1\ny = x / 0\n", "p.py": "" });
  const { path } = folder;
  const cases: readonly (readonly [args: readonly string[], message: string])[] = [
    [["--grader", `${path}/g.py`], `g.py': ZeroDivisionError: division by zero (${path}/g.py, line 2)`],
    [["--grader", `${path}/no.py`], "there is no such file"],
    [
      ["--grader", `${path}/g.py`, "--grader-allow", "net"],
      "Cannot grant permissions as --grader-allow needs a file",
    ],
    [
      ["--grader", `${path}/g.py`, "--python-profile", "sciense"],
      "Cannot find profile 'sciense'",
    ],
    [["--policy", `${path}/p.py`], "as a policy file must be TypeScript or JavaScript: found Python"],
  ];
  for (const [args, message] of cases) {
    const run = await runPaddock(["rollout", "--tasks", `${path}/t.jsonl`, ...args]);
    assertEquals(run.code, 2, run.stderr);
    assertStringIncludes(run.stderr, message);
  }
});

Deno.test("--python-profile gives Python files their limits", async () => {
  await using folder = await TempFolder.of({
    "t.jsonl": TASKS,
    "g.py": "def grade(completion):\n    while True: pass\n",
    "p.jsonc": `{ "description": "short", "limits": { "timeoutMs": 200 } }`,
  });
  const { path } = folder;
  const args = ["--tasks", `${path}/t.jsonl`, "--limit", "1", "--json"];
  const files = ["--grader", `${path}/g.py`, "--python-profile", `${path}/p.jsonc`];
  const run = await runPaddock(["rollout", ...args, ...files]);
  assertEquals(run.code, 1, run.stderr);
  assertStringIncludes(JSON.parse(run.stdout).error.message, "it took more than its time limit");
});

const ENV_PY = `
"""Asks again."""
def step(reply: str, answer: str):
    return None if reply.endswith(answer) else {"message": "Again.", "reward": -0.25}

def reward(completion, answer):
    return float(completion.endswith(answer))
`;
const ENV_TS = `
import { defineEnv } from "@paddock/paddock/envs";
export default defineEnv({
  step: ({ reply, task }) => reply.endsWith(task.answer ?? "") ? null : { message: "Again.", reward: -0.25 },
  reward: ({ completion, answer }) => completion.endsWith(answer ?? "") ? 1 : 0,
});
`;

Deno.test("--env plays an env in a Python or TypeScript file, with its own reward", async () => {
  const task = { id: "a", q: "q", answer: "3", replies: ["It is 2", "It is 3"] };
  await using folder = await TempFolder.of({
    "t.jsonl": JSON.stringify(task),
    "env.py": ENV_PY,
    "env.ts": ENV_TS,
  });
  const { path } = folder;
  const tasks = ["--tasks", `${path}/t.jsonl`, "--query-field", "q"];
  for (const name of ["env.py", "env.ts"]) {
    const out = ["--out", `${path}/${name}.jsonl`];
    const run = await runPaddock(["rollout", "--env", `${path}/${name}`, ...tasks, ...out, "--json"]);
    assertEquals(run.code, 0, run.stderr);
    const { reward, rewardParts, versions, messages } = JSON.parse(run.stdout);
    assertEquals([reward, rewardParts, versions.env, messages.length], [0.75, { env: 1 }, "env", 4]);
    const graded = await runPaddock([
      ...["rollout", "--env", `${path}/${name}`, ...tasks, "--grader", "exact_match", "--json"],
    ]);
    assertEquals(JSON.parse(graded.stdout).rewardParts, { exact_match: 0 });
    const resumed = await runPaddock(["rollout", "--env", `${path}/${name}`, ...tasks, ...out, "--resume"]);
    assertStringIncludes(resumed.stdout, "episodes      1 (1 of an earlier run)");
    const refused = await runPaddock(["replay", `${path}/${name}.jsonl`]);
    assertEquals(refused.code, 2);
    assertStringIncludes(refused.stderr, "as its env 'env' is in a file: give --env FILE");
  }
});

/** An env whose answers depend on what the episode has counted, with a tool that counts. */
const COUNT_PY = `
count = 0

def add(by: int) -> int:
    """Adds to the count."""
    global count
    count += by
    return count

tools = [add]

def step(reply):
    return None if reply == "end" else f"the count is {count}"

def reward():
    return float(count)
`;
const COUNT_TS = `
import { defineEnv } from "@paddock/paddock/envs";
export default defineEnv({
  reset: (_, { state }) => void (state.count = 0),
  tools: [{
    name: "add",
    description: "Adds to the count.",
    parameters: { type: "object", properties: { by: { type: "integer" } }, required: ["by"] },
    run: ({ by }, { state }) => state.count = Number(state.count) + Number(by),
  }],
  step: ({ reply }, { state }) => reply === "end" ? null : \`the count is \${state.count}\`,
  reward: (_, { state }) => Number(state.count),
});
`;

Deno.test("episodes of an env in a file branch with its state, and are replayed with the file", async () => {
  const add = (by: number) => `<tool>add\n{"by": ${by}}</tool>`;
  const task = { id: "a", query: "q", replies: [add(2), add(3), "how many?", "end"] };
  await using folder = await TempFolder.of({
    "t.jsonl": JSON.stringify(task),
    "count.py": COUNT_PY,
    "count.ts": COUNT_TS,
  });
  const { path } = folder;
  for (const name of ["count.py", "count.ts"]) {
    const [env, out] = [["--env", `${path}/${name}`], `${path}/${name}.jsonl`];
    const tree = ["--branch", "2@2", "--branch", "2@3", "--seed", "1", "--out", out];
    const run = await runPaddock(["rollout", ...env, "--tasks", `${path}/t.jsonl`, ...tree, "--json"]);
    assertEquals(run.code, 0, run.stderr);
    const rows = run.stdout.trim().split("\n").map((line) => JSON.parse(line));
    const of = ({ reward, messages }: (typeof rows)[0]) => [reward, messages.at(-2).content];
    assertEquals(
      rows.map(of),
      Array(4).fill([5, "the count is 5"]),
      "each continues with the count of its parent",
    );
    const replayed = await runPaddock(["replay", out, ...env]);
    assertEquals([replayed.code, replayed.stderr], [0, ""], replayed.stdout);
    assertEquals(replayed.stdout.match(/2 results, all the same/g)?.length, 4);
    await Deno.writeTextFile(out, (await Deno.readTextFile(out)).replace("the count is 5", "the count is 6"));
    const changed = await runPaddock(["replay", `${out}:1`, ...env]);
    assertEquals(changed.code, 1);
    assertStringIncludes(changed.stdout, "recorded  the count is 6\n    replayed  the count is 5");
  }
  const other = await runPaddock(["replay", `${path}/count.py.jsonl`, "--env", "python"]);
  assertStringIncludes(other.stderr, "as it must be a file");
});

Deno.test("--env names what is wrong with a file and its options", async () => {
  await using folder = await TempFolder.of({
    "t.jsonl": TASKS,
    "env.py": ENV_PY,
    "bad.ts": "export const x = 1;",
  });
  const { path } = folder;
  const cases: readonly (readonly [args: readonly string[], message: string])[] = [
    [["--env", `${path}/no.py`], "there is no such file"],
    [["--env", `${path}/bad.ts`], "the file must have a default export that is an object"],
    [["--env", `${path}/env.py`, "--env-allow", "net"], "as --env-allow needs a file: give --env FILE.ts"],
    [["--env-allow", "net"], "with --env-allow as it is for an env in a file: give --env FILE.ts"],
  ];
  for (const [args, message] of cases) {
    const run = await runPaddock(["rollout", "--tasks", `${path}/t.jsonl`, ...args]);
    assertEquals(run.code === 0, false);
    assertStringIncludes(run.stderr + run.stdout, message);
  }
});
