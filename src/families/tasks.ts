import { ArgumentRangeError } from "../errors.ts";
import { requireKnownOptions } from "../options.ts";
import { deriveSeed } from "../seeded_random.ts";
import type { Task } from "../task.ts";
import { ANSWER_FORM, toReply } from "./answer.ts";
import { Draw } from "./draw.ts";
import type { Problem, ProblemCall } from "./family.ts";
import { FAMILY_PREFIX, type FamilyName, MAX_DIFFICULTY, SPLITS } from "./names.ts";
import { FAMILIES, toFamilyName } from "./registry.ts";

/** A split of a family. The text of a problem decides the split, so that no problem is in two splits. */
export type Split = (typeof SPLITS)[number];

/** Names a problem of a family. A task has the key in `fields`. */
export interface ProblemKey {
  readonly family: FamilyName;
  readonly version: number;
  readonly difficulty: number;
  /** Seed of the problem. */
  readonly seed: number;
}

/** Options of {@linkcode familyTasks}. */
export interface FamilyTasksOptions {
  /**
   * Difficulty from 1 to 10.
   *
   * @default 1
   */
  difficulty?: number | undefined;
  /**
   * Split of the tasks: eight of ten problems are in `train`, one in `validation` and one in `test`.
   *
   * @default "train"
   */
  split?: Split | undefined;
  /**
   * Seed of the tasks. The same seed gives the same tasks.
   *
   * @default 0
   */
  seed?: number | undefined;
  /**
   * Number of tasks that are left out at the start.
   *
   * @default 0
   */
  start?: number | undefined;
  /**
   * Number of tasks.
   *
   * @default Infinity
   */
  count?: number | undefined;
}

/**
 * Generates the tasks of a family, such as `graph-paths` or `paddock/graph-paths`. A task has no answer: the field
 * `fields` names the problem, which the grader `family` generates again. `replies` solve the task, for a scripted policy.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { familyTasks } from "@paddock/paddock/envs";
 *
 * const [task] = familyTasks("graph-paths", { difficulty: 3, split: "test", count: 1 });
 * assertEquals(task?.id, "paddock/graph-paths:1:3:test:0:0");
 * ```
 *
 * @throws {RangeError} if the family is unknown, or an option is out of range.
 */
export function* familyTasks(name: string, options: FamilyTasksOptions = {}): Generator<Task> {
  requireKnownOptions("call familyTasks", options, FAMILY_TASKS_OPTIONS);
  const { start = 0, count = Infinity, ...rest } = options;
  const makeTask = taskMaker(name, rest);
  requireInteger("start", start, 0, Number.MAX_SAFE_INTEGER);
  if (count !== Infinity) requireInteger("count", count, 0, Number.MAX_SAFE_INTEGER);
  for (let index = start; index < start + count; index++) yield makeTask(index);
}

/**
 * Returns a function that makes the task of an index.
 *
 * @throws {RangeError} if the family is unknown, or an option is out of range.
 */
export function taskMaker(
  name: string,
  { difficulty = 1, split = "train", seed = 0 }: Omit<FamilyTasksOptions, "start" | "count"> = {},
): (index: number) => Task {
  const family = requireFamily(name);
  requireDifficulty(difficulty);
  requireInteger("seed", seed, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  if (!SPLITS.includes(split)) {
    throw new ArgumentRangeError(
      `Cannot make tasks as 'split' must be one of ${SPLITS.join(", ")}: current value is '${split}'`,
    );
  }
  const { version } = FAMILIES[family];
  return (index) => {
    for (let attempt = 0;; attempt++) {
      const key = { family, version, difficulty, seed: deriveSeed(seed, index, attempt) };
      const problem = generateProblem(key);
      if (splitOf(problem) !== split) continue;
      const id = [`${FAMILY_PREFIX}${family}`, version, difficulty, split, seed, index].join(":");
      return { id, query: promptOf(problem), replies: solutionReplies(problem), fields: { ...key } };
    }
  };
}

/**
 * Returns the name of a family, without the prefix.
 *
 * @throws {RangeError} if there is no such family.
 */
export function requireFamily(name: string): FamilyName {
  const family = toFamilyName(name);
  if (family !== undefined) return family;
  throw new ArgumentRangeError(
    `Cannot make tasks as the family must be one of ${
      Object.keys(FAMILIES).join(", ")
    }: current value is '${name}'`,
  );
}

/** @throws {RangeError} if a difficulty is out of range. */
export function requireDifficulty(difficulty: number): void {
  requireInteger("difficulty", difficulty, 1, MAX_DIFFICULTY);
}

function requireInteger(name: string, value: number, min: number, max: number): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return;
  throw new ArgumentRangeError(
    `Cannot make tasks as '${name}' must be a whole number from ${min} to ${max}: current value is ${value}`,
  );
}

/** Generates the problem of a key. */
export function generateProblem({ family, difficulty, seed }: ProblemKey): Problem {
  return FAMILIES[family].generate(new Draw(deriveSeed(seed, difficulty)), difficulty);
}

/**
 * Returns the key that a task names; undefined if the task names no family.
 *
 * @throws {RangeError} if the key is of another version of the generator, or out of range.
 */
export function problemKeyOf({ fields }: Pick<Task, "fields">): ProblemKey | undefined {
  const { family: name, version, difficulty, seed } = fields ?? {};
  if (typeof name !== "string" || typeof seed !== "number" || typeof difficulty !== "number") {
    return undefined;
  }
  const family = toFamilyName(name);
  if (family === undefined) return undefined;
  requireDifficulty(difficulty);
  requireInteger("seed", seed, 0, 2 ** 32 - 1);
  const known = FAMILIES[family].version;
  if (version === known) return { family, version, difficulty, seed };
  throw new ArgumentRangeError(
    `Cannot use the task as its generator must have version ${known} of '${family}': found ${version}`,
  );
}

/** Returns the text of the user's message. */
export function promptOf(problem: Problem): string {
  return problem.kind === "tools" ? problem.query : `${problem.query}\n\n${ANSWER_FORM}`;
}

/** Returns the replies that solve a problem. Calls of tools have the call style `tag`. */
export function solutionReplies(problem: Problem): string[] {
  return problem.kind === "tools" ? toReplies(problem.solution) : [toReply(problem.solution)];
}

/** Returns replies with one call each, and a last reply that ends the episode. */
export function toReplies(calls: readonly ProblemCall[]): string[] {
  return [
    ...calls.map(({ tool, arguments: args }) => `<tool>${tool}\n${JSON.stringify(args)}</tool>`),
    "I am done.",
  ];
}

/** Returns the split of a problem, by a hash of the text. */
function splitOf({ query }: Problem): Split {
  let hash = 0;
  for (let at = 0; at < query.length; at++) hash = deriveSeed(hash, query.charCodeAt(at));
  const bucket = hash % 10;
  return bucket < 8 ? "train" : bucket === 8 ? "validation" : "test";
}

/** Names of the options. */
const FAMILY_TASKS_OPTIONS: Readonly<Record<keyof FamilyTasksOptions, true>> = {
  difficulty: true,
  split: true,
  seed: true,
  start: true,
  count: true,
};
