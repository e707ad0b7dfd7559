import { assertEquals } from "@std/assert";
import { loadProfile, SandboxPool } from "../../../mod.ts";
import { History } from "../../../src/history.ts";
import { toScore } from "../../../src/rewards/grader.ts";
import { hiddenTests } from "../../../src/rewards/hidden_tests.ts";

/** A task with hidden tests and programs whose scores are known. */
export interface GradedTask {
  /** The family of the task, a slash, and the number or name of the task in it. */
  readonly id: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** A program that scores 1, as it does in CPython. */
  readonly correct: string;
  /** A program that scores 0. */
  readonly wrong?: string;
  /** Part of the error that refuses the task. */
  readonly refused?: string;
}

/** Reads tasks from a file next to this one. */
export async function readGradedTasks(name: string): Promise<GradedTask[]> {
  const text = await Deno.readTextFile(new URL(name, import.meta.url));
  return text.trim().split("\n").map((line) => JSON.parse(line));
}

/** Asserts that correct programs score 1, wrong ones 0, and that refused tasks have no score. */
export async function assertScores(tasks: readonly GradedTask[], timeoutMs = 10_000): Promise<void> {
  const resetMode = "rewind";
  await using pool = new SandboxPool({ profile: await loadProfile("python"), size: 1, resetMode });
  await using testPool = new SandboxPool({ profile: await loadProfile("tools"), size: 1, resetMode });
  const grader = hiddenTests({ pool, testPool, timeoutMs });
  const surprises: string[] = [];
  for (const { id, fields, correct, wrong, refused } of tasks) {
    const scoreOf = async (program: string) => {
      const history = History.fromChats([{ role: "assistant", content: `\`\`\`python\n${program}\n\`\`\`` }]);
      try {
        return toScore(await grader.grade({ task: { id, query: "q", fields }, history })).score;
      } catch (error) {
        return String(error);
      }
    };
    const score = await scoreOf(correct);
    const isExpected = refused === undefined ? score === 1 : String(score).includes(refused);
    if (!isExpected) surprises.push(`${id}: the correct program scores ${score}`);
    if (wrong === undefined) continue;
    const wrongScore = await scoreOf(wrong);
    if (wrongScore !== 0) surprises.push(`${id}: the wrong program scores ${wrongScore}`);
  }
  assertEquals(surprises, []);
}
