import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { playTasks, type PlayTasksOptions } from "../../src/cli/play_tasks.ts";
import { fakeArithmetic } from "../fake_arithmetic.ts";
import { FakePool, ok } from "../fake_pool.ts";

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

async function play(
  rows: readonly unknown[],
  options: Partial<PlayTasksOptions> = {},
  pool = new FakePool(fakeArithmetic),
): Promise<Played> {
  const tasks = await Deno.makeTempFile({ suffix: ".jsonl" });
  const stdout = new FakeSink();
  const stderr = new FakeSink();
  const lines = rows.map((row) => typeof row === "string" ? row : JSON.stringify(row));
  try {
    await Deno.writeTextFile(tasks, lines.join("\n"));
    const code = await playTasks(pool, {
      ...{ tasks, concurrency: 2, timeoutMs: 100, maxTurns: 4, stdout, stderr },
      signal: new AbortController().signal,
      ...options,
    });
    return { code, stdout: stdout.text, stderr: stderr.text, pool };
  } finally {
    await Deno.remove(tasks);
  }
}

class FakeSink {
  text = "";
  readonly #terminal: boolean;

  constructor(terminal = false) {
    this.#terminal = terminal;
  }

  /** Takes a few bytes at a time, as a pipe may. */
  write(bytes: Uint8Array): Promise<number> {
    const taken = bytes.subarray(0, 1000);
    this.text += new TextDecoder("latin1").decode(taken);
    return Promise.resolve(taken.length);
  }

  isTerminal(): boolean {
    return this.#terminal;
  }
}

Deno.test("playTasks() plays worked and scripted tasks and prints a table", async () => {
  const { code, stdout, stderr, pool } = await play([WORKED, WRONG, UNSCORED]);
  assertEquals({ code, stderr, alive: pool.alive }, { code: 0, stderr: "", alive: 0 });
  assertMatch(
    stdout,
    /^episodes +3\nmean reward +0.5000\nright +1\nwrong +1\nunscored +1\nerrors +0\ntool calls +2 \(2 ok\)\nepisodes\/s +\d/,
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
  const { stdout } = await play([WORKED, UNSCORED], { show: true });
  assertMatch(
    stdout,
    /v1 = 48 \/ 2[^]*tool:\n {2}Code block 1 executed[^]*The answer is <answer>72<\/answer>[^]*reward 1[^]*hello/,
  );
  assertStringIncludes(stdout, "\\x1b[2J");
  assertEquals(stdout.includes("\x1b"), false);
});

Deno.test("playTasks() draws its progress on a terminal only", async () => {
  const stderr = new FakeSink(true);
  await play([WRONG, WRONG], { stderr });
  assertMatch(stderr.text, /1\/2 {2}reward 0.000/);
  assertEquals(stderr.text.endsWith("\r\x1b[K"), true);
});

Deno.test("playTasks() gives 1 when an episode failed at a boundary", async () => {
  const { code, stdout } = await play(
    [WRONG, CODE],
    {},
    new FakePool(() => Promise.reject(new Error("gone"))),
  );
  assertEquals(code, 1);
  assertMatch(stdout, /errors +1\nfirst error +sandbox: Cannot run code: gone\n/);
});

Deno.test("playTasks() gives 2 and one error for tasks that cannot be read", async () => {
  const missing = await play([], { tasks: "no/such/file" });
  assertEquals({ code: missing.code, stdout: missing.stdout }, { code: 2, stdout: "" });
  assertMatch(missing.stderr, /^error: .*no\/such\/file.*\n$/);
  const broken = await play([WRONG, "{oops"]);
  assertEquals(broken.code, 2);
  assertMatch(broken.stderr, /^error: Cannot read task at .*:2 .*\n$/);
  assertMatch(broken.stdout, /episodes +1/);
});

Deno.test("playTasks() gives 130 and the table of what ran when it is interrupted", async () => {
  const abort = new AbortController();
  const pool = new FakePool(() => {
    abort.abort(new Error("Ctrl-C"));
    return Promise.reject(abort.signal.reason);
  });
  const { code, stdout } = await play([WRONG, CODE, CODE], { signal: abort.signal, concurrency: 1 }, pool);
  assertEquals({ code, alive: pool.alive }, { code: 130, alive: 0 });
  assertMatch(stdout, /episodes +1/);
});

Deno.test("playTasks() ends quietly when nobody reads on", async () => {
  const stdout = { write: () => Promise.reject(new Deno.errors.BrokenPipe("Broken pipe")) };
  const { code, stderr, pool } = await play([WRONG, WORKED, CODE], { stdout, json: true });
  assertEquals({ code, stderr, alive: pool.alive }, { code: 0, stderr: "", alive: 0 });
});

Deno.test("playTasks() cuts off and grades what takes too many turns", async () => {
  const replies = ["```python\n1\n```", "```python\n2\n```", "The answer is 1"];
  const { stdout } = await play(
    [{ ...CODE, replies }],
    { maxTurns: 2, json: true },
    new FakePool(() => ok()),
  );
  const { truncated, reward, turns } = JSON.parse(stdout);
  assertEquals({ truncated, reward, turns }, { truncated: true, reward: 0, turns: 2 });
});
