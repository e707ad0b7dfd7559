import { requireKnownOptions } from "../options.ts";
import { errorMessage, GraderError } from "../errors.ts";
import { type GradeContext, type Grader, type Score, toScore } from "./grader.ts";
import type { GraderChange } from "./reply_grader.ts";

/** An entry of a {@linkcode rubric}. */
export interface RubricItem {
  readonly grader: Grader;
  /** Weight of the score. With 0 the score is recorded but not counted. */
  readonly weight: number;
  /**
   * Name among the parts.
   * @default the name of the grader
   */
  readonly name?: string | undefined;
}

/** Options of {@linkcode rubric}. */
export interface RubricOptions {
  /**
   * Name of the grader.
   * @default "rubric"
   */
  name?: string | undefined;
  /**
   * Result when a grader with a weight returns `null`: `null` as well, or the weighted mean of the others
   * (`leave_out`). The default never counts a missing score as better or worse.
   * @default "null"
   */
  whenNull?: "null" | "leave_out" | undefined;
}

/** A grader that returns a score with parts. */
export interface RubricGrader extends Grader {
  grade(context: GradeContext): Promise<Score>;
}

interface Part extends Score {
  readonly name: string;
  readonly weight: number;
}

/**
 * Returns a grader that combines several graders: the sum of weight times score.
 *
 * The parts contain each grader's score under the grader's name, and the grader's parts as `name.part`. The graders run in
 * parallel. If a grader throws, grading throws a `GraderError` that names the grader.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { exactMatch, gsm8k, rubric } from "@paddock/paddock";
 *
 * const grader = rubric([
 *   { grader: gsm8k(), weight: 0.9 },
 *   { grader: exactMatch(), weight: 0.1 },
 * ]);
 * assertEquals(grader.name, "rubric");
 * ```
 *
 * @throws {RangeError} when there is no grader, or when a weight is not a finite number.
 * @throws {TypeError} when two graders have the same name, or when `whenNull` is invalid.
 */
export function rubric(items: readonly RubricItem[], options: RubricOptions = {}): RubricGrader {
  requireKnownOptions("call rubric", options, { name: true, whenNull: true });
  const { name = "rubric", whenNull = "null" } = options;
  checkItems(items);
  if (whenNull !== "null" && whenNull !== "leave_out") {
    throw new TypeError(
      `Cannot make rubric as 'whenNull' must be 'null' or 'leave_out': current value is '${whenNull}'`,
    );
  }
  const grade = async (context: GradeContext): Promise<Score> => {
    const graded = await Promise.allSettled(items.map((item) => partOf(item, context)));
    const failure = graded.find((one) => one.status === "rejected");
    if (failure) throw failure.reason;
    const parts = graded.flatMap((one) => one.status === "fulfilled" ? [one.value] : []);
    return { score: total(parts, whenNull), parts: Object.fromEntries(parts.flatMap(entriesOf)) };
  };
  const mapGraders = (change: GraderChange) =>
    rubric(
      items.map(({ grader, ...item }) => ({ name: grader.name, ...item, grader: change(grader) })),
      options,
    );
  return { name, grade: Object.assign(grade, { mapGraders }) };
}

function checkItems(items: readonly RubricItem[]): void {
  if (items.length === 0) {
    throw new RangeError("Cannot make rubric as it must have at least one grader: found none");
  }
  const names = items.map(({ grader, name = grader.name }) => name);
  const duplicate = names.find((name, at) => names.indexOf(name) !== at);
  if (duplicate !== undefined) {
    throw new TypeError(`Cannot make rubric as each name must be unique: '${duplicate}' occurs twice`);
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
    return { name, weight, ...toScore(await grader.grade(context)) };
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
