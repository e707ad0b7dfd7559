import { assertEquals } from "@std/assert";
import { loadProfile, SandboxPool } from "../../../mod.ts";
import { History } from "../../../src/history.ts";
import { type Grader, toScore } from "../../../src/rewards/grader.ts";
import { hiddenTests } from "../../../src/rewards/hidden_tests.ts";
import { RerunModules, Reruns } from "../../../src/rewards/hidden_tests/reruns.ts";

/**
 * A program that prints `output` for `input` whenever its interpreter is clean. `reruns`: it can leave nothing, so that it
 * runs again in the same one. The kinds: `leaves` would see the run before, `ends` change only what ends with the run,
 * `contest` are written as contest programs are.
 */
interface RerunProgram {
  readonly id: string;
  readonly program: string;
  readonly input: string;
  readonly output: string;
  readonly reruns: boolean;
}

const programs = await readLines<RerunProgram>("reruns.jsonl");

async function readLines<Row>(file: string): Promise<Row[]> {
  const text = await Deno.readTextFile(new URL(file, import.meta.url));
  return text.trim().split("\n").map((line) => JSON.parse(line));
}

async function scoreOf(
  grader: Grader,
  { id, program, fields }: { id: string; program: string; fields: Record<string, unknown> },
): Promise<number | null> {
  const history = History.fromChats([{ role: "assistant", content: `\`\`\`python\n${program}\n\`\`\`` }]);
  return toScore(await grader.grade({ task: { id, query: "q", fields }, history })).score;
}

async function openPool(): Promise<SandboxPool> {
  return new SandboxPool({ profile: await loadProfile("python"), size: 1, resetMode: "rewind" });
}

Deno.test("Reruns.prepare() accepts exactly the programs that can leave nothing for a later run", async () => {
  await using pool = await openPool();
  const modules = new RerunModules();
  const found: Record<string, boolean> = {};
  for (const { id, program } of programs) {
    await using lease = await pool.acquire();
    found[id] = (await Reruns.prepare(lease.session, { program, modules })).isUsable;
  }
  assertEquals(found, Object.fromEntries(programs.map(({ id, reruns }) => [id, reruns])));
});

Deno.test("hiddenTests() starts a program clean for each of many tests", async () => {
  await using pool = await openPool();
  const grader = hiddenTests({ pool, testPool: pool });
  const wrong: Record<string, unknown> = {};
  for (const { id, program, input, output } of programs) {
    const tests = Array.from({ length: 6 }, () => ({ input, output }));
    const found = await scoreOf(grader, { id, program, fields: { tests } });
    if (found !== 1) wrong[id] = found;
  }
  assertEquals(wrong, { "leaves/nothing-to-compile": 0 });
});

Deno.test("Reruns.run() rewinds the interpreter after a program that left a waiting thread", async () => {
  await using pool = await openPool();
  await using lease = await pool.acquire();
  const program =
    "import queue, threading\nthreading.Thread(target=queue.Queue().get).start()\nprint(input())";
  const run = await Reruns.prepare(lease.session, { program, modules: new RerunModules() });
  const { stdout, status } = await run.run({ stdin: "7\n", timeoutMs: 10_000 });
  assertEquals({ stdout, status, isUsable: run.isUsable }, {
    stdout: "7\n",
    status: "error",
    isUsable: false,
  });
  const counted = await lease.session.exec("import threading\nthreading.active_count()");
  assertEquals("valueJson" in counted && counted.valueJson, 1);
});

/** A program of `verdicts.jsonl`. */
interface JudgedProgram {
  readonly id: string;
  readonly program: string;
  readonly fields: { readonly tests?: readonly unknown[] };
  readonly score: number | null;
}

Deno.test("hiddenTests() gives whole programs the same score for many tests as for one", async () => {
  await using pool = await openPool();
  const grader = hiddenTests({ pool, testPool: pool });
  const found: Record<string, unknown> = {};
  const expected: Record<string, unknown> = {};
  for (const { id, program, fields, score } of await readLines<JudgedProgram>("verdicts.jsonl")) {
    const { tests = [] } = fields;
    const isWhole = tests.length > 0 && !tests.some((test) => typeof test === "string");
    const takesLong = id.startsWith("limits/") || /os\.(_exit|abort)|while True/.test(program);
    if (!isWhole || "checker" in fields || takesLong) continue;
    const repeated = Array.from({ length: 4 }, () => tests).flat();
    found[id] = await scoreOf(grader, { id, program, fields: { ...fields, tests: repeated } });
    expected[id] = score;
  }
  assertEquals(found, expected);
});
