import { type EpisodeCheckpoint, refuseCheckpoint } from "../episode_checkpoint.ts";

/** The part of a task that a simulated user gets. */
export interface UserTask {
  /** Index of the task in the split, from 0. */
  readonly index: number;
  /** Description of the user and their goal; never shown to the agent. */
  readonly instruction: string;
}

/** Options of the methods of {@linkcode UserSimulator}. */
export interface UserTurnOptions {
  signal?: AbortSignal | undefined;
}

/** The input of a user's reply: first the task, then the agent's messages. */
export type UserInput = { readonly task: UserTask } | { readonly content: string };

/** Text that a user's reply contains when the user is done. */
export const USER_STOP = "###STOP###";

/**
 * A simulated user in an episode of an agent with tools: a script, a model or a person.
 *
 * A simulator plays one episode at a time; `reset` starts the next episode. Failures reject with a `UserError`, or
 * with the signal's reason.
 */
export interface UserSimulator extends Partial<AsyncDisposable> {
  /** Cost of the episode so far, in the currency of the model's provider; 0 for a user without costs. */
  readonly cost: number;
  /** Starts an episode and returns the user's first message. */
  reset(task: UserTask, options?: UserTurnOptions): Promise<string>;
  /** Returns the user's reply to the agent's message. The reply contains {@linkcode USER_STOP} when the user is done. */
  step(content: string, options?: UserTurnOptions): Promise<string>;
  /** Records a reply of a saved episode without generating the reply, so that the episode can continue afterwards. */
  recall?(reply: string, input: UserInput): void;
  /** Returns what the simulator keeps of the conversation. Without this method, episodes have no copies. */
  checkpoint?(): EpisodeCheckpoint<UserSimulator>;
}

/**
 * A function that creates a simulator. The function is called once for each env, since a simulator plays one episode at
 * a time.
 */
export type UserFactory = () => UserSimulator | Promise<UserSimulator>;

/**
 * Creates a user simulator that continues a saved episode. The simulator first replays the replies of the saved episode,
 * which are the episode's `user` messages, and then lets `user` continue. `user` gets the replayed replies through
 * `recall`.
 *
 * @throws {TypeError} if `user` has no `recall`.
 */
export function resumedUser(replies: readonly string[], user: UserSimulator): UserSimulator {
  return resumeUser(replies, user, 0);
}

/** Returns what a user keeps of the conversation. */
export function checkpointUser(user: UserSimulator): EpisodeCheckpoint<UserSimulator> {
  return user.checkpoint?.() ??
    refuseCheckpoint("the simulated user must have a method 'checkpoint': it has none");
}

function resumeUser(replies: readonly string[], user: UserSimulator, start: number): UserSimulator {
  const { recall } = user;
  if (recall === undefined) {
    throw new TypeError("Cannot resume user as it must have the method 'recall': found none");
  }
  let turn = start;
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
    checkpoint() {
      const state = checkpointUser(user);
      const next = turn;
      return { copy: async (options) => resumeUser(replies, await state.copy(options), next) };
    },
    async [Symbol.asyncDispose]() {
      await user[Symbol.asyncDispose]?.();
    },
  };
}
