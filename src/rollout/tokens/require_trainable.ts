import { ArgumentTypeError, errorMessage, PolicyError, TokenError } from "../../errors.ts";
import { History } from "../../history.ts";
import type { Policy, Reply, ReplyContext } from "../../policy/policy.ts";
import { TRAINING_ADVICE } from "../../policy/token_data.ts";
import { requireSamePrompt } from "./prompt_difference.ts";
import { toSampledReply } from "./sampled_reply.ts";
import type { TokenFormat } from "./token_format.ts";

/** Chat by which a server is probed. */
const PROBE = [{ role: "user", content: "Hello" }];
const TASK = { id: "probe", query: "Hello" };

/** Options of {@linkcode requireTrainable}. */
export interface RequireTrainableOptions {
  /** Chat format and tokenizer of the episodes. */
  format: TokenFormat;
  signal?: AbortSignal | undefined;
}

/**
 * Checks that a policy's replies can be recorded for a trainer, before the first episode: a token is requested from the
 * policy's server. A server that cannot be reached passes, because the episodes record that failure.
 *
 * @throws {TypeError} if the server refuses the request, returns no token ids, or has another tokenizer or template.
 */
export async function requireTrainable(policy: Policy, options: RequireTrainableOptions): Promise<void> {
  if (policy.probe === undefined) return;
  const { format, signal } = options;
  const prompt = promptOf(format);
  if (prompt === undefined) return;
  try {
    const context = { task: TASK, ...prompt, maxTokens: 1, signal };
    requireRecordable(await policy.probe(History.fromChats(PROBE), context), {
      prompt: prompt.tokens,
      format,
    });
  } catch (cause) {
    if (!isRefusal(cause)) return; // the episodes fail for the same reason, and record the reason
    const name = policy.name === undefined ? "" : ` '${policy.name}'`;
    const advice = cause instanceof PolicyError
      ? `. If the server returns no token ids, ${TRAINING_ADVICE}`
      : "";
    throw new ArgumentTypeError(`Cannot train with policy${name}: ${errorMessage(cause)}${advice}`, {
      cause,
    });
  }
}

function requireRecordable(
  reply: Reply,
  { prompt, format }: { prompt: readonly number[]; format: TokenFormat },
): void {
  const { tokenizer } = format;
  if (reply.promptIds !== undefined) {
    requireSamePrompt({ server: reply.promptIds, recorded: prompt }, tokenizer);
  }
  toSampledReply(reply, format.chat, tokenizer);
}

/** Returns the prompt of the probe; `undefined` if the template rejects the chat. */
function promptOf(
  format: TokenFormat,
): Pick<ReplyContext, "text" | "recordedChat"> & { tokens: readonly number[] } | undefined {
  try {
    const text = format.chat.render(PROBE, { addGenerationPrompt: true });
    return {
      text,
      tokens: format.tokenizer.encode(text),
      recordedChat: () => format.recordedChat(PROBE, []),
    };
  } catch {
    return undefined; // a template may require other messages
  }
}

/** True if every episode would fail: the server lacks data, or does not accept such requests. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof PolicyError)) return error instanceof TokenError;
  const { fault } = error;
  return fault === "refused" || fault === "bad_answer" || fault === "context_overflow";
}
