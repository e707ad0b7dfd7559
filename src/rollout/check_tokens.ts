import { pickKnownOptions, requireKnownOptions } from "../options.ts";
import type { Tokenizer } from "../chat/tokenizer.ts";
import { type Action, historyAfter } from "../envs/action.ts";
import type { Env, Observation, Step } from "../envs/env.ts";
import { errorMessage, PolicyError } from "../errors.ts";
import { History } from "../history.ts";
import { type Policy, type Reply, toReply } from "../policy/policy.ts";
import type { Task } from "../task.ts";
import { EpisodeRun } from "./episode/episode_run.ts";
import { type CheckChat, checkChats } from "./tokens/check_chats.ts";
import { EPISODE_TOKEN_OPTIONS, EpisodeWriter, type TokenOptions } from "./tokens/episode_writer.ts";
import { TOKEN_FORMAT_OPTIONS, TokenFormat } from "./tokens/token_format.ts";
import { findLogProbProblem, findTokenProblem, type TokenProblem } from "./tokens/token_problem.ts";

/** Options of {@linkcode checkTokens}. */
export interface CheckTokensOptions extends Omit<TokenOptions, "tokenizer"> {
  /**
   * Behaviour if the template rewrites earlier turns, as for {@linkcode trainingRollout}.
   *
   * @default "keep"
   */
  onRewrite?: "error" | "keep" | undefined;
  /**
   * Maximum number of tokens of a usual reply. Some chats use a multiple of this number.
   *
   * @default 32
   */
  maxTokens?: number | undefined;
  /** Seed of the replies, for policies that support a seed. */
  seed?: number | undefined;
  /** Called before each chat. */
  onStart?:
    | ((chat: { readonly name: string; readonly number: number; readonly total: number }) => void)
    | undefined;
  /** Called and awaited after each chat. */
  onChat?: ((check: ChatCheck) => void | Promise<void>) | undefined;
  /** Ends the check, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** Result of a chat. */
export interface ChatCheck {
  readonly chat: string;
  readonly about: string;
  /** `skipped` if the template rejects the chat, or the context of the model cannot hold it. */
  readonly status: "ok" | "failed" | "skipped";
  /** Number of replies that were checked. */
  readonly replies: number;
  readonly promptTokens: number;
  readonly sampledTokens: number;
  readonly problem?: TokenProblem;
  /** Reason for which the chat was skipped. */
  readonly skippedBy?: "template" | "context";
  /** Reason why the chat was skipped. */
  readonly reason?: string;
}

/** Result of {@linkcode checkTokens}. Plain data. */
export interface TokenReport {
  /** True if all chats were played that the template accepts and the context holds, and no token differs. */
  readonly ok: boolean;
  /** Name of the policy. */
  readonly policy: string | null;
  readonly tokenizer: string;
  readonly template: string;
  readonly chats: readonly ChatCheck[];
  /** Reason why the check ended at the first request, or checked nothing; `null` otherwise. */
  readonly failure: string | null;
}

/**
 * Checks that the tokens of a policy's server can be trusted for training. The check plays a few chats as training does:
 * with tools, thoughts, control tokens, Unicode, long messages and several turns. In each turn the check compares the ids
 * of the server's prompt with the recorded ids, and the sampled ids with the text, and requires log-probabilities.
 *
 * The check takes about 35 requests, one at a time. Run the check before a long training run, and after each change of the
 * server, the model or the tokenizer. A server that reports other ids than the used ids, in a way that fits the text and
 * the record, passes.
 *
 * @example
 * ```ts ignore
 * import { loadTokenizer, sglangPolicy } from "@paddock/paddock";
 * import { checkTokens } from "@paddock/paddock/rollout";
 *
 * const policy = sglangPolicy({ url: "http://127.0.0.1:30000" });
 * const report = await checkTokens(policy, await loadTokenizer("Qwen3-8B"));
 * for (const { chat, problem } of report.chats) if (problem) console.log(chat, problem.message);
 * ```
 *
 * @throws {TypeError} if the template does not allow the token mode.
 * @throws {RangeError} if the mode or the template is unknown.
 */
export async function checkTokens(
  policy: Policy,
  tokenizer: Tokenizer,
  options: CheckTokensOptions = {},
): Promise<TokenReport> {
  requireKnownOptions("call checkTokens", options, {
    ...EPISODE_TOKEN_OPTIONS,
    maxTokens: true,
    seed: true,
    onStart: true,
    onChat: true,
    signal: true,
  });
  const { mode = "append", onRewrite = "keep", onStart, onChat, signal } = options;
  const { format = new TokenFormat({ ...pickKnownOptions(options, TOKEN_FORMAT_OPTIONS), tokenizer }) } =
    options;
  format.requireWritable({ mode, onRewrite });
  const tokens = { ...options, mode, onRewrite, format, tokenizer };
  const chats = checkChats(format.chat);
  const checks: ChatCheck[] = [];
  let failure: string | null = null;
  for (const [at, chat] of chats.entries()) {
    signal?.throwIfAborted();
    onStart?.({ name: chat.name, number: at + 1, total: chats.length });
    const check = await checkChat(chat, policy, tokens);
    checks.push(check);
    await onChat?.(check);
    failure = failureOf(checks);
    if (failure !== null) break;
  }
  const played = checks.filter(({ status }) => status !== "skipped");
  if (played.length === 0) {
    const byTemplate = checks.every(({ skippedBy }) => skippedBy === "template");
    failure = byTemplate
      ? `Cannot check tokens as template '${format.chat.template.name}' rejects all chats`
      : "Cannot check tokens as the context of the model must hold a chat that the template accepts: it holds none";
  }
  return {
    ok: failure === null && played.every(({ status }) => status === "ok"),
    policy: policy.name ?? null,
    tokenizer: tokenizer.name,
    template: format.chat.template.name,
    chats: checks,
    failure,
  };
}

/** Returns why no further chat can be checked: the first request failed, or its response has no token ids. */
function failureOf(checks: readonly ChatCheck[]): string | null {
  const [first, ...others] = checks.filter(({ status }) => status !== "skipped");
  if (others.length > 0 || first?.problem === undefined || first.replies > 0) return null;
  const { kind, message } = first.problem;
  return kind === "server" || kind === "data" ? message : null;
}

type CheckSetup = CheckTokensOptions & TokenOptions & { format: TokenFormat };

async function checkChat(chat: CheckChat, policy: Policy, setup: CheckSetup): Promise<ChatCheck> {
  const { format, signal, seed, maxTokens = 32 } = setup;
  const { name, about, lengthFactor = 1 } = chat;
  const empty = { chat: name, about, replies: 0, promptTokens: 0, sampledTokens: 0 };
  const reason = rejectionOf(chat, format);
  if (reason !== undefined) return { ...empty, status: "skipped", skippedBy: "template", reason };
  const observed = new ObservedPolicy(policy, Math.max(2, Math.round(maxTokens * lengthFactor)));
  const writer = new EpisodeWriter(setup);
  const task = { id: name, query: about };
  const episode = new EpisodeRun(new FixedChat(chat), {
    policy: observed,
    task,
    options: { seed, signal },
    writer,
  });
  const failed = await episode.play(Infinity).then(() => [], (error: unknown) => [error]);
  signal?.throwIfAborted();
  const { overflow } = observed;
  const problem = failed.length > 0
    ? findTokenProblem(failed[0], observed, setup.tokenizer)
    : findLogProbProblem(observed.replies);
  return {
    ...empty,
    status: problem !== undefined ? "failed" : overflow ? "skipped" : "ok",
    ...(overflow && { skippedBy: "context" as const, reason: overflow.message }),
    replies: failed.length > 0 || overflow ? observed.requests - 1 : observed.requests,
    promptTokens: observed.replies.reduce((sum, { promptIds = [] }) => sum + promptIds.length, 0),
    sampledTokens: observed.replies.reduce((sum, { tokens }) => sum + (tokens?.ids.length ?? 0), 0),
    ...(problem && { problem }),
  };
}

/** Returns the reason why a template rejects a chat, whatever the server replies. */
function rejectionOf({ prompt, turns, tools }: CheckChat, { chat }: TokenFormat): string | undefined {
  const messages = turns.flatMap((turn) => [{ role: "assistant", content: "a" }, ...turn]);
  try {
    chat.render(prompt, { addGenerationPrompt: true, tools });
    chat.render([...prompt, ...messages], { addGenerationPrompt: true, tools });
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

/** A policy that requests verified prompts and keeps the replies of the policy behind it. */
class ObservedPolicy implements Policy {
  readonly name?: string;
  readonly replies: Reply[] = [];
  requests = 0;
  /** Error of a prompt that exceeds the context of the model. */
  overflow: PolicyError | undefined;
  readonly #policy: Policy;
  readonly #maxTokens: number;

  constructor(policy: Policy, maxTokens: number) {
    this.#policy = policy;
    this.#maxTokens = maxTokens;
    if (policy.name !== undefined) this.name = policy.name;
  }

  async reply(...[history, context]: Parameters<Policy["reply"]>): Promise<Reply> {
    this.requests++;
    const request = { ...context, maxTokens: this.#maxTokens, verifiesPrompt: true };
    try {
      const reply = toReply(await this.#policy.reply(history, request));
      this.replies.push(reply);
      return reply;
    } catch (error) {
      if (error instanceof PolicyError && error.fault === "context_overflow") this.overflow = error;
      throw error;
    }
  }
}

/** An env that adds fixed messages after each reply, with any content. */
class FixedChat implements Env {
  readonly #chat: CheckChat;
  #observation: Observation | undefined;
  #turn = 0;

  constructor(chat: CheckChat) {
    this.#chat = chat;
  }

  reset(task: Task): Promise<Observation> {
    const { prompt, tools = [] } = this.#chat;
    this.#turn = 0;
    return Promise.resolve(
      this.#observation = { task, history: { prompt: History.fromChats([...prompt]) }, tools },
    );
  }

  step(action: Action): Promise<Step> {
    if (this.#observation === undefined) {
      throw new Error("Cannot step as no chat is running: call reset() first");
    }
    const messages = this.#chat.turns[this.#turn++];
    const prompt = historyAfter(this.#observation.history.prompt, action).extend(messages ?? []);
    this.#observation = { ...this.#observation, history: { prompt } };
    const terminated = messages === undefined;
    return Promise.resolve({
      ...this.#observation,
      reward: null,
      terminated,
      truncated: false,
      toolResults: [],
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}
