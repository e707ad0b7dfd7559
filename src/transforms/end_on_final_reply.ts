import type { Step } from "../envs/env.ts";
import type { Transform } from "./transform.ts";

/**
 * Terminates an episode when the last message is the assistant's, that is when no earlier transform answered it.
 *
 * Append it after the tools.
 *
 * @example
 * ```ts
 * import { ChatEnv, EndOnFinalReply, replyAction, TransformedEnv } from "@paddock/paddock";
 *
 * await using env = new TransformedEnv(new ChatEnv(), [new EndOnFinalReply()]);
 * await env.reset({ id: "1", query: "Hello" });
 * const { terminated } = await env.step(replyAction("Hi"));
 * if (!terminated) throw new Error("expected the episode to end");
 * ```
 */
export class EndOnFinalReply implements Transform {
  step(step: Step): Step {
    return step.history.prompt.last?.role === "assistant" ? { ...step, terminated: true } : step;
  }
}
