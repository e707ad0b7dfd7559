import type { History } from "../../../history.ts";
import { findLastBoxed, hasBox } from "../../boxes.ts";
import { extractAnswer, plain } from "../../extract_answer.ts";
import { finalReplyOf, parseTaggedReply, type TaggedReply } from "../../final_reply.ts";
import { type GradeContext, type Grader, type Score, unscored } from "../../grader.ts";
import { tieredScore, type TieredScoreOptions } from "../../tiered_score.ts";
import type { AnswerPair, MathVerifier } from "./verifier.ts";
import { requireWheels } from "./wheels.ts";

/** Options of `math` with the verifier `math-verify`. */
export interface MathVerifyOptions extends TieredScoreOptions {
  /** Compares answers by the library math-verify, in sandboxes of the grader's own. */
  verifier: "math-verify";
  /**
   * Folder of the wheels, below `math-verify`, and of the sandbox's image.
   *
   * @default `.cache/paddock` in the home directory of the user
   */
  cacheDir?: string | undefined;
  /**
   * Number of interpreters that compare at the same time. Each takes some 200 MB.
   *
   * @default the number of CPU cores
   */
  size?: number | undefined;
  /**
   * Time limit of a comparison, in milliseconds.
   *
   * @default 5_000
   */
  timeoutMs?: number | undefined;
  /** Called before the sandbox's image is built, which takes up to a minute. */
  onBuild?: (() => void) | undefined;
}

/** A grader that owns sandboxes. Disposal ends them. */
export type MathVerifyGrader = Grader & AsyncDisposable;

/** Opens the verifier at the first comparison. */
export type OpenVerifier = () => Promise<Pick<MathVerifier, "compare"> & AsyncDisposable>;

/** Maximum length of an expected answer, in characters. */
const MAX_GOLD = 2_000;
/** Maximum length of the part of a reply that math-verify reads, in characters. A longer part is wrong. */
const MAX_ANSWER = 256 * 1024;

/**
 * Returns `math` with the verifier `math-verify`. `open` replaces the sandboxes in tests.
 *
 * @throws {RangeError} when a reward is not a finite number, or `size` or `timeoutMs` is out of range.
 * @throws {Deno.errors.NotFound} when a wheel of math-verify is missing.
 */
export function verifiedMath(options: MathVerifyOptions, open?: OpenVerifier): MathVerifyGrader {
  const { timeoutMs = 5_000, size = navigator.hardwareConcurrency } = options;
  requireInteger("timeoutMs", timeoutMs, 600_000);
  requireInteger("size", size, 4_096);
  const scoreOf = tieredScore(options);
  if (open === undefined) requireWheels(options.cacheDir);
  const openOwn = open ?? (() => openVerifier({ ...options, timeoutMs, size }));
  let verifier: ReturnType<OpenVerifier> | undefined;
  return {
    name: "math_verify",
    async grade({ task, history, signal }: GradeContext): Promise<Score | null> {
      const gold = goldOf(task.answer?.trim() ?? "");
      if (gold === undefined) return null;
      if (gold.length > MAX_GOLD) return unscored(`the task's answer has more than ${MAX_GOLD} characters`);
      const { answer, tags } = readReply(history);
      const pair = { gold, answer };
      const verdict = answer === "" || answer.length > MAX_ANSWER
        ? { isEqual: false }
        : await (await (verifier ??= openOwn())).compare(pair, signal);
      if ("unjudged" in verdict) return unscored(verdict.unjudged);
      return scoreOf({
        right: verdict.isEqual,
        hasAnswer: (tags.answers[0] ?? "").trim() !== "",
        hasThought: tags.thoughts.length > 0,
      });
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await (await verifier?.catch(() => undefined))?.[Symbol.asyncDispose](); // the pool may have failed to open
    },
  };
}

function requireInteger(name: string, value: number, max: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= max) return;
  throw new RangeError(
    `Cannot use verifier 'math-verify' as '${name}' must be an integer from 1 to ${max}: current value is ${value}`,
  );
}

async function openVerifier(
  { cacheDir, size, timeoutMs, onBuild }: MathVerifyOptions & { size: number; timeoutMs: number },
): ReturnType<OpenVerifier> {
  const { MathVerifier, mathVerifyProfile } = await import("./verifier.ts");
  const { SandboxPool } = await import("../../../sandbox/pool.ts");
  const pool = new SandboxPool({
    profile: mathVerifyProfile(cacheDir),
    size,
    resetMode: "rewind",
    optimize: "use", // the first grade waits for the start, and comparisons are as fast either way
    cacheDir,
    onBuild,
  });
  const verifier = new MathVerifier({ pool, size, timeoutMs });
  return {
    compare: (pair, signal) => verifier.compare(pair, signal),
    async [Symbol.asyncDispose](): Promise<void> {
      await verifier[Symbol.asyncDispose]();
      await pool[Symbol.asyncDispose]();
    },
  };
}

/** Marks that begin mathematics in a text. Without a mark, math-verify reads numbers and no LaTeX. */
const MATHS = /(?<!\\)\$|\\\(|\\\[|\\boxed/;

/** Returns a text in which math-verify finds the answer as mathematics. */
function toMaths(answer: string): string {
  return MATHS.test(answer) ? answer : `\\boxed{${answer}}`;
}

/** Returns the expected answer in math-verify's form; `undefined` without an answer. */
function goldOf(answer: string): AnswerPair["gold"] | undefined {
  const truth = hasBox(answer) ? findLastBoxed(answer) : answer;
  return truth ? toMaths(truth) : undefined;
}

/**
 * Returns the part of a reply that math-verify reads: the first answer block, or the whole reply. Thoughts are left out.
 */
function readReply(history: History): { readonly answer: string; readonly tags: TaggedReply } {
  const tags = parseTaggedReply(finalReplyOf(history));
  const [answer] = tags.answers;
  if (answer === undefined) return { answer: tags.visibleText.trim(), tags };
  const stated = MATHS.test(answer) ? answer : extractAnswer(answer, ["stated"]) ?? plain(answer);
  return { answer: stated.trim() === "" ? "" : toMaths(stated.trim()), tags };
}
