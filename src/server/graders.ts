import { SandboxError } from "../errors.ts";
import { messageText } from "../message.ts";
import { type GradeContext, type Grader, type Score, toScore } from "../rewards/grader.ts";
import type { GraderPool } from "../rewards/worker/grader_pool.ts";
import { ServerError, toPublicError } from "./http/errors.ts";
import { MAX_GRADED_CHARACTERS } from "./limits.ts";

/** Graders by name, each made at its first use. */
export type Graders = ReadonlyMap<string, () => Grader>;

/**
 * Returns a grader as it runs for a client: in the workers of `pool` if it can, else on the serving thread. It
 * refuses replies and tasks that are too large.
 */
export function guardGrader(grader: Grader, pool: GraderPool, owner: string): Grader {
  const guarded = pool.guard(grader, { owner });
  return {
    name: grader.name,
    grade(context) {
      requireBounded(context);
      return guarded.grade(context);
    },
  };
}

function requireBounded({ history, task }: GradeContext): void {
  const replies = [...history].filter(({ role }) => role === "assistant");
  const longest = replies.reduce((most, reply) => Math.max(most, messageText(reply).length), 0);
  const { answer = "", fields = {} } = task;
  const taskCharacters = answer.length + JSON.stringify(fields).length;
  if (longest <= MAX_GRADED_CHARACTERS && taskCharacters <= MAX_GRADED_CHARACTERS) return;
  throw new ServerError(
    "too_large",
    `A graded reply and its task must have at most ${MAX_GRADED_CHARACTERS} characters each`,
  );
}

/** Grades an episode. Errors of the grader become a `ServerError` with the grader's message. */
export async function gradeOrThrow(grader: Grader, context: GradeContext): Promise<Score> {
  try {
    return toScore(await grader.grade(context));
  } catch (cause) {
    const ofServer = cause instanceof SandboxError || cause instanceof ServerError;
    if (ofServer || !(cause instanceof Error)) throw toPublicError(cause);
    throw new ServerError("invalid", `Cannot grade: ${cause.message}`, { cause });
  }
}
