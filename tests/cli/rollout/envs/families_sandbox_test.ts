import { assertEquals, assertStringIncludes } from "@std/assert";
import { withFiles } from "../../../datasets/temp_files.ts";
import { runPaddock } from "../../run_paddock.ts";

interface Row {
  readonly task: { readonly id: string };
  readonly reward: number;
}

async function play(...args: string[]) {
  const { code, stdout, stderr } = await runPaddock(["rollout", "--json", ...args]);
  const rows: Row[] = stdout.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  return { code, stderr, rows };
}

Deno.test("paddock rollout --env paddock/NAME plays problems of a range of difficulties", async () => {
  const range = ["--difficulty", "2-3", "--limit", "4", "--seed", "5", "--split", "test"];
  const { code, rows, stderr } = await play("--env", "paddock/graph-paths", ...range);
  assertEquals(code, 0, stderr);
  assertEquals(rows.map(({ task }) => task.id).toSorted(), [
    "paddock/graph-paths:1:2:test:5:0",
    "paddock/graph-paths:1:2:test:5:2",
    "paddock/graph-paths:1:3:test:5:1",
    "paddock/graph-paths:1:3:test:5:3",
  ]);
  assertEquals(rows.map(({ reward }) => reward), [1, 1, 1, 1]);
});

Deno.test("paddock rollout --difficulty auto follows the pass rate", async () => {
  const { code, rows, stderr } = await play("--env", "paddock/countdown", "--difficulty", "auto:2");
  assertEquals([code, rows.length], [0, 100]);
  assertStringIncludes(stderr, "Difficulty of the next episode: 5\n"); // three windows of 32
  assertEquals(new Set(rows.map(({ task }) => task.id.split(":")[2])), new Set(["2", "3", "4", "5"]));
});

Deno.test("paddock rollout plays and replays the tools of a family", async () => {
  await withFiles({}, async (folder) => {
    const out = `${folder}/a.jsonl`;
    const { code, stderr } = await play("--env", "paddock/state-machines", "--limit", "1", "--out", out);
    assertEquals(code, 0, stderr);
    const replayed = await runPaddock(["replay", out]);
    assertEquals(replayed.code, 0, replayed.stderr + replayed.stdout);
  });
});

const REFUSED: readonly (readonly [args: readonly string[], message: string])[] = [
  [["--env", "paddock/none"], "paddock/none"],
  [["--env", "paddock/countdown", "--difficulty", "11"], "from 1 to 10: current value is 11"],
  [["--env", "paddock/countdown", "--difficulty", "hard"], "a number, a range as in 1-5, or auto"],
  [["--env", "paddock/countdown", "--split", "dev"], "train, validation, test"],
  [["--env", "paddock/countdown", "--difficulty", "auto", "--resume", "--out", "x"], "Cannot resume"],
  [["--env", "paddock/shell-files", "--profile", "python"], "must have 'shell'"],
  [["--env", "chat", "--tasks", "x", "--difficulty", "1"], "for the envs of families"],
  [["--env", "paddock/countdown", "--tool", "examples/tools/words.ts"], "remove --tool and --mcp"],
];

Deno.test("paddock rollout refuses wrong options of families", async () => {
  for (const [args, message] of REFUSED) {
    const { code, stderr } = await runPaddock(["rollout", ...args]);
    assertEquals(code, 2, stderr);
    assertStringIncludes(stderr, message);
  }
});
