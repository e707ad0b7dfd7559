import type { UserInput, UserSimulator } from "./user_simulator.ts";

/**
 * Creates a user simulator that continues a saved episode. It first replays the replies of the saved episode,
 * which are its `user` messages, and then lets `user` continue. `user` gets the replayed replies through
 * `recall`.
 *
 * @throws {TypeError} if `user` has no `recall`.
 */
export function resumedUser(replies: readonly string[], user: UserSimulator): UserSimulator {
  const { recall } = user;
  if (recall === undefined) {
    throw new TypeError("Cannot resume user as it must have the method 'recall': found none");
  }
  let turn = 0;
  const replay = (input: UserInput): string | undefined => {
    const reply = replies[turn++];
    if (reply !== undefined) recall.call(user, reply, input);
    return reply;
  };
  return {
    get cost() {
      return user.cost;
    },
    async reset(task, options) {
      turn = 0;
      return replay({ task }) ?? await user.reset(task, options);
    },
    async step(content, options) {
      return replay({ content }) ?? await user.step(content, options);
    },
    async [Symbol.asyncDispose]() {
      await user[Symbol.asyncDispose]?.();
    },
  };
}
