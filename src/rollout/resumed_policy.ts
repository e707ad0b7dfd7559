import { requireKnownOptions } from "../options.ts";
import { EnvError } from "../errors.ts";
import type { History } from "../history.ts";
import type { Message } from "../message.ts";
import type { Policy, Reply } from "../policy/policy.ts";
import { toWellFormedJson } from "../json.ts";
import type { InteractionResult } from "./interaction_result.ts";

/** Options of {@linkcode resumedPolicy}. */
export interface ResumedPolicyOptions {
  /** Called if the env responds differently than before. The episode then fails. */
  onDiffers?: (() => void) | undefined;
}

/**
 * Creates a policy that resumes a saved episode: the policy replays the saved replies with their tokens, then calls the
 * other policy.
 *
 * The env must be reset with the same task and seed, and respond as before. If the env responds differently, the saved
 * replies no longer fit, and the episode fails with an `EnvError`.
 */
export function resumedPolicy(
  saved: InteractionResult,
  policy: Policy,
  options: ResumedPolicyOptions = {},
): Policy {
  requireKnownOptions("call resumedPolicy", options, { onDiffers: true });
  let replies: readonly Reply[] | undefined;
  let turn = 0;
  return {
    ...(policy.name !== undefined && { name: policy.name }),
    ...(policy.probe && { probe: policy.probe.bind(policy) }),
    async reply(history, context): Promise<Reply | string> {
      replies ??= savedReplies(saved, history.length);
      const reply = replies[turn];
      if (turn++ > replies.length) return await policy.reply(history, context);
      requireSameMessages(history, saved.messages, options);
      return reply ?? await policy.reply(history, context);
    },
  };
}

function savedReplies(saved: InteractionResult, promptLength: number): Reply[] {
  return saved.messages.slice(promptLength)
    .filter(({ role }) => role === "assistant")
    .map((message, at) => savedReply(saved, message, at));
}

function savedReply(
  { turns, tokens, log_probs, loss_mask, weight_version }: InteractionResult,
  message: Message,
  at: number,
) {
  const { sampled, finish_reason: finishReason, stop_text: stopText } = turns[at] ?? {};
  const weightVersion = turns[at]?.weight_version ?? weight_version;
  const promptLength = tokens.length - loss_mask.length;
  const place = sampled && { from: sampled.start, to: sampled.start + sampled.length };
  return {
    message,
    ...(finishReason !== undefined && { finishReason }),
    ...(stopText !== undefined && { stopText }),
    ...(weightVersion !== undefined && { weightVersion }),
    ...(place && {
      tokens: {
        ids: tokens.slice(place.from, place.to),
        ...(log_probs && { logProbs: log_probs.slice(place.from - promptLength, place.to - promptLength) }),
      },
    }),
  };
}

function requireSameMessages(
  history: History,
  saved: readonly Message[],
  { onDiffers }: ResumedPolicyOptions,
): void {
  for (const [at, message] of [...history].entries()) {
    const before = saved[at];
    if (before === undefined || toWellFormedJson(before) === toWellFormedJson(message)) continue;
    onDiffers?.();
    throw new EnvError(
      `Cannot resume episode as the env must respond as before: message ${at} is ${shown(message)}, it was ${
        shown(before)
      }`,
    );
  }
}

function shown({ role, content }: Message): string {
  const text = JSON.stringify(content);
  return `${role} ${text.length > 60 ? `${text.slice(0, 60)}…` : text}`;
}
