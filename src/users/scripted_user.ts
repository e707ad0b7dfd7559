import { UserError } from "../errors.ts";
import type { UserSimulator, UserTask } from "./user_simulator.ts";

/** The lines of a script: the same for every task, or found by a function. */
export type UserLines = readonly string[] | ((task: UserTask) => readonly string[] | undefined);

/**
 * A user who says the lines of a script one by one, whatever the agent says: the first at reset.
 *
 * A script that has run out rejects with a `UserError`, as the episode cannot be what was meant.
 */
export function scriptedUser(lines: UserLines): UserSimulator {
  let script: readonly string[] = [];
  let said = 0;
  let index = 0;
  const begin = (task: UserTask) => {
    script = (typeof lines === "function" ? lines(task) : lines) ?? [];
    said = 0;
    index = task.index;
  };
  const next = () => {
    const line = script[said++];
    if (line !== undefined) return line;
    throw new UserError(
      `Cannot play the user of task ${index} as the script must have line ${said}: it has ${script.length}`,
    );
  };
  return {
    cost: 0,
    // deno-lint-ignore require-await
    async reset(task) {
      begin(task);
      return next();
    },
    // deno-lint-ignore require-await
    step: async () => next(),
    recall(_said, heard) {
      if ("task" in heard) begin(heard.task);
      said++;
    },
  };
}
