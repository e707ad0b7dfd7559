import type { Step } from "../envs/env.ts";
import { finalReplyOf, parseTaggedReply } from "../rewards/final_reply.ts";
import type { Transform } from "./transform.ts";

/**
 * Terminates an episode when the last message is the assistant's, that is, without an answer of an earlier transform. If a
 * limit of tokens cut that message off (`is_complete: false`), the episode is truncated instead.
 *
 * Append this transform after the tools.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { ChatEnv, EndOnFinalReply, replyAction, TransformedEnv } from "@paddock/paddock";
 *
 * await using env = new TransformedEnv(new ChatEnv(), [new EndOnFinalReply()]);
 * await env.reset({ id: "1", query: "Hello" });
 * const { terminated } = await env.step(replyAction("Hi"));
 * assertEquals(terminated, true);
 * ```
 */
export class EndOnFinalReply implements Transform {
  step(step: Step): Step {
    const { last } = step.history.prompt;
    if (last?.role !== "assistant") return step;
    return last.is_complete === false ? { ...step, truncated: true } : { ...step, terminated: true };
  }
}

/**
 * Terminates an episode when the assistant gives an `<answer>…</answer>` outside of thoughts, even if the
 * assistant also called tools. This is `set_done_if_answer` of TorchRL's reward parsers.
 *
 * Append this transform before the transforms that grade.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { ChatEnv, EndOnAnswer, replyAction, TransformedEnv } from "@paddock/paddock";
 *
 * await using env = new TransformedEnv(new ChatEnv(), [new EndOnAnswer()]);
 * await env.reset({ id: "1", query: "What is 1 + 1?" });
 * const { terminated } = await env.step(replyAction("<answer>2</answer>"));
 * assertEquals(terminated, true);
 * ```
 */
export class EndOnAnswer implements Transform {
  step(step: Step): Step {
    const { answers } = parseTaggedReply(finalReplyOf(step.history.prompt));
    return answers.length === 0 ? step : { ...step, terminated: true };
  }
}
