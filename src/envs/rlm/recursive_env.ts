import type { Env } from "../env.ts";

/** A question that code of an episode asks the policy. */
export interface SubCall {
  readonly prompt: string;
  /** Number of the question within the episode, from 1. */
  readonly number: number;
  /** Number of the reply that has the asking code, from 1. */
  readonly turn: number;
  readonly signal: AbortSignal;
  /** Version of the weights that answer, if the caller counts versions. */
  readonly policyVersion?: number | string | undefined;
}

/** Answers questions of code. An error is raised in the code. */
export type AnswerSubCall = (call: SubCall) => Promise<string>;

/** An env in which code may ask the policy. */
export interface RecursiveEnv extends Env {
  /** Sets what answers the questions of the episodes that begin from now on. */
  answerSubCalls(answer: AnswerSubCall): void;
}

/** True if code of the env's episodes may ask the policy. */
export function isRecursiveEnv(env: Env): env is RecursiveEnv {
  return "answerSubCalls" in env;
}

/**
 * Returns an env that wraps another env as an env in which code may ask the policy, if code of the wrapped env may.
 * `change` returns the question that the policy is asked.
 */
export function keepRecursive(
  outer: Env,
  wrapped: Env,
  change: (call: SubCall) => SubCall = (call) => call,
): Env | RecursiveEnv {
  if (!isRecursiveEnv(wrapped)) return outer;
  return {
    reset: (task, options) => outer.reset(task, options),
    step: (action, options) => outer.step(action, options),
    ...(outer.truncate && { truncate: outer.truncate.bind(outer) }),
    answerSubCalls: (answer) => wrapped.answerSubCalls((call) => answer(change(call))),
    [Symbol.asyncDispose]: () => outer[Symbol.asyncDispose](),
  };
}
