import { SandboxError } from "../errors.ts";
import { type GradeContext, type Grader, type Score, toScore } from "../rewards/grader.ts";
import { ServerError, toPublicError } from "./server_error.ts";

/** Grades an episode. Errors of the grader become a `ServerError` with the grader's message. */
export async function gradeOrThrow(make: () => Grader, context: GradeContext): Promise<Score> {
  try {
    return toScore(await make().grade(context));
  } catch (cause) {
    const ofServer = cause instanceof SandboxError || cause instanceof ServerError;
    if (ofServer || !(cause instanceof Error)) throw toPublicError(cause);
    throw new ServerError("invalid", `Cannot grade: ${cause.message}`, { cause });
  }
}
