import type { UserHeard, UserSimulator } from "./user_simulator.ts";

/**
 * A user for an episode that was saved before its end: what they said stands, as the `user` messages of the saved
 * episode have it, and the other user goes on behind it, knowing it.
 *
 * @throws {TypeError} when the other user cannot recall what was said.
 */
export function resumedUser(said: readonly string[], user: UserSimulator): UserSimulator {
  const { recall } = user;
  if (recall === undefined) {
    throw new TypeError("Cannot resume user as it must have 'recall': it has none");
  }
  let turn = 0;
  const again = (heard: UserHeard): string | undefined => {
    const line = said[turn++];
    if (line !== undefined) recall.call(user, line, heard);
    return line;
  };
  return {
    get cost() {
      return user.cost;
    },
    async reset(task, options) {
      turn = 0;
      return again({ task }) ?? await user.reset(task, options);
    },
    async step(content, options) {
      return again({ content }) ?? await user.step(content, options);
    },
    async [Symbol.asyncDispose]() {
      await user[Symbol.asyncDispose]?.();
    },
  };
}
