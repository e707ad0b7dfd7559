import { answerOf } from "../families/answer.ts";
import type { Problem, Verdict } from "../families/family.ts";
import { generateProblem, type ProblemKey, problemKeyOf } from "../families/tasks.ts";
import { requireKnownOptions } from "../options.ts";
import type { SessionPool } from "../sandbox/contract/pool.ts";
import { finalReplyOf } from "./final_reply.ts";
import { type GradeContext, type Grader, type Score, unscored } from "./grader.ts";

/** Options of {@linkcode family}. */
export interface FamilyOptions {
  /** Sessions for the code of answers. No episode may share them. The caller disposes the pool. */
  pool?: SessionPool | undefined;
}

/** Number of problems that a grader keeps, as the samples of a task have the same problem. */
const KEPT = 256;

/**
 * Returns a grader for the tasks of `familyTasks`. The grader generates the problem of the task again, and scores 1 if
 * the text in the last `<answer>…</answer>` of the final reply is right, else 0. The part `well_formed` is 1 if the
 * answer has the form that the task asks for. The score is `null` if the task names no family, or a family whose problems
 * are solved by tools, which only the family's env can score.
 *
 * @throws {RangeError} at a grade, if the task is of another version of the generator.
 * @throws {TypeError} at a grade, if the answer is code and there is no pool.
 */
export function family(options: FamilyOptions = {}): Grader {
  requireKnownOptions("call family", options, OPTIONS);
  const problems = new Problems();
  return { name: "family", grade: (context) => grade(context, { ...options, problems }) };
}

async function grade(
  { task, history, owner, signal }: GradeContext,
  { pool, problems }: FamilyOptions & { problems: Problems },
): Promise<Score> {
  const key = problemKeyOf(task);
  if (key === undefined) return unscored("the task names no family");
  const problem = problems.get(key);
  if (problem.kind === "tools") return unscored("only the env of the family scores the task");
  const answer = answerOf(finalReplyOf(history));
  if (answer === undefined) return toScore("malformed");
  if (problem.kind === "reply") return toScore(problem.check(answer));
  if (pool === undefined) {
    throw new TypeError(`Cannot grade family '${key.family}' as its answers are code: 'pool' is missing`);
  }
  await using lease = await pool.acquire({ owner, signal });
  return toScore(await problem.check(answer, lease.session, { signal }));
}

/** Returns the score of a verdict. */
export function toScore(verdict: Verdict): Score {
  return { score: verdict === "right" ? 1 : 0, parts: { well_formed: verdict === "malformed" ? 0 : 1 } };
}

/** The problems of the last grades. */
class Problems {
  readonly #problems = new Map<string, Problem>();

  get(key: ProblemKey): Problem {
    const name = `${key.family} ${key.difficulty} ${key.seed}`;
    const problem = this.#problems.get(name) ?? generateProblem(key);
    this.#problems.delete(name);
    this.#problems.set(name, problem);
    const [oldest] = this.#problems.keys();
    if (this.#problems.size > KEPT && oldest !== undefined) this.#problems.delete(oldest);
    return problem;
  }
}

/** Names of the options. */
const OPTIONS: Readonly<Record<keyof FamilyOptions, true>> = { pool: true };
