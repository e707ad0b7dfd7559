import { assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { UsageError } from "../../../src/cli/cli_errors.ts";
import { requireSameTokens } from "../../../src/cli/rollout/training_file.ts";
import {
  requireSameRun,
  TrajectoryFile,
  type TrajectoryFileOptions,
} from "../../../src/cli/rollout/trajectory_file.ts";
import { History } from "../../../src/history.ts";
import { parseInteraction } from "../../../src/rollout/interaction_result.ts";
import { emptyTrajectory, type Trajectory, withFailure } from "../../../src/rollout/trajectory.ts";
import type { Task } from "../../../src/task.ts";
import { byteTokenizer } from "../../byte_tokenizer.ts";
import { runPaddock } from "../run_paddock.ts";
import { TempFolder } from "../../temp_folder.ts";

function episode(id: string, sample = 1): Trajectory {
  return { ...emptyTrajectory({ id, query: "q" }, { sample }), messages: [{ role: "user", content: "é" }] };
}

function lines(...episodes: Trajectory[]): string {
  return episodes.map((episode) => `${JSON.stringify(episode)}\n`).join("");
}

interface Opened {
  /** Content of the file after two look-ups and one write. */
  after: string;
  finished: boolean[];
  kept: string[];
}

/** Opens a file with the content `before`, looks up `a` and `b`, and writes `c`. */
async function open(
  before: string | Uint8Array | undefined,
  options: TrajectoryFileOptions,
): Promise<Opened> {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/runs/today/x.jsonl`;
  const kept: string[] = [];
  try {
    if (before !== undefined) {
      await Deno.mkdir(`${folder}/runs/today`, { recursive: true });
      await Deno.writeFile(path, typeof before === "string" ? new TextEncoder().encode(before) : before);
    }
    try {
      using file = await TrajectoryFile.open(path, {
        ...options,
        onKeep: ({ task }) => void kept.push(task.id),
      });
      const finished = ["a", "b"].map((id) => file.takeFinished({ id, query: "q" }, 1));
      await file.write(episode("c"));
      const names = await Array.fromAsync(Deno.readDir(`${folder}/runs/today`), ({ name }) => name);
      assertEquals(names, ["x.jsonl"]);
      return { after: await Deno.readTextFile(path), finished, kept };
    } catch (error) {
      if (before !== undefined) {
        assertEquals(
          new TextDecoder().decode(await Deno.readFile(path)),
          before,
          "a refused file stays as it was",
        );
      }
      throw error;
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("TrajectoryFile.open() creates the folder and the file", async () => {
  for (const options of [{}, { resume: true }, { force: true }]) {
    assertEquals((await open(undefined, options)).after, lines(episode("c")));
  }
  assertEquals((await open("", {})).after, lines(episode("c")));
});

Deno.test("TrajectoryFile.open() overwrites a file only when the caller allows it", async () => {
  await assertRejects(
    () => open("notes", { mayResume: true }),
    UsageError,
    "as it is not empty: give --resume to continue it, or --force",
  );
  await assertRejects(() => open("notes", {}), UsageError, "not empty: give --force to discard its contents");
  assertEquals((await open("notes", { force: true })).after, lines(episode("c")));
});

Deno.test("TrajectoryFile.open() appends to the episodes of an earlier run", async () => {
  const before = lines(episode("a"), episode("b", 2));
  assertEquals(await open(before, { resume: true }), {
    after: before + lines(episode("c")),
    finished: [true, false],
    kept: ["a", "b"],
  });
});

Deno.test("TrajectoryFile.open() repairs a last line that a killed run left half written", async () => {
  const whole = lines(episode("a"));
  const bytes = new TextEncoder().encode(whole + lines(episode("b")));
  const accent = bytes.lastIndexOf(0xc3);
  for (const cut of [whole.length + 2, whole.length + 30, accent + 1]) {
    const { after, finished } = await open(bytes.slice(0, cut), { resume: true });
    assertEquals([after, finished], [whole + lines(episode("c")), [true, false]]);
  }
  const unended = await open(whole.trimEnd(), { resume: true });
  assertEquals([unended.after, unended.finished], [whole + lines(episode("c")), [true, false]]);
});

Deno.test("TrajectoryFile.open() drops failed episodes, which are played again", async () => {
  const failed = withFailure(episode("a"), new Error("down"));
  const { after, finished, kept } = await open(lines(failed, episode("b")), { resume: true });
  assertEquals({ after, finished, kept }, {
    after: lines(episode("b"), episode("c")),
    finished: [false, true],
    kept: ["b"],
  });
});

Deno.test("TrajectoryFile.open() rejects a file of another format, and does not change it", async () => {
  const files = [
    "notes",
    "{}\n",
    '{"id":"a"}\n{"task":',
    `${lines(episode("a"))}{"task":{"id":"b","query":"q"},"messages":[],"format":2}\n`,
  ];
  for (const file of files) {
    await assertRejects(() => open(file, { resume: true }), UsageError, "Cannot resume as ");
  }
});

Deno.test("TrajectoryFile.open() leaves out damaged rows, which are played again, and keeps the damaged file", async () => {
  const [a, b] = [lines(episode("a")), lines(episode("b"))];
  const notUtf8 = new Uint8Array([...new TextEncoder().encode(b.trimEnd()), 0xff, 10]);
  const damages = [b.replace('"q"', "q"), "[1]\n", b.slice(0, 20) + a, "\0\0\n"].map((text) =>
    new TextEncoder().encode(text)
  );
  for (const damage of [...damages, notUtf8]) {
    await using folder = await TempFolder.of();
    const path = `${folder.path}/x.jsonl`;
    const before = new Uint8Array([
      ...new TextEncoder().encode(a),
      ...damage,
      ...new TextEncoder().encode(a),
    ]);
    await Deno.writeFile(path, before);
    using file = await TrajectoryFile.open(path, { resume: true });
    assertEquals(["a", "a", "b"].map((id) => file.takeFinished({ id, query: "q" }, 1)), [true, true, false]);
    await file.write(episode("b"));
    assertEquals(await Deno.readTextFile(path), a + a + b);
    assertEquals(await Deno.readFile(`${path}.damaged`), before);
  }
});

Deno.test("TrajectoryFile.write() writes an episode that is not JSON as a failed one", async () => {
  await using folder = await TempFolder.of();
  const path = `${folder.path}/x.jsonl`;
  {
    using file = await TrajectoryFile.open(path);
    await file.write({ ...episode("a"), info: { id: 1n } });
  }
  using file = await TrajectoryFile.open(path, { resume: true });
  assertEquals(file.takeFinished({ id: "a", query: "q" }, 1), false);
});

Deno.test("TrajectoryFile.open() names the reason when it cannot write", async () => {
  const path = await Deno.makeTempFile();
  try {
    await assertRejects(
      () => TrajectoryFile.open(`${path}/x.jsonl`),
      UsageError,
      `Cannot write '${path}/x.jsonl': `,
    );
    await assertRejects(() => TrajectoryFile.open(Deno.cwd()), UsageError, "Cannot write");
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("TrajectoryFile.open() rejects other tasks with the same ids, and does not change the file", async () => {
  const chat = [{ role: "user", content: "q" }, { role: "assistant", content: "a" }];
  const task = { id: "a", query: chat, answer: "1" };
  const before = lines({ ...episode("a"), task }, withFailure(episode("b"), new Error("down")));
  async function* of(...tasks: Task[]): AsyncGenerator<Task> {
    yield* tasks;
  }
  for (const other of [{ ...task, query: "q" }, { ...task, answer: "2" }]) {
    await assertRejects(
      () => open(before, { resume: true, tasks: of({ id: "b", query: "new" }, other) }),
      UsageError,
      "Cannot resume as task 'a' must be equal to the played one: found another query or answer",
    );
  }
  const query = History.fromChats(chat).toChats();
  const two = of({ ...task, query: "the other of that name" }, { ...task, query }, { id: "c", query: "q" });
  assertEquals((await open(before, { resume: true, tasks: two })).kept, ["a"]);
});

Deno.test("TrajectoryFile.takeFinished() keeps two tasks with the same id apart", async () => {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(path, lines(episode("a")));
    using file = await TrajectoryFile.open(path, { resume: true });
    assertEquals([1, 2].map(() => file.takeFinished({ id: "a", query: "q" }, 1)), [true, false]);
  } finally {
    await Deno.remove(path);
  }
});

const EMPTY = emptyTrajectory({ id: "a", query: "q" }, { policy: "m" });

function require(trajectory: Partial<Trajectory>, grader: string, policy = "m"): void {
  requireSameRun({ ...EMPTY, ...trajectory }, { out: "x", policy, grader });
}

Deno.test("requireSameRun() accepts the same policy and grader, and a file that does not name them", () => {
  require({ reward: 1, rewardParts: { math: 1 } }, "math");
  require({ reward: null, rewardParts: { hidden_tests: null } }, "hidden_tests");
  require({ reward: 1, rewardParts: { judge: 1, math: 0 } }, "math");
  require({}, "none");
  require({ reward: 1, rewardParts: { of_its_env: 1 } }, "math");
  require({ reward: null, cut: "context" }, "math");
  require({ reward: 1, versions: { paddock: "1" } }, "math");
});

Deno.test("requireSameRun() rejects another policy or grader", () => {
  const cases: [Partial<Trajectory>, string, string][] = [
    [{ reward: 1, rewardParts: { gsm8k: 1 } }, "math", "must be scored by 'math': one is scored by 'gsm8k'"],
    [{ reward: 1, rewardParts: { gsm8k: 1 } }, "none", "must be scored by 'none': one is scored by 'gsm8k'"],
    [{}, "math", "must be scored by 'math': one is scored by 'none'"],
    [{ versions: { paddock: "1", policy: "n" } }, "none", "must hold episodes of 'm': it has one of 'n'"],
  ];
  for (const [trajectory, grader, says] of cases) {
    assertThrows(() => require(trajectory, grader), UsageError, says);
  }
});

Deno.test("requireSameTokens() rejects an episode of another tokenizer", () => {
  const tokenizer = byteTokenizer();
  const prompt = "<|im_start|>user\n\ufffd é";
  const tokens = [...tokenizer.encode(prompt), 1, 2];
  const result = parseInteraction({
    prompt,
    tokens,
    loss_mask: [1, 1],
    response_length: 2,
    log_probs: null,
    turns: [],
    errors: [],
    reward: null,
    messages: [],
    info: {},
    response: "",
    status: "completed",
    reward_parts: {},
    task_id: "a",
    task_hash: "h",
    sample: 1,
  });
  requireSameTokens(result, { out: "x", tokenizer });
  const other = byteTokenizer({ specialTokens: ["<|im_end|>", "<|im_start|>"] });
  assertThrows(
    () => requireSameTokens(result, { out: "x", tokenizer: other }),
    UsageError,
    "they are others",
  );
});

Deno.test("paddock view and grade skip damaged rows, and name their line and reason", async () => {
  const task = { id: "b", query: "q", answer: "1" };
  const good = {
    ...emptyTrajectory(task),
    messages: [{ role: "assistant", content: "1" }],
    reward: 1,
    terminated: true,
  };
  await using folder = await TempFolder.of({ "x.jsonl": `{"task":{"id":\x1b\n${lines(good)}[]\n` });
  const file = `${folder.path}/x.jsonl`;
  for (
    const [args, code] of [[["view", file], 0], [["grade", file, "--grader", "number_match"], 1]] as const
  ) {
    const run = await runPaddock(args);
    assertEquals(run.code, code);
    assertMatch(run.stdout, /reward 1|1\.000/);
    assertMatch(
      run.stderr,
      /^warning: Cannot read episode at .*:1: .*\\x1b.*\n.*:3: .*must be an object.*\nwarning: 2 damaged rows are left out\n$/,
    );
  }
});

Deno.test("requireSameRun() compares several graders by their names", () => {
  const scored = { reward: 1, rewardParts: { rubric: 1, gsm8k: 1, ifeval: 0 } };
  require(scored, "gsm8k, ifeval");
  require(scored, "ifeval, gsm8k, ./mine.ts");
  assertThrows(() => require(scored, "gsm8k, number_match"), UsageError, "one is scored by 'gsm8k, ifeval'");
  const single = { reward: 1, rewardParts: { gsm8k: 1 } };
  assertThrows(() => require(single, "gsm8k, ifeval"), UsageError, "one is scored by 'gsm8k'");
});
