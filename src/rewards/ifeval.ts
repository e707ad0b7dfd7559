import { finalReply } from "./final_reply.ts";
import { type Grader, type Score, unscored } from "./grader.ts";
import { instructionChecks } from "./ifeval/instructions.ts";
import { looseVariants } from "./ifeval/variants.ts";
import { type TaggedReply, taggedReply } from "./tagged_reply.ts";

/** What the parts of a score by IFEval are worth. */
export interface IfevalOptions {
  /** For following every instruction, strictly read; 0.4 unless given. */
  promptStrict?: number | undefined;
  /** For the share of instructions that are followed, strictly read; 0.3 unless given. */
  instructionStrict?: number | undefined;
  /** For following every instruction, loosely read; 0.2 unless given. */
  promptLoose?: number | undefined;
  /** For the share of instructions that are followed, loosely read; 0.1 unless given. */
  instructionLoose?: number | undefined;
  /** For exactly one `<answer>…</answer>`; 0.1 unless given. */
  answerBlock?: number | undefined;
  /** For exactly one `<think>…</think>`; 0.05 unless given. */
  thinkBlock?: number | undefined;
}

/**
 * Scores how well a reply follows the instructions of IFEval in the task's `fields` (`instruction_id_list`,
 * `kwargs`): from 0 to 1.15. `null` when there are none.
 *
 * The parts are `prompt_level_strict_acc` and `prompt_level_loose_acc`, 1 when all instructions are followed, and
 * `inst_level_strict_acc` and `inst_level_loose_acc`, their share. Loosely read, it is enough when the reply
 * follows an instruction without its first or last line, or without asterisks. Where the reply has an
 * `<answer>…</answer>`, its first one is checked, else all of it but its thoughts; an empty one follows nothing.
 *
 * Languages are told by script and common words, so that a text of a few words can be taken for another language
 * of its script; sentences are told by English abbreviations. Grading throws a `TypeError` when an instruction is
 * unknown or lacks an argument, a `RangeError` when the reply is too long to read it for each of them.
 *
 * @throws {RangeError} when a weight is no finite number.
 */
export function ifeval(options: IfevalOptions = {}): Grader {
  const weights = weightsOf(options);
  return {
    name: "ifeval",
    grade({ task, history }) {
      const checks = instructionChecks(task);
      if (checks === null) return unscored("the task has no instructions");
      const reply = taggedReply(finalReply(history));
      const response = responseOf(reply);
      requireReadable(response, checks.length);
      const variants = looseVariants(response);
      const strict = checks.map((follows) => response.trim() !== "" && follows(response));
      const loose = checks.map((follows, at) =>
        strict[at] || variants.some((variant) => variant.trim() !== "" && follows(variant))
      );
      return score(strict, loose, { reply, weights });
    },
  };
}

/** Characters that instructions read together, each all of the reply; it takes seconds, and the host waits for it. */
const MAX_READ = 8 * 1024 * 1024;

function requireReadable(response: string, instructions: number): void {
  const most = Math.floor(MAX_READ / instructions);
  if (response.length <= most) return;
  throw new RangeError(
    `a reply to ${instructions} instructions must have at most ${most} characters: it has ${response.length}`,
  );
}

/** What is checked: as it is where nothing was taken off around it. */
function responseOf({ answers: [answer], thoughts, spoken }: TaggedReply): string {
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
