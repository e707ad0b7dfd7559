import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { TempFolder } from "../../temp_folder.ts";
import { runPaddock } from "../run_paddock.ts";

const TASKS = [
  {
    id: "same",
    query: "q",
    replies: [
      "```python\nimport random, time\nx = random.random()\nprint(x, time.time(), object())\n```",
      "done",
    ],
  },
  {
    id: "kept",
    query: "q",
    replies: ["```python\na = 20\n```", "```python\nprint(a + 1)\n1 / 0\n```", "done"],
  },
];

Deno.test("paddock replay runs the blocks again, and reports the results that differ", async () => {
  await using folder = await TempFolder.of({
    "tasks.jsonl": TASKS.map((task) => JSON.stringify(task)).join("\n"),
  });
  const out = `${folder.path}/out.jsonl`;
  const tasks = [
    "--tasks",
    `${folder.path}/tasks.jsonl`,
    "--grader",
    "none",
    "--seed",
    "7",
    "--concurrency",
    "1",
  ];
  assertEquals((await runPaddock(["rollout", ...tasks, "--out", out])).code, 0);
  const same = await runPaddock(["replay", out]);
  assertEquals(same, {
    code: 0,
    stdout: "row 1, task same: 1 result, all the same\nrow 2, task kept: 2 results, all the same\n",
    stderr: "",
  });
  const changed = (await Deno.readTextFile(out)).replace(/successfully:\\n21\\n|21\\n/, "22\\n");
  await Deno.writeTextFile(out, changed);
  const one = await runPaddock(["replay", `${out}:2`]);
  assertEquals(one.code, 1);
  assertMatch(
    one.stdout,
    /^row 2, task kept: 2 results, 1 turn differs\n {2}turn 2\n {4}recorded {2}.*22.*\n {4}replayed {2}.*21/,
  );
  const json = await runPaddock(["replay", out, "--json"]);
  const rows = json.stdout.trim().split("\n").map((line) => JSON.parse(line));
  assertEquals(rows.map(({ row, task, same }) => [row, task, same]), [[1, "same", true], [2, "kept", false]]);
  assertEquals([rows[1].differences.length, json.code], [1, 1]);
});

Deno.test("paddock replay exits with 2 for rows that are missing or need tools", async () => {
  const call = {
    turn: 1,
    call: 1,
    callId: "c",
    tool: "search",
    status: "ok",
    durationMs: 1,
    truncated: false,
  };
  const row = {
    task: { id: "a", query: "q" },
    sample: 1,
    versions: { paddock: "0.1.0" },
    messages: [{ role: "user", content: "q" }, { role: "assistant", content: "x" }, {
      role: "tool",
      content: "y",
    }],
    reward: null,
    turns: 1,
    terminated: true,
    truncated: false,
    steps: [],
    toolResults: [call],
    times: { totalMs: 0, policyMs: 0, envMs: 0 },
  };
  await using folder = await TempFolder.of({ "a.jsonl": `${JSON.stringify(row)}\n` });
  const cases: [string, string][] = [
    [`${folder.path}/a.jsonl:2`, "as there must be an episode 2: found 1"],
    [`${folder.path}/a.jsonl:0`, "must be >= 1: current value is 0"],
    [`${folder.path}/a.jsonl`, "as it calls 'search': give --tool FILE or --mcp FILE"],
    [`${folder.path}/none.jsonl`, "there is no such file"],
  ];
  for (const [argument, message] of cases) {
    const { code, stdout, stderr } = await runPaddock(["replay", argument]);
    assertEquals([code, stdout], [2, ""]);
    assertStringIncludes(stderr, message);
  }
});
