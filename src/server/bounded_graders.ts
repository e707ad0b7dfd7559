import { messageText } from "../message.ts";
import type { GradeContext, Grader } from "../rewards/grader.ts";
import { ServerError } from "./server_error.ts";

/** Most graders read on the thread that answers everybody, so none is given more than it reads in a second or two. */
const MAX_CHARACTERS = 1024 * 1024;

/** Graders that refuse replies, and tasks, that nobody can read while others wait. */
export function boundedGraders(
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
  const said = replies.reduce((most, reply) => Math.max(most, messageText(reply).length), 0);
  const { answer = "", fields = {} } = task;
  const asked = answer.length + JSON.stringify(fields).length;
  if (said <= MAX_CHARACTERS && asked <= MAX_CHARACTERS) return;
  throw new ServerError(
    "too_large",
    `A reply that is graded, and its task, may have ${MAX_CHARACTERS} characters each`,
  );
}
