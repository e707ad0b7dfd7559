import { errorMessage, GraderError } from "../errors.ts";
import { type GradeContext, type Grader, type Score, wholeScore } from "./grader.ts";

/** A grader in a {@linkcode rubric}. */
export interface RubricItem {
  readonly grader: Grader;
  /** What its score is multiplied by; with 0 it is written down and not counted. */
  readonly weight: number;
  /** What it is called among the parts; its own name unless given. */
  readonly name?: string | undefined;
}

/** How {@linkcode rubric} makes one score of several. */
export interface RubricOptions {
  name?: string | undefined;
  /**
   * What becomes of the whole when a grader that counts gives `null`: it is `null` too, or the grader is left out
   * and the others take over its weight. `null` unless given: what could not be scored is never taken for worse
   * or better than it was.
   */
  whenNull?: "null" | "leave_out" | undefined;
}

interface Part extends Score {
  readonly name: string;
  readonly weight: number;
}

/**
 * Weights the scores of several graders to one: the sum of weight times score.
 *
 * The parts hold each grader's score under its name, and its own parts as `name.part`. Graders run at once; when one
 * throws, grading throws a `GraderError` that names it.
 *
 * @throws {RangeError} when there is no grader, or a weight is no finite number.
 * @throws {TypeError} when two have one name, or `whenNull` is no word that it may be.
 */
export function rubric(items: readonly RubricItem[], options: RubricOptions = {}): Grader {
  const { name = "rubric", whenNull = "null" } = options;
  checkItems(items);
  if (whenNull !== "null" && whenNull !== "leave_out") {
    throw new TypeError(
      `Cannot make rubric as 'whenNull' must be 'null' or 'leave_out': current value is '${whenNull}'`,
    );
  }
  return {
    name,
    async grade(context) {
      const graded = await Promise.allSettled(items.map((item) => partOf(item, context)));
      const failure = graded.find((one) => one.status === "rejected");
      if (failure) throw failure.reason;
      const parts = graded.flatMap((one) => one.status === "fulfilled" ? [one.value] : []);
      return { score: total(parts, whenNull), parts: Object.fromEntries(parts.flatMap(entriesOf)) };
    },
  };
}

function checkItems(items: readonly RubricItem[]): void {
  if (items.length === 0) throw new RangeError("Cannot make rubric as it must have a grader: there is none");
  const names = items.map(({ grader, name = grader.name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) {
    throw new TypeError(`Cannot make rubric as each name must be there once: '${twice}' is twice`);
  }
  for (const { grader, weight } of items) {
    if (Number.isFinite(weight)) continue;
    throw new RangeError(
      `Cannot make rubric as the weight of '${grader.name}' must be a finite number: current value is ${weight}`,
    );
  }
}

async function partOf(
  { grader, weight, name = grader.name }: RubricItem,
  context: GradeContext,
): Promise<Part> {
  try {
    return { name, weight, ...wholeScore(await grader.grade(context)) };
  } catch (cause) {
    if (context.signal?.aborted) throw cause;
    const reason = errorMessage(cause);
    throw new GraderError(`Cannot grade with '${name}': ${reason}`, { cause });
  }
}

function total(parts: readonly Part[], whenNull: "null" | "leave_out"): number | null {
  const counted = parts.filter(({ weight }) => weight !== 0);
  const scored = counted.filter(({ score }) => score !== null);
  if (scored.length < counted.length && whenNull === "null") return null;
  if (scored.length === 0) return counted.length === 0 ? 0 : null;
  const sum = scored.reduce((sum, { weight, score }) => sum + weight * (score ?? 0), 0);
  return sum * weightOf(counted) / weightOf(scored);
}

function weightOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { weight }) => sum + Math.abs(weight), 0);
}

function entriesOf({ name, score, parts = {} }: Part): [string, number | null][] {
  const inner = Object.entries(parts).map((
    [part, value],
  ): [string, number | null] => [`${name}.${part}`, value]);
  return [[name, score], ...inner];
}
