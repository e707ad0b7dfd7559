import { requireKnownOptions } from "../options.ts";
import { parseTaggedReply, type TaggedReply } from "./final_reply.ts";
import { type Grader, type Score, unscored } from "./grader.ts";
// @ts-types="./ifeval/instructions.d.ts"
import { loadLanguages, makeInstructionChecks, readsLanguage } from "./ifeval/instructions.ts";
import { replyGrader } from "./reply_grader.ts";

/** Weights of the parts of an IFEval score. */
export interface IfevalOptions {
  /**
   * Weight of following all instructions, strict.
   * @default 0.4
   */
  promptStrict?: number | undefined;
  /**
   * Weight of the share of followed instructions, strict.
   * @default 0.3
   */
  instructionStrict?: number | undefined;
  /**
   * Weight of following all instructions, loose.
   * @default 0.2
   */
  promptLoose?: number | undefined;
  /**
   * Weight of the share of followed instructions, loose.
   * @default 0.1
   */
  instructionLoose?: number | undefined;
  /**
   * Weight of exactly one `<answer>…</answer>`.
   * @default 0.1
   */
  answerBlock?: number | undefined;
  /**
   * Weight of exactly one `<think>…</think>`.
   * @default 0.05
   */
  thinkBlock?: number | undefined;
}

/**
 * Returns a grader for the IFEval instructions in the task's `fields` (`instruction_id_list`, `kwargs`):
 * from 0 to 1.15; `null` if there are none.
 *
 * The parts are `prompt_level_strict_acc` and `prompt_level_loose_acc`, 1 if all instructions are followed,
 * and `inst_level_strict_acc` and `inst_level_loose_acc`, the share of followed instructions. Loose means
 * that the reply may follow an instruction without its first or last line, or without asterisks. If the
 * reply has an `<answer>…</answer>`, the first block is checked, otherwise the reply without thoughts. An
 * empty text follows no instruction.
 *
 * Languages are detected by script and by `eld`, so a text of a few words can be mistaken for another
 * language of the same script. Sentences are detected with English abbreviations. Grading throws a `TypeError` if
 * an instruction is unknown or lacks an argument, and a `RangeError` if the reply is too long for the number
 * of instructions.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { History, ifeval } from "@paddock/paddock";
 *
 * const history = History.fromChats([{ role: "assistant", content: "No commas here." }]);
 * const fields = { instruction_id_list: ["punctuation:no_comma"], kwargs: [{}] };
 * const result = await ifeval().grade({ task: { id: "1", query: "Write without commas.", fields }, history });
 * assertEquals(result, {
 *   score: 1,
 *   parts: {
 *     prompt_level_strict_acc: 1,
 *     inst_level_strict_acc: 1,
 *     prompt_level_loose_acc: 1,
 *     inst_level_loose_acc: 1,
 *   },
 * });
 * ```
 *
 * @throws {RangeError} when a weight is not a finite number.
 */
export function ifeval(options: IfevalOptions = {}): Grader {
  requireKnownOptions("call ifeval", options, {
    promptStrict: true,
    instructionStrict: true,
    promptLoose: true,
    instructionLoose: true,
    answerBlock: true,
    thinkBlock: true,
  });
  const weights = weightsOf(options);
  return replyGrader({
    name: "ifeval",
    origin: { file: "ifeval", factory: "ifeval", options },
    fields: ["instruction_id_list", "kwargs"],
    prepare: (task) => task === undefined || readsLanguage(task) ? loadLanguages() : undefined,
    gradeReply(text, task) {
      const checks = makeInstructionChecks(task);
      if (checks === null) return unscored("the task has no instructions");
      const reply = parseTaggedReply(text);
      const response = responseOf(reply);
      requireMaxLength(response, checks.length);
      const variants = looseVariantsOf(response);
      const strict = checks.map((follows) => response.trim() !== "" && follows(response));
      const loose = checks.map((follows, at) =>
        strict[at] || variants.some((variant) => variant.trim() !== "" && follows(variant))
      );
      return score(strict, loose, { reply, weights });
    },
  });
}

/**
 * Maximum number of characters that all instructions of a task check together. At this size the checks block
 * the host for seconds.
 */
const MAX_READ = 8 * 1024 * 1024;

function requireMaxLength(response: string, instructions: number): void {
  const maxLength = Math.floor(MAX_READ / instructions);
  if (response.length <= maxLength) return;
  throw new RangeError(
    `a reply to ${instructions} instructions must have at most ${maxLength} characters: it has ${response.length}`,
  );
}

/** Returns the text to check: unchanged if there are no tags. */
function responseOf({ answers: [answer], thoughts, visibleText: spoken }: TaggedReply): string {
  return answer?.trim() ?? (thoughts.length > 0 ? spoken.trim() : spoken);
}

function weightsOf(options: IfevalOptions): Required<{ [Name in keyof IfevalOptions]: number }> {
  const {
    promptStrict = 0.4,
    instructionStrict = 0.3,
    promptLoose = 0.2,
    instructionLoose = 0.1,
    answerBlock = 0.1,
    thinkBlock = 0.05,
  } = options;
  const weights = { promptStrict, instructionStrict, promptLoose, instructionLoose, answerBlock, thinkBlock };
  for (const [name, weight] of Object.entries(weights)) {
    if (Number.isFinite(weight)) continue;
    throw new RangeError(
      `Cannot score by IFEval as '${name}' must be a finite number: current value is ${weight}`,
    );
  }
  return weights;
}

function score(
  strict: readonly boolean[],
  loose: readonly boolean[],
  { reply, weights }: { reply: TaggedReply; weights: ReturnType<typeof weightsOf> },
): Score {
  const parts = {
    prompt_level_strict_acc: Number(share(strict) === 1),
    inst_level_strict_acc: share(strict),
    prompt_level_loose_acc: Number(share(loose) === 1),
    inst_level_loose_acc: share(loose),
  };
  const sum = weights.promptStrict * parts.prompt_level_strict_acc +
    weights.instructionStrict * parts.inst_level_strict_acc +
    weights.promptLoose * parts.prompt_level_loose_acc +
    weights.instructionLoose * parts.inst_level_loose_acc +
    weights.answerBlock * Number(reply.answers.length === 1) +
    weights.thinkBlock * Number(reply.thoughts.length === 1);
  return { score: Number(sum.toPrecision(12)), parts };
}

function share(followed: readonly boolean[]): number {
  return followed.filter(Boolean).length / followed.length;
}

/**
 * Returns the variants of a response for the loose check: the whole response, or without the first line, the
 * last line, or both, each also without asterisks. A loose check thus ignores an introduction or a closing
 * remark.
 */
export function looseVariantsOf(response: string): string[] {
  const lines = response.split("\n");
  const cuts = [
    response,
    lines.slice(1).join("\n").trim(),
    lines.slice(0, -1).join("\n").trim(),
    lines.slice(1, -1).join("\n").trim(),
  ];
  return [...cuts, ...cuts.map((cut) => cut.replaceAll("*", ""))];
}
