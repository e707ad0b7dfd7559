import { History } from "../src/history.ts";
import type { Grader } from "../src/rewards/grader.ts";
import { CANDIDATE_PRELOAD, HIDDEN_TESTS_PRELOAD, hiddenTests } from "../src/rewards/hidden_tests.ts";
import { testProfile } from "../src/rewards/registry.ts";
import type { ExecResult } from "../src/sandbox/contract/exec.ts";
import { SandboxPool } from "../src/sandbox/pool.ts";
import { ratesInTurn } from "./measure.ts";
import { type HostPython, runChild } from "./peers.ts";
import type { Row } from "./row.ts";
import type { BenchSetup } from "./sandbox_rows.ts";

/** A task of HumanEval. */
interface Task {
  readonly task_id: string;
  readonly prompt: string;
  readonly canonical_solution: string;
  readonly entry_point: string;
  readonly test: string;
}

const FILE = new URL("../tests/data/humaneval/HumanEval.jsonl.gz", import.meta.url);
/** Programs at the same time. */
const LANES = 2;
const ROUNDS = 3;
/** Leases of new processes in a round. */
const FRESH_PROGRAMS = 24;

/** Runs one program, and throws if it is not right. */
type Run = (task: Task) => Promise<void>;

/**
 * Measures HumanEval's solutions with their tests, two at a time: in a lease each, by reset mode, and graded by
 * `hiddenTests`. The peer is a `python3` child for each, in turns.
 */
export async function programRows(setup: BenchSetup): Promise<Row[]> {
  const { python, effort } = setup;
  if (!python) return [];
  const tasks = await readTasks();
  const child = childRun(python);
  const few = tasks.slice(0, FRESH_PROGRAMS);
  const compare = async (run: Run, { of, warmUp }: { of: readonly Task[]; warmUp: boolean }) => {
    if (warmUp) await rateOf(run, of);
    return await ratesInTurn(() => rateOf(run, of), () => rateOf(child, of), ROUNDS * effort);
  };
  const rows: Row[] = [];
  for (const [resetMode, bound] of [["fresh", 0.8], ["rewind", 3]] as const) {
    await using pool = new SandboxPool({ ...setup, size: LANES, resetMode });
    const isFresh = resetMode === "fresh";
    const { a, ratio } = await compare(leaseRun(pool), { of: isFresh ? few : tasks, warmUp: !isFresh });
    const what = `HumanEval, a lease of a ${resetMode} pool for each program`;
    rows.push({ what, value: a, unit: "/s" });
    rows.push({ what: `${what}, against a python3 child each`, value: ratio, unit: "×", bound });
  }
  await using pool = new SandboxPool({
    ...setup,
    profile: { ...setup.profile, preload: CANDIDATE_PRELOAD },
    size: LANES,
    resetMode: "rewind",
  });
  await using testPool = new SandboxPool({
    ...setup,
    profile: { ...testProfile(setup.profile), preload: HIDDEN_TESTS_PRELOAD },
    size: LANES,
    resetMode: "rewind",
  });
  const graded = await compare(gradeRun(hiddenTests({ pool, testPool })), { of: tasks, warmUp: true });
  return [
    ...rows,
    { what: "HumanEval by hidden tests, both pools rewinding", value: graded.a, unit: "/s" },
    { what: "HumanEval, peer: a python3 child each", value: graded.b, unit: "/s" },
    { what: "HumanEval by hidden tests, against that peer", value: graded.ratio, unit: "×", bound: 2.5 },
  ];
}

async function readTasks(): Promise<Task[]> {
  const file = await Deno.open(FILE);
  const text = await new Response(file.readable.pipeThrough(new DecompressionStream("gzip"))).text();
  return text.trim().split("\n").map((line) => JSON.parse(line));
}

/** Returns programs per second. */
async function rateOf(run: Run, tasks: readonly Task[]): Promise<number> {
  const waiting = [...tasks];
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: LANES }, async () => {
    for (let task = waiting.shift(); task; task = waiting.shift()) await run(task);
  }));
  return tasks.length / ((performance.now() - startedAt) / 1000);
}

function programOf({ prompt, canonical_solution, test, entry_point }: Task): string {
  return `${prompt}${canonical_solution}\n${test}\ncheck(${entry_point})\nprint("passed")`;
}

function childRun({ executable }: HostPython): Run {
  return async (task) => {
    if ((await runChild(executable, programOf(task))).trim() !== "passed") throw notRight(task, "python3");
  };
}

function leaseRun(pool: SandboxPool): Run {
  return async (task) => {
    await using lease = await pool.acquire({ once: true });
    const result: ExecResult = await lease.session.exec(programOf(task));
    if (result.stdout.trim() !== "passed") throw notRight(task, result.status);
  };
}

function gradeRun(grader: Grader): Run {
  return async (task) => {
    const reply = `\`\`\`python\n${task.prompt}${task.canonical_solution}\n\`\`\``;
    const score = await grader.grade({
      task: { id: task.task_id, query: task.prompt, fields: { ...task } },
      history: History.fromChats([{ role: "assistant", content: reply }]),
    });
    const value = typeof score === "object" ? score?.score : score;
    if (value !== 1) throw notRight(task, `score ${value}`);
  };
}

function notRight({ task_id }: Task, found: string): Error {
  return new Error(`Cannot measure ${task_id} as its solution must pass: found ${found}`);
}
