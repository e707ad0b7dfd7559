/** What a simulated user is told of an episode. */
export interface UserTask {
  /** Which task of its split it is, from 0. */
  readonly index: number;
  /** Who the user is and what they want, as the task states it; the agent is never shown it. */
  readonly instruction: string;
}

/** What a {@linkcode UserSimulator} may be given beside what was said. */
export interface UserTurnOptions {
  signal?: AbortSignal | undefined;
}

/** What a user answers: at first a task, and then the agent's words. */
export type UserHeard = { readonly task: UserTask } | { readonly content: string };

/** What a user says, alone or with other text, when there is nothing left to want. */
export const STOP = "###STOP###";

/**
 * Who plays the user in an episode of an agent with tools: a script, a model, a person.
 *
 * One simulator plays one episode at a time; `reset` starts the next. What goes wrong rejects with a `UserError`,
 * or with the signal's reason.
 */
export interface UserSimulator extends Partial<AsyncDisposable> {
  /** What the episode has cost so far in the currency of the model's provider; 0 where nothing is paid. */
  readonly cost: number;
  /** The user's first words. */
  reset(task: UserTask, options?: UserTurnOptions): Promise<string>;
  /** What the user answers to the agent's words; it holds {@linkcode STOP} when the user is done. */
  step(content: string, options?: UserTurnOptions): Promise<string>;
  /** Takes it that this was said to what was heard, without asking anybody: a saved episode goes on behind it. */
  recall?(said: string, heard: UserHeard): void;
}

/** Makes the simulator of one episode, as each env needs one of its own. */
export type MakeUser = () => UserSimulator | Promise<UserSimulator>;
