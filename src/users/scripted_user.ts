import { UserError } from "../errors.ts";
import type { UserSimulator, UserTask } from "./user_simulator.ts";

/** The lines of a script: the same for every task, or a function that returns the lines of a task. */
export type UserScript = readonly string[] | ((task: UserTask) => readonly string[] | undefined);

/**
 * Creates a user simulator that replies with the lines of a script, in order, starting at `reset`. After the
 * last line a reply rejects with a `UserError`, since the script does not fit the episode.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { scriptedUser, USER_STOP } from "@paddock/paddock/tau-bench";
 *
 * const user = scriptedUser(["I want to return my lamp.", USER_STOP]);
 * const first = await user.reset({ index: 0, instruction: "You want to return a lamp." });
 * assertEquals(first, "I want to return my lamp.");
 * ```
 */
export function scriptedUser(lines: UserScript): UserSimulator {
  let script: readonly string[] = [];
  let position = 0;
  let index = 0;
  const begin = (task: UserTask) => {
    script = (typeof lines === "function" ? lines(task) : lines) ?? [];
    position = 0;
    index = task.index;
  };
  const next = () => {
    const line = script[position++];
    if (line !== undefined) return line;
    throw new UserError(
      `Cannot play the user of task ${index} as the script must have line ${position}: it has ${script.length}`,
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
    recall(_reply, input) {
      if ("task" in input) begin(input.task);
      position++;
    },
  };
}
