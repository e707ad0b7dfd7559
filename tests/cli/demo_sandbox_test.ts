import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Trajectory } from "../../mod.ts";
import { runPaddock } from "./run_paddock.ts";

const MCP = decodeURIComponent(new URL("../../examples/mcp.jsonc", import.meta.url).pathname);
const TASKS = decodeURIComponent(new URL("../../examples/tasks.jsonl", import.meta.url).pathname);

Deno.test("the demo solves all problems except the one that fails on purpose", async () => {
  const { code, stdout, stderr } = await runPaddock([
    "rollout",
    "--tasks",
    TASKS,
    "--mcp",
    MCP,
    "--json",
  ]);
  assertEquals(code, 0);
  const episodes: Trajectory[] = stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
  const rewards = new Map(episodes.map(({ task, reward }) => [task.id, reward]));
  assertEquals(rewards.size, 12);
  assertEquals([...rewards].filter(([, reward]) => reward !== 1), [["mistaken", 0]]);
  const statuses = (id: string) =>
    episodes.find(({ task }) => task.id === id)?.toolResults.map(({ status }) => status);
  assertEquals(
    ["recovers", "forever", "hoarder", "curious", "exits", "shop"].map(statuses),
    [["error", "ok"], ["timeout", "ok"], ["memory", "ok"], ["error", "error", "error", "ok"], [
      "exited",
      "ok",
    ], ["ok", "ok", "ok"]],
  );
  assertStringIncludes(stderr, "\nmistaken       2       0 ");
});
