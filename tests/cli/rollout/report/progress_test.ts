import { assertEquals, assertMatch } from "@std/assert";
import { formatProgress, formatProgressBar, Progress } from "../../../../src/cli/rollout/report/progress.ts";
import { Summary } from "../../../../src/cli/rollout/report/summary.ts";
import { emptyTrajectory, withFailure } from "../../../../src/rollout/trajectory.ts";
import { FakeSink } from "../../fake_sink.ts";

function summaryOf(options: { done: number; running: number }): Summary {
  const summary = new Summary();
  const trajectory = { ...emptyTrajectory({ id: "a", query: "q" }), reward: 0.5 };
  for (let count = 0; count < options.done + options.running; count++) summary.start();
  for (let count = 1; count < options.done; count++) summary.end(trajectory);
  if (options.done > 0) summary.end(withFailure({ ...trajectory, reward: null }, new Error("no")));
  return summary;
}

Deno.test("formatProgressBar() shows done, running and failed episodes, reward, speed and remaining time", () => {
  const line = formatProgressBar(summaryOf({ done: 6, running: 2 }), { total: 12 });
  assertMatch(
    line,
    /^█{12}░{12} 6\/12 {2}2 running {2}1 failed {2}reward 0\.500 {2}[\d.]+\/s {2}ETA \d+:\d\d$/,
  );
});

Deno.test("formatProgressBar() omits the bar when the total is unknown", () => {
  assertMatch(
    formatProgressBar(summaryOf({ done: 2, running: 1 })),
    /^2 done {2}1 running {2}1 failed {2}reward 0\.500/,
  );
  assertMatch(
    formatProgressBar(summaryOf({ done: 0, running: 1 }), { total: 5 }),
    /^░+ 0\/5 .* reward - {2}0\.0\/s$/,
  );
});

Deno.test("formatProgressBar() keeps the rate and the remaining time in a narrow terminal, and cuts no word", () => {
  const summary = { episodes: 6, running: 2, failed: 1, meanReward: 0.5, episodesPerSecond: 1.3 };
  const words = new Set(formatProgressBar(summary, { total: 12 }).split(/ +/).slice(1));
  for (let columns = 0; columns <= 120; columns++) {
    const line = formatProgressBar(summary, { total: 12, columns });
    assertEquals(line.length <= columns, true, `${columns}: ${line}`);
    for (const word of line.split(/ +/).filter((word) => !/^[█░]*$/.test(word))) {
      assertEquals(words.has(word), true, line);
    }
    if (columns >= 40) assertMatch(line, /6\/12 .*reward 0.500 {2}1.3\/s {2}ETA 0:05$/);
    if (columns >= 24) assertMatch(line, /6\/12 .*1.3\/s {2}ETA 0:05$/);
  }
});

Deno.test("formatProgress() is plain text for a log", () => {
  assertMatch(formatProgress(summaryOf({ done: 6, running: 2 }), 12), /^6\/12 done {2}2 running .* ETA /);
});

Deno.test("Progress draws in one line no wider than the terminal, and clears it on dispose", async () => {
  const sink = new FakeSink(true);
  const summary = summaryOf({ done: 6, running: 2 });
  {
    await using progress = new Progress({ summary, total: 12, sink, isTerminal: true, columns: () => 40 });
    progress.update();
    progress.update();
  }
  const [, line = ""] = sink.text.split("\r\x1b[K");
  assertMatch(line, /6\/12 .*ETA \d+:\d\d$/);
  assertEquals(line.length < 40, true);
  assertEquals(sink.text.split("\r\x1b[K").length, 3);
  assertEquals(sink.text.endsWith("\r\x1b[K"), true);
});

Deno.test("Progress writes whole lines without a terminal, and none in a short run", async () => {
  const sink = new FakeSink();
  const options = { summary: summaryOf({ done: 6, running: 2 }), sink, isTerminal: false };
  {
    await using short = new Progress(options);
    short.update();
    assertEquals(sink.text, "");
    await using long = new Progress({ ...options, intervalMs: 0 });
    long.update();
  }
  assertMatch(sink.text, /^(6 done {2}2 running [\w. /-]*\n)+$/);
});

Deno.test("Progress.aside() clears the bar while other text is written", async () => {
  const sink = new FakeSink(true);
  const summary = summaryOf({ done: 1, running: 0 });
  await using progress = new Progress({ summary, sink, isTerminal: true, intervalMs: 0 });
  progress.update();
  await progress.pauseWhile(async () => {
    progress.update();
    await sink.write(new TextEncoder().encode("episode\n"));
    progress.update();
  });
  assertEquals(sink.text.endsWith("\r\x1b[Kepisode\n"), true);
});

Deno.test("Progress ignores a closed stderr", async () => {
  const sink = { write: () => Promise.reject(new Deno.errors.BrokenPipe("closed")) };
  await using progress = new Progress({ summary: new Summary(), sink, isTerminal: true });
  progress.update();
  let written = false;
  await progress.pauseWhile(() => Promise.resolve(void (written = true)));
  assertEquals(written, true);
});

Deno.test("formatProgressBar() shows how many episodes a limit of tokens cut off, if there are any", () => {
  const summary = summaryOf({ done: 2, running: 1 });
  assertEquals(formatProgressBar(summary).includes("cut off"), false);
  summary.end({ ...emptyTrajectory({ id: "a", query: "q" }), truncated: true, cut: "context" });
  assertMatch(formatProgressBar(summary, { total: 5 }), / {2}0 running {2}1 failed {2}1 cut off {2}reward /);
});
