import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { Summary } from "../../src/cli/rollout/report/summary.ts";
import { SummaryTable } from "../../src/cli/rollout/report/summary_table.ts";
import { formatTranscript } from "../../src/cli/transcript.ts";
import { scriptedPolicy } from "../../src/policy/scripted.ts";
import { parseInteraction, toInteractionResult } from "../../src/rollout/interaction_result.ts";
import { makeChatEnv } from "../../src/rollout/make_chat_env.ts";
import { rollout } from "../../src/rollout/rollout.ts";
import { parseTrajectory } from "../../src/rollout/trajectory_schema.ts";
import { describeBlocksNotRun } from "../../src/tools/code_blocks/blocks_not_run.ts";
import { FakePool, ok } from "../fake_pool.ts";
import { TempFolder } from "../temp_folder.ts";
import { openViewer, readPage } from "../viewer/read_page.ts";

const REPLIES = [
  "```bash\npip install x\n```\n```python\nprint(1)\n```\n> ```python\n> quoted\n> ```",
  "So:\n```\nprint(2)\n```\n```bash\nls\n```",
];
const EXPECTED = [
  [{ reason: "language", tag: "bash", count: 1 }, { reason: "quote", tag: "python", count: 1 }],
  [{ reason: "unlabeled", tag: "", count: 1 }, { reason: "language", tag: "bash", count: 1 }],
];

async function play(replies: readonly string[]) {
  await using env = makeChatEnv({
    maxTurns: 4,
    python: { pool: new FakePool(() => ok("1\n")), timeoutMs: 100 },
  });
  return await rollout(env, scriptedPolicy({ replies: () => replies }), { id: "a", query: "q" });
}

const trajectory = await play(REPLIES);

Deno.test("rollout() records the blocks of each reply that were not run, in rows of both kinds", () => {
  assertEquals(trajectory.steps.map(({ blocksNotRun }) => blocksNotRun), EXPECTED as unknown as never);
  assertEquals(parseTrajectory(JSON.parse(JSON.stringify(trajectory))).steps, trajectory.steps);
  const tokens = { ids: [1], lossMask: [0], promptText: "q", promptLength: 1 } as const;
  const row = toInteractionResult({ ...trajectory, tokens });
  assertEquals(row.turns.map(({ blocks_not_run }) => blocks_not_run), EXPECTED as unknown as never);
  assertEquals(
    parseInteraction(JSON.parse(JSON.stringify(row))).turns,
    JSON.parse(JSON.stringify(row.turns)),
  );
});

Deno.test("the table, the summary and the transcript of a run show the blocks that were not run", async () => {
  const summary = new Summary();
  const table = new SummaryTable();
  for (const episode of [trajectory, await play(["done"])]) {
    summary.add(episode);
    table.add(episode);
  }
  const text = "4 (2 bash, 1 in a quote, 1 no language)";
  assertStringIncludes(summary.formatTable(), `\nnot run       ${text} code blocks, in 2 replies\n`);
  assertStringIncludes(table.format(), `ok, not run: ${text}\n`);
  assertStringIncludes(formatTranscript(trajectory), `not run: ${text}`);
  const none = new Summary();
  none.add(await play(["done"]));
  assertEquals(none.formatTable().includes("not run"), false);
});

Deno.test("the summary says whether blocks or calls were not run", () => {
  const call = { reason: "thought_call", tag: "", count: 2 } as const;
  const block = { reason: "language", tag: "bash", count: 1 } as const;
  const texts = [[call], [block], [call, block]].map((blocksNotRun) => {
    const summary = new Summary();
    summary.add({
      ...trajectory,
      steps: trajectory.steps.slice(0, 1).map((step) => ({ ...step, blocksNotRun })),
    });
    return /not run +(.*)/.exec(summary.formatTable())?.[1];
  });
  assertEquals(texts, [
    "2 (2 call in a thought) tool calls, in 1 reply",
    "1 (1 bash) code blocks, in 1 reply",
    "3 (2 call in a thought, 1 bash) code blocks and tool calls, in 1 reply",
  ]);
});

Deno.test("the page of an episode shows the blocks that were not run, and escapes tags", async () => {
  const hostile = [{ reason: "language", tag: "<b>\u202e", count: 1 }];
  const steps = trajectory.steps.map((step, at) => at === 0 ? step : { ...step, blocksNotRun: hostile });
  await using folder = await TempFolder.of({ "a.jsonl": JSON.stringify({ ...trajectory, steps }) });
  const { text } = await readPage(await openViewer(folder), "/runs/a.jsonl/episodes/1");
  assertStringIncludes(text, "Not run");
  assertStringIncludes(text, "ok, not run: 2 (1 bash, 1 in a quote)");
  assertEquals(text.includes("<b>\u202e"), false);
});

Deno.test("parseTrajectory() accepts reasons of newer versions, and refuses counts that are none", () => {
  const withBlocks = (blocksNotRun: unknown) => ({ ...trajectory, steps: [{ turn: 1, blocksNotRun }] });
  parseTrajectory(withBlocks([{ reason: "moon", tag: "x", count: 2 }]));
  for (const wrong of [5, [5], [{ reason: "language", tag: "x", count: "many" }]]) {
    assertThrows(() => parseTrajectory(withBlocks(wrong)), SyntaxError, "blocksNotRun");
  }
});

Deno.test("describeBlocksNotRun() names eight reasons", () => {
  const counts = Array.from(
    { length: 12 },
    (_, at) => ({ reason: "language", tag: `l${at}`, count: 12 - at } as const),
  );
  assertEquals(
    describeBlocksNotRun([counts, undefined]),
    "78 (12 l0, 11 l1, 10 l2, 9 l3, 8 l4, 7 l5, 6 l6, 5 l7, 10 more)",
  );
  assertEquals(describeBlocksNotRun([undefined, []]), undefined);
});
