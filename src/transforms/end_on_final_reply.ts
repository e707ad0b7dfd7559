import type { Transform } from "./transform.ts";

/**
 * Terminates an episode when the assistant has the last word: when no tool before this transform answered it.
 *
 * Append it behind the tools.
 */
export function endOnFinalReply(): Transform {
  return {
    step: (step) => step.history.prompt.last?.role === "assistant" ? { ...step, terminated: true } : step,
  };
}
