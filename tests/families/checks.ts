import { Draw } from "../../src/families/draw.ts";
import type { Problem, ProblemCall, ToolProblem, Verdict } from "../../src/families/family.ts";
import type { FamilyName } from "../../src/families/names.ts";
import { FAMILIES } from "../../src/families/registry.ts";
import { generateProblem } from "../../src/families/tasks.ts";
import type { SessionPool } from "../../src/sandbox/contract/pool.ts";

/** Scores of the answers to many problems of a family, as sums. */
export interface FamilyReport {
  problems: number;
  /** Number of references that are right. */
  references: number;
  /** Number of right constant answers, by answer. */
  constants: Map<string, number>;
  /** Number of problems for which a text of the query is right. */
  copies: number;
  guesses: number;
  rightGuesses: number;
  /** Number of random answers without the right form. */
  malformedGuesses: number;
  /** Time of the checks of the references, in milliseconds. */
  checkMs: number;
  /** Time of the generation, in milliseconds. */
  generateMs: number;
}

/** What {@linkcode checkFamily} does. */
export interface CheckFamilyOptions {
  readonly name: FamilyName;
  readonly difficulties: readonly number[];
  /** Number of problems of each difficulty. */
  readonly count: number;
  /** First seed. */
  readonly seed?: number;
  /** Random answers to each problem. */
  readonly guesses: number;
  /** Sessions with the profile of the family. */
  readonly pool?: SessionPool | undefined;
}

/** Constant answers that are tried for each problem, beside answers to other problems of the family. */
const CONSTANTS = [
  "0",
  "1",
  "42",
  "A -> B",
  "A B C D E",
  ".*",
  "SELECT 1",
  "def solve(items):\n    return 0",
  "x",
];

/** Returns what a report lacks: references must score 1, and other answers at most 0.1. */
export function faultsOf(report: FamilyReport): string[] {
  const { problems, references, constants, copies, guesses, rightGuesses, malformedGuesses } = report;
  const most = Math.max(0, ...constants.values());
  return [
    ...(references < problems ? [`${problems - references} references are wrong`] : []),
    ...(most > 0.1 * problems ? [`a constant answer is right ${most} times: ${[...constants]}`] : []),
    ...(copies > 0.1 * problems ? [`copies are right ${copies} times`] : []),
    ...(rightGuesses > 0.1 * guesses ? [`random answers are right ${rightGuesses} times of ${guesses}`] : []),
    ...(malformedGuesses > 0 ? [`${malformedGuesses} random answers are malformed`] : []),
  ];
}

/** Answers many problems of a family in ways that are right, constant, copied and random. */
export async function checkFamily(options: CheckFamilyOptions): Promise<FamilyReport> {
  const { name, difficulties, count, seed = 0, guesses } = options;
  const report: FamilyReport = {
    problems: 0,
    references: 0,
    constants: new Map(),
    copies: 0,
    guesses: 0,
    rightGuesses: 0,
    malformedGuesses: 0,
    checkMs: 0,
    generateMs: 0,
  };
  const { version } = FAMILIES[name];
  let other: Problem | undefined;
  for (const difficulty of difficulties) {
    for (let at = 0; at < count; at++) {
      const start = performance.now();
      const problem = generateProblem({ family: name, version, difficulty, seed: seed + at });
      report.generateMs += performance.now() - start;
      report.problems++;
      await checkProblem(problem, { report, other, guesses, pool: options.pool, draw: new Draw(seed + at) });
      other ??= problem;
    }
  }
  return report;
}

async function checkProblem(
  problem: Problem,
  { report, other, guesses, pool, draw }: {
    report: FamilyReport;
    other: Problem | undefined;
    guesses: number;
    pool: SessionPool | undefined;
    draw: Draw;
  },
): Promise<void> {
  if (problem.kind === "tools") return await checkTools(problem, { report, other, guesses, pool, draw });
  const verdictOf = (answer: string) => answerVerdict(problem, answer, pool);
  const start = performance.now();
  if (await verdictOf(problem.solution) === "right") report.references++;
  report.checkMs += performance.now() - start;
  const constants = other !== undefined && other.kind !== "tools"
    ? [...CONSTANTS, other.solution]
    : CONSTANTS;
  // code that cannot run is refused without a sandbox, so that only the answer to another problem is run
  const tried = problem.kind === "program" ? constants.slice(-1) : constants;
  for (const answer of tried) {
    if (await verdictOf(answer) === "right") {
      report.constants.set(answer, (report.constants.get(answer) ?? 0) + 1);
    }
  }
  let isCopied = false;
  for (const copy of problem.copies) isCopied ||= await verdictOf(copy) === "right";
  if (isCopied) report.copies++;
  for (let count = 0; count < guesses; count++) {
    const verdict = await verdictOf(problem.guess(draw));
    report.guesses++;
    if (verdict === "right") report.rightGuesses++;
    if (verdict === "malformed") report.malformedGuesses++;
  }
}

async function answerVerdict(
  problem: Exclude<Problem, ToolProblem>,
  answer: string,
  pool: SessionPool | undefined,
): Promise<Verdict> {
  if (problem.kind === "reply") return problem.check(answer);
  await using lease = await requirePool(pool).acquire();
  return await problem.check(answer, lease.session);
}

async function checkTools(
  problem: ToolProblem,
  { report, other, guesses, pool, draw }: {
    report: FamilyReport;
    other: Problem | undefined;
    guesses: number;
    pool: SessionPool | undefined;
    draw: Draw;
  },
): Promise<void> {
  const isSolved = (calls: readonly ProblemCall[]) => playCalls(problem, calls, pool);
  const start = performance.now();
  if (await isSolved(problem.solution)) report.references++;
  report.checkMs += performance.now() - start;
  if (await isSolved([])) report.copies++;
  if (other?.kind === "tools" && await isSolved(other.solution)) {
    report.constants.set("calls", (report.constants.get("calls") ?? 0) + 1);
  }
  for (let count = 0; count < guesses; count++) {
    report.guesses++;
    if (await isSolved(problem.guess(draw))) report.rightGuesses++;
  }
}

async function playCalls(
  problem: ToolProblem,
  calls: readonly ProblemCall[],
  pool: SessionPool | undefined,
): Promise<boolean> {
  await using lease = pool === undefined ? undefined : await pool.acquire();
  const episode = await problem.open(lease?.session);
  for (const { tool, arguments: args } of calls) {
    await episode.call(tool, args).catch(() => {}); // a constant answer may name a button of another machine
  }
  return await episode.check() === "right";
}

function requirePool(pool: SessionPool | undefined): SessionPool {
  if (pool !== undefined) return pool;
  throw new Error("Cannot check the family as its answers run: there is no pool");
}
