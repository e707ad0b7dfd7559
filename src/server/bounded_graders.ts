import { messageText } from "../message.ts";
import type { GradeContext, Grader } from "../rewards/grader.ts";
import { MAX_GRADED_CHARACTERS } from "./limits.ts";
import { ServerError } from "./server_error.ts";

/** Wraps graders so that they refuse replies and tasks that would block the serving thread. */
export function limitGraderInput(
  graders: ReadonlyMap<string, () => Grader>,
): ReadonlyMap<string, () => Grader> {
  return new Map([...graders].map(([name, make]) => [name, () => bounded(make())]));
}

function bounded(grader: Grader): Grader {
  return {
    name: grader.name,
    grade(context) {
      requireBounded(context);
      return grader.grade(context);
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
