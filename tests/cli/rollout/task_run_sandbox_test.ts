import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { ENVS, type MakeEnv } from "../../../src/cli/rollout/envs.ts";
import { lookUp } from "../../../src/cli/options.ts";
import { playTasks, type TaskRunOptions } from "../../../src/cli/rollout/task_run.ts";
import { resolvePolicy } from "../../../src/cli/rollout/policies.ts";
import { Summary } from "../../../src/cli/rollout/report/summary.ts";
import { TrajectoryFile } from "../../../src/cli/rollout/trajectory_file.ts";
import { ifeval } from "../../../src/rewards/ifeval.ts";
import { numberMatch } from "../../../src/rewards/text_match.ts";
import type { Trajectory } from "../../../src/rollout/trajectory.ts";
import { fakeArithmetic } from "../../fake_arithmetic.ts";
import { FakePool, ok } from "../../fake_pool.ts";
import { FakeSink } from "../fake_sink.ts";

const WORKED = { question: "q", answer: "<<48/2=24>> <<24*3=72>>\n#### 72" };
const WRONG = { query: "q", answer: "5", replies: ["The answer is 4"] };
const UNSCORED = { query: "q", replies: ["\x1b[2J hello"] };
const CODE = { query: "q", answer: "1", replies: ["```python\nx\n```"] };

interface Played {
  code: number;
  stdout: string;
  stderr: string;
  pool: FakePool;
}

interface PlayOptions extends Partial<Omit<TaskRunOptions, "out">> {
  /** Path of the file of episodes. */
  out?: string;
  resume?: boolean;
}

async function play(
  rows: readonly unknown[],
  options: PlayOptions = {},
  pool = new FakePool(fakeArithmetic),
): Promise<Played> {
  const tasks = await Deno.makeTempFile({ suffix: ".jsonl" });
  const stdout = new FakeSink();
  const stderr = new FakeSink();
  const { samples = 1, maxTurns = 4, out: path, resume, ...rest } = options;
  const summary = new Summary({ samples });
  const onKept = (trajectory: Trajectory) => summary.addEarlier(trajectory);
  const lines = rows.map((row) => typeof row === "string" ? row : JSON.stringify(row));
  const { policy } = await resolvePolicy("scripted", {});
  try {
    using out = path === undefined ? undefined : await TrajectoryFile.open(path, { resume, onKeep: onKept });
    await Deno.writeTextFile(tasks, lines.join("\n"));
    const code = await playTasks({
      tasks,
      policy,
      samples,
      summary,
      maxTurns,
      out,
      stdout,
      stderr,
      concurrency: 2,
      envName: "python",
      makeEnv: await makeEnv(pool, maxTurns),
      signal: new AbortController().signal,
      ...rest,
    });
    return { code, stdout: stdout.text, stderr: stderr.text, pool };
  } finally {
    await Deno.remove(tasks);
  }
}

async function makeEnv(pool: FakePool, maxTurns: number): Promise<MakeEnv> {
  await using stack = new AsyncDisposableStack();
  const setup = { pool: () => pool, stack, grader: numberMatch(), timeoutMs: 100, maxTurns };
  return await lookUp(ENVS, "python", "env").open(setup);
}

Deno.test("playTasks() plays worked and scripted tasks and prints a table", async () => {
  const { code, stdout, stderr, pool } = await play([WORKED, WRONG, UNSCORED]);
  assertEquals({ code, stderr, alive: pool.alive }, { code: 0, stderr: "", alive: 0 });
  assertMatch(
    stdout,
    /\n\nepisodes +3\nmean reward +0.5000\nright +1\nwrong +1\nunscored +1\nerrors +0\ntool calls +2 \(2 ok\)\nepisodes\/s +\d/,
  );
});

Deno.test("playTasks() writes one JSON line per episode, and the table elsewhere", async () => {
  const out = await Deno.makeTempFile();
  try {
    const { stdout, stderr } = await play([WORKED, WRONG], { json: true, out, concurrency: 1 });
    assertEquals(stdout.trimEnd().split("\n").map((line) => JSON.parse(line).reward), [1, 0]);
    assertEquals(await Deno.readTextFile(out), stdout);
    assertStringIncludes(stderr, "episodes");
  } finally {
    await Deno.remove(out);
  }
});

Deno.test("playTasks() shows messages in the order of the tasks, and no control characters", async () => {
  const { stdout } = await play([WORKED, UNSCORED], { show: Infinity });
  assertMatch(
    stdout,
    /v1 = 48 \/ 2[^]*tool:\n {2}Code block 1 executed[^]*The answer is <answer>72<\/answer>[^]*reward 1[^]*hello/,
  );
  assertStringIncludes(stdout, "\\x1b[2J");
  assertEquals(stdout.includes("\x1b"), false);
});

Deno.test("playTasks() records why an episode has no score, and prints the first reason", async () => {
  await using stack = new AsyncDisposableStack();
  const setup = { pool: () => new FakePool(fakeArithmetic), stack, timeoutMs: 100, maxTurns: 4 };
  const makeEnv = await lookUp(ENVS, "chat", "env").open({ ...setup, grader: ifeval() });
  const { code, stdout, stderr } = await play([WRONG], { makeEnv, json: true });
  assertEquals([code, JSON.parse(stdout).unscored], [0, "the task has no instructions"]);
  assertMatch(stderr, /unscored +1 \(first: the task has no instructions\)\n/);
});

Deno.test("playTasks() draws its progress on a terminal only", async () => {
  const stderr = new FakeSink(true);
  await play([WRONG, WRONG], { stderr });
  assertMatch(stderr.text, /\d\/2 {2}\d running {2}0 failed {2}reward /);
  assertEquals(stderr.text.endsWith("\r\x1b[K"), true);
});

Deno.test("playTasks() returns 1 when an episode failed at a boundary", async () => {
  const { code, stdout } = await play(
    [WRONG, CODE],
    {},
    new FakePool(() => Promise.reject(new Error("lost"))),
  );
  assertEquals(code, 1);
  assertMatch(stdout, /errors +1\nfirst error +sandbox: Cannot run code: lost\n/);
});

Deno.test("playTasks() returns 2 and one error for tasks that cannot be read", async () => {
  const missing = await play([], { tasks: "no/such/file" });
  assertEquals({ code: missing.code, stdout: missing.stdout }, { code: 2, stdout: "" });
  assertMatch(missing.stderr, /^error: .*no\/such\/file.*\n$/);
});

Deno.test("playTasks() records an invalid row on its episodes, and plays the rows after it", async () => {
  const out = await Deno.makeTempFile();
  try {
    const [first, last] = [{ ...WRONG, id: "a" }, { ...WRONG, id: "b" }];
    const rows = [first, '{"id":', { query: null }, "5", last];
    const { code, stdout, stderr } = await play(rows, { out, samples: 2, concurrency: 1 });
    assertEquals({ code, stderr }, { code: 1, stderr: "" });
    const episodes: Trajectory[] = (await Deno.readTextFile(out)).trimEnd().split("\n").map((line) =>
      JSON.parse(line)
    );
    assertEquals(episodes.map(({ reward }) => reward), [0, 0, null, null, null, null, null, null, 0, 0]);
    const [, , broken, , empty, , number] = episodes;
    assertEquals([broken?.error?.boundary, broken?.error?.name], ["dataset", "DatasetError"]);
    assertMatch(broken?.task.id ?? "", /:2$/);
    assertMatch(broken?.error?.message ?? "", /^Cannot read task at .*:2 as it must be JSON: /);
    assertMatch(empty?.error?.message ?? "", /:3: query: must be a text or a list of messages/);
    assertMatch(number?.error?.message ?? "", /:4: .*expected object, received number/);
    assertMatch(stdout, /errors +6\nfirst error +dataset: Cannot read task at /);

    const mended = [first, { query: "q", answer: "1", replies: ["1"] }, last];
    const again = await play(mended, { out, samples: 2, concurrency: 1, resume: true });
    assertMatch(again.stdout, /episodes +6 \(4 of an earlier run\)\n[^]*right +2\n/);
  } finally {
    await Deno.remove(out);
  }
});

Deno.test({
  name: "playTasks() returns 74, one error and the table when the disk is full",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const { code, stdout, stderr } = await play([WRONG, WRONG], { out: "/dev/full", concurrency: 1 });
    assertEquals(code, 74);
    assertMatch(stderr, /^error: Cannot write '\/dev\/full': No space left on device .*\n$/);
    assertMatch(stdout, /\nepisodes +1\n/);
  },
});

Deno.test("playTasks() returns 130 and the table of what ran when it is interrupted", async () => {
  const abort = new AbortController();
  const pool = new FakePool(() => {
    abort.abort(new Error("Ctrl-C"));
    return Promise.reject(abort.signal.reason);
  });
  const { code, stdout } = await play([WRONG, CODE, CODE], { signal: abort.signal, concurrency: 1 }, pool);
  assertEquals({ code, alive: pool.alive }, { code: 130, alive: 0 });
  assertMatch(stdout, /episodes +1/);
});

Deno.test("playTasks() ends without an error when its stdout is closed", async () => {
  const stdout = { write: () => Promise.reject(new Deno.errors.BrokenPipe("Broken pipe")) };
  const { code, stderr, pool } = await play([WRONG, WORKED, CODE], { stdout, json: true });
  assertEquals({ code, stderr, alive: pool.alive }, { code: 0, stderr: "", alive: 0 });
});

Deno.test("playTasks() truncates and grades an episode with too many turns", async () => {
  const replies = ["```python\n1\n```", "```python\n2\n```", "The answer is 1"];
  const { stdout } = await play(
    [{ ...CODE, replies }],
    { maxTurns: 2, json: true },
    new FakePool(() => ok()),
  );
  const { truncated, reward, turns } = JSON.parse(stdout);
  assertEquals({ truncated, reward, turns }, { truncated: true, reward: 0, turns: 2 });
});

Deno.test("playTasks() writes the episodes of one task together, in whatever order they end", async () => {
  const ends = new Map([["a", 20], ["b", 0]]);
  let calls = 0;
  const pool = new FakePool(async (code) => {
    await new Promise((resolve) => setTimeout(resolve, (ends.get(code) ?? 0) / ++calls));
    return ok("1\n");
  });
  const rows = ["a", "b"].map((id) => ({
    id,
    query: "q",
    answer: "1",
    replies: [`\`\`\`python\n${id}\n\`\`\``, "1"],
  }));
  const { stdout, stderr } = await play(rows, { samples: 3, concurrency: 6, json: true }, pool);
  const written = stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
  const order = written.map(({ task, sample }) => `${task.id}${sample}`).join(" ");
  assertEquals(order, order.startsWith("a") ? "a1 a2 a3 b1 b2 b3" : "b1 b2 b3 a1 a2 a3");
  assertMatch(stderr, /pass@3 +2 of 2\n/);
});

Deno.test("playTasks() continues an earlier run, and plays no episode twice", async () => {
  const out = await Deno.makeTempFile();
  try {
    const rows = ["a", "b"].map((id) => ({ ...WRONG, id }));
    await play(rows.slice(0, 1), { out, samples: 2 });
    const again = await play(rows, { out, samples: 3, resume: true });
    assertMatch(again.stdout, /\n\nepisodes +6 \(2 of an earlier run\)\n[^]*pass@3 +0 of 2\n/);
    const keys = (await Deno.readTextFile(out)).trimEnd().split("\n").map((line) => {
      const { task, sample } = JSON.parse(line);
      return `${task.id}${sample}`;
    });
    assertEquals(keys.toSorted(), ["a1", "a2", "a3", "b1", "b2", "b3"]);
    const done = await play(rows, { out, samples: 3, resume: true });
    assertMatch(done.stdout, /^episodes +6 \(6 of an earlier run\)/);
  } finally {
    await Deno.remove(out);
  }
});

Deno.test("playTasks() writes complete lines of finished episodes at Ctrl-C, also of incomplete groups", async () => {
  const out = await Deno.makeTempFile();
  const abort = new AbortController();
  const pool = new FakePool((code) => {
    if (code === "1") return ok("1\n");
    abort.abort(new Error("Ctrl-C"));
    return Promise.reject(abort.signal.reason);
  });
  const rows = ["1", "2"].map((id) => ({ id, query: "q", replies: [`\`\`\`python\n${id}\n\`\`\``, "1"] }));
  try {
    const options = { out, signal: abort.signal, concurrency: 1, samples: 1 };
    const { code, stderr } = await play(rows, options, pool);
    assertEquals(code, 130);
    assertStringIncludes(
      stderr,
      "Interrupted: ending the running episodes (1). Press Ctrl-C again to exit at once.\n",
    );
    const kept = (await Deno.readTextFile(out)).split("\n");
    assertEquals([kept.length, JSON.parse(kept[0] ?? "").task.id], [2, "1"]);
  } finally {
    await Deno.remove(out);
  }
});

Deno.test("playTasks() records each episode whose policy failed, and plays all", async () => {
  const rows = Array.from(
    { length: 3 },
    (_, at) => ({ id: `${at}`, query: "q", replies: at === 1 ? [] : ["1"] }),
  );
  const { code, stdout, stderr } = await play(rows, { json: true });
  const failures = stdout.trimEnd().split("\n").map((line) => JSON.parse(line).error?.boundary);
  assertEquals([code, failures.toSorted()], [1, ["policy", undefined, undefined]]);
  assertStringIncludes(stderr, "first error   policy: Cannot play task '1'");
});

Deno.test("playTasks() names the field that a task needs for the policy", async () => {
  const { code, stdout } = await play([{ id: "a", query: "q" }]);
  assertEquals(code, 1);
  assertStringIncludes(stdout, "Cannot play task 'a' with policy 'scripted' as it needs 'replies' or a");
});

Deno.test("playTasks() writes finished episodes at Ctrl-C that wait for earlier tasks", async () => {
  const abort = new AbortController();
  const summary = new Summary();
  const pool = new FakePool(async (code, _globals, { signal }) => {
    if (code === "quick") return ok("1\n");
    while (summary.episodes < 1) await new Promise((resolve) => setTimeout(resolve, 1));
    abort.abort(new Error("Ctrl-C"));
    throw signal?.reason;
  });
  const rows = ["slow", "quick"].map((id) => ({
    id,
    query: "q",
    replies: [`\`\`\`python\n${id}\n\`\`\``, "1"],
  }));
  // What is shown comes in the order of the tasks, so the second one waits for the first.
  const { code, stdout } = await play(rows, { signal: abort.signal, show: 9, summary }, pool);
  assertEquals(code, 130);
  assertMatch(stdout, /── quick ──[^]*\nepisodes +1\n/);
});
