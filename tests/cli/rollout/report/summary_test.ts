import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Summary } from "../../../../src/cli/rollout/report/summary.ts";
import { PolicyError } from "../../../../src/errors.ts";
import { emptyTrajectory, type Trajectory, withFailure } from "../../../../src/rollout/trajectory.ts";

function episode(id: string, reward: number | null): Trajectory {
  return { ...emptyTrajectory({ id, query: "q" }), reward };
}

Deno.test("Summary distinguishes solved groups from groups with different scores", () => {
  const summary = new Summary({ samples: 2 });
  const rewards: [string, number | null][] = [
    ["right", 1],
    ["mixed", 0],
    ["right", 1],
    ["mixed", 1],
    ["wrong", 0],
    ["wrong", 0.5],
    ["unscored", null],
    ["unscored", 1],
    ["open", 1],
  ];
  for (const [id, reward] of rewards) summary.add(episode(id, reward));
  assertMatch(summary.formatTable(), /pass@2 +3 of 4\nmixed groups +1 of 4\ngroup spread +0\.1875\n/);
});

Deno.test("Summary shows the reason of the first episode without a score", () => {
  const summary = new Summary();
  summary.add(episode("a", null));
  assertStringIncludes(summary.formatTable(), "\nunscored      1\n");
  summary.add({ ...episode("b", null), unscored: "it ended with '\x1b[2J\n'" });
  summary.add({ ...episode("c", null), unscored: "another" });
  assertStringIncludes(summary.formatTable(), "\nunscored      3 (first: it ended with '\\x1b[2J ')\n");
});

Deno.test("Summary counts episodes above the baseline when rewards report one", () => {
  const summary = new Summary({ rewardsGain: true });
  for (const reward of [0.2, 0, -4.5]) summary.add(episode("a", reward));
  summary.add({ ...episode("b", 0), unscored: "there is no 'submission.csv'" });
  const counts = "better        1\nnot better    2\nunscored      1 (first: there is no 'submission.csv')\n";
  assertStringIncludes(summary.formatTable(), counts);
});

Deno.test("Summary omits groups when each task has one episode", () => {
  const summary = new Summary();
  summary.add(episode("a", 1));
  assertEquals(summary.formatTable().includes("pass@"), false);
});

Deno.test("Summary counts an earlier run, but not for the speed", () => {
  const summary = new Summary();
  summary.addEarlier(episode("a", 1));
  assertEquals([summary.episodes, summary.episodesPerSecond], [1, 0]);
  summary.start();
  assertEquals(summary.running, 1);
  summary.end(episode("b", 0));
  assertEquals(summary.running, 0);
  assertStringIncludes(summary.formatTable(), "episodes      2 (1 of an earlier run)\nmean reward   0.5000");
});

Deno.test("Summary writes a server's error on one line without control characters", () => {
  const summary = new Summary();
  summary.add(withFailure(episode("a", null), new Error("busy\n\x1b[2J now")));
  assertStringIncludes(summary.formatTable(), "\nfirst error   env: busy \\x1b[2J now\n");
});

Deno.test("Summary counts the episodes that a limit of tokens cut off, if there are any", () => {
  const summary = new Summary();
  summary.add(episode("a", 1));
  assertEquals([summary.cut, summary.formatTable().includes("cut off")], [0, false]);
  for (const cut of ["length", "context", "length"] as const) {
    summary.add({ ...episode("b", 0), truncated: true, cut });
  }
  assertEquals(summary.cut, 3);
  assertStringIncludes(
    summary.formatTable(),
    "\ncut off       3 (2 by the length of the last reply, 1 by the context of the model)\nerrors        0\n",
  );
});

Deno.test("Summary counts tokens, tokens per second and finish reasons of replies", () => {
  const summary = new Summary();
  assertEquals(summary.formatTable().includes("tokens"), false);
  const step = { turn: 1, policyMs: 1, envMs: 1, reward: null };
  const usage = { promptTokens: 100, replyTokens: 20 };
  summary.addEarlier({ ...episode("a", 1), steps: [{ ...step, finishReason: "stop", usage }] });
  assertEquals(summary.tokensPerSecond, undefined);
  summary.add({
    ...episode("b", 1),
    steps: [{ ...step, finishReason: "stop", usage }, { ...step, finishReason: "length\n\x1b[2J", usage }],
  });
  summary.add({ ...episode("c", 1), steps: [step] });
  assertEquals((summary.tokensPerSecond ?? 0) > 0, true);
  assertMatch(
    summary.formatTable(),
    /\nreplies +3 \(2 stop, 1 length \\x1b\[2J\)\ntokens +60 in replies, 300 in prompts\nepisodes\/s .*\ntokens\/s +\d+\n/,
  );
});

Deno.test("Summary counts a limited number of finish reasons by name", () => {
  const summary = new Summary();
  const step = { turn: 1, policyMs: 1, envMs: 1, reward: null };
  const steps = Array.from({ length: 100 }, (_, at) => ({ ...step, finishReason: `r${at}` }));
  summary.add({ ...episode("a", 1), steps });
  assertMatch(summary.formatTable(), /\nreplies +100 \(92 other, 1 r0, .*1 r7\)\n/);
});

Deno.test("Summary says that --max-tokens has a default when replies are cut off, and how to answer a timeout", () => {
  const cut = { ...episode("a", 0), truncated: true, cut: "length" } as const;
  const summary = new Summary({ defaultMaxTokens: 4096 });
  summary.add(cut);
  summary.add(withFailure(episode("b", null), new PolicyError("it did not answer", { fault: "timeout" })));
  const table = summary.formatTable();
  assertMatch(table, /cut off +1 \(1 by the length of the last reply; --max-tokens is 4096 by default\)\n/);
  assertMatch(
    table,
    /first error +policy: it did not answer; --max-tokens shortens replies, --request-timeout-ms waits longer\n/,
  );
  const chosen = new Summary();
  chosen.add(cut);
  assertEquals(chosen.formatTable().includes("by default"), false);
});

Deno.test("Summary counts the tokens of running episodes for the speed", () => {
  const summary = new Summary();
  summary.recordReply({});
  assertEquals(summary.tokensPerSecond, undefined);
  summary.recordReply({ usage: { promptTokens: 5, replyTokens: 20 } });
  assertEquals((summary.tokensPerSecond ?? 0) > 0, true);
});
