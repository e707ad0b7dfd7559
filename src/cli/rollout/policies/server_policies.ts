import { ChatFormat } from "../../../chat/chat_format.ts";
import type { Tokenizer } from "../../../chat/tokenizer.ts";
import { errorMessage } from "../../../errors.ts";
import type { History } from "../../../history.ts";
import type { ToolSpec } from "../../../message.ts";
import { LLAMA_CPP_POLICY_OPTIONS, llamaCppPolicy } from "../../../policy/llama_cpp.ts";
import { pickKnownOptions } from "../../../options.ts";
import type { ModelServerOptions } from "../../../policy/model_server.ts";
import { OPENAI_POLICY_OPTIONS, openaiPolicy } from "../../../policy/openai.ts";
import type { Policy } from "../../../policy/policy.ts";
import { sglangPolicy } from "../../../policy/sglang.ts";
import { UsageError } from "../../cli_errors.ts";
import { currentIo } from "../../io.ts";
import { describeProxy } from "../../process/proxy.ts";
import type { WatchedServerOptions } from "../server_watch.ts";
import { isJsonObject } from "../../../json.ts";

/** Options of sampling that a model server gets. */
export interface SamplingFlags {
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  /** Texts that end a reply. */
  readonly stop?: readonly string[] | undefined;
  /** JSON of an object with further fields of a request. */
  readonly extraBody?: string | undefined;
}

/** Policy options of the command line. */
export interface PolicySetup
  extends SamplingFlags, Pick<ModelServerOptions, "timeoutMs" | "concurrency">, WatchedServerOptions {
  /** Key for servers of chat completions. */
  readonly apiKey?: string | undefined;
  readonly model?: string | undefined;
  readonly temperature?: number | undefined;
  /** 0 leaves the number to the server. */
  readonly maxTokens?: number | undefined;
  /** Maximum tokens of a reply of a server without `maxTokens`. */
  readonly defaultMaxTokens?: number | undefined;
  /** Flags that name the policy and the model, for messages. @default `--policy` and `--model` */
  readonly flagNames?: { readonly policy: string; readonly model: string } | undefined;
  /** Tokenizer of the model, whose chat template renders conversations. */
  readonly tokenizer?: Tokenizer | undefined;
  /** If true, a server that gets token ids keeps special tokens in the text, as some call styles need them. */
  readonly keepSpecialTokens?: boolean | undefined;
  /** If true, the episodes are written for a trainer. */
  readonly recordsTokens?: boolean | undefined;
  /** Permissions and owner of the process, if the name may be a file. */
  readonly file?: PolicyFileSetup | undefined;
}

/** Options of a process that serves the file of a policy. */
export interface PolicyFileSetup {
  /** Values of `--policy-allow`. */
  readonly allow: readonly string[];
  readonly stack: AsyncDisposableStack;
  readonly signal: AbortSignal;
}

const FLAGS = { policy: "--policy", model: "--model" };

/** @throws {UsageError} if the name of the model is missing. */
export function chatPolicy(url: string | undefined, setup: PolicySetup): Policy {
  const { keepSpecialTokens, recordsTokens } = setup;
  const body = {
    ...(keepSpecialTokens && recordsTokens && { skip_special_tokens: false }),
    ...samplingFields(setup),
  };
  const server = requiredServer("openai", url, setup);
  return openaiPolicy({
    ...pickKnownOptions({ ...setup, ...server }, OPENAI_POLICY_OPTIONS),
    url: server.url,
    route: routeTo(server.url),
    body,
  });
}

/** Returns the policy of SGLang's `/generate`. */
export function generatePolicy(url: string | undefined, setup: PolicySetup): Policy {
  const { temperature, maxTokens, keepSpecialTokens = false, tokenizer } = setup;
  const samplingParams = {
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { max_new_tokens: maxTokens }),
    ...(keepSpecialTokens && { skip_special_tokens: false }),
    ...samplingFields(setup),
  };
  const { model, timeoutMs, concurrency, defaultMaxTokens, waitMs, onAway, onBack, onUnusable } = setup;
  const watch = { defaultMaxTokens, waitMs, onAway, onBack, onUnusable };
  const address = requiredUrl("sglang", url, setup);
  const server = { url: address, model, timeoutMs, concurrency, ...watch, route: routeTo(address) };
  return sglangPolicy({ ...server, render: createChatRenderer(tokenizer), samplingParams });
}

/** @throws {UsageError} without a tokenizer: the server would get no prompt. */
export function completionPolicy(url: string | undefined, setup: PolicySetup): Policy {
  const { temperature, maxTokens, defaultMaxTokens, keepSpecialTokens, tokenizer } = setup;
  const address = requiredUrl("llamacpp", url, setup);
  if (tokenizer === undefined) {
    throw new UsageError(
      "Cannot use policy 'llamacpp' as it sends token ids: give the --tokenizer of the model; to evaluate without one, use openai:URL",
    );
  }
  const limit = maxTokens ?? defaultMaxTokens;
  const samplingParams = {
    ...(temperature !== undefined && { temperature }),
    ...(limit !== undefined && { n_predict: limit }),
    ...(keepSpecialTokens && { preserved_tokens: tokenizer.specialTokens }),
    ...samplingFields(setup),
  };
  return llamaCppPolicy({
    ...pickKnownOptions(setup, LLAMA_CPP_POLICY_OPTIONS),
    url: address,
    route: routeTo(address),
    samplingParams,
  });
}

/** Returns how requests reach a server, for the server's error messages. */
function routeTo(url: string): string | undefined {
  return describeProxy(new URL(url), currentIo().env);
}

function requiredServer(
  scheme: string,
  url: string | undefined,
  setup: PolicySetup,
): { url: string; model: string } {
  const { model, flagNames: { model: flag } = FLAGS } = setup;
  const address = requiredUrl(scheme, url, setup);
  if (model !== undefined) return { url: address, model };
  throw new UsageError(`Cannot use policy '${scheme}' as it needs a model name: give ${flag} NAME`);
}

function requiredUrl(
  scheme: string,
  url: string | undefined,
  { flagNames = FLAGS }: PolicySetup,
): string {
  if (url) {
    requireServerUrl(scheme, url, flagNames.policy);
    return url;
  }
  throw new UsageError(
    `Cannot use policy '${scheme}' as it needs a URL: give ${flagNames.policy} ${scheme}:URL`,
  );
}

/** Checks the address of a server before the other options, since a wrong address is the most frequent fault. */
function requireServerUrl(scheme: string, text: string, flag: string): void {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol)) return;
  const guess = URL.parse(`http://${text}`);
  const hint = guess === null || text.includes("://") ? "" : `; try ${flag} ${scheme}:http://${text}`;
  throw new UsageError(
    `Cannot use policy '${scheme}' as its URL must begin with http:// or https://: current value is '${text}'${hint}`,
  );
}

/**
 * Returns a function that renders a conversation and the start of the assistant's reply, for a server that takes
 * text. The function uses the tokenizer's template; without a tokenizer ChatML, or Qwen's template if there are tools.
 */
function createChatRenderer(
  tokenizer: Tokenizer | undefined,
): (history: History, tools: readonly ToolSpec[]) => string {
  const format = (family: string) => new ChatFormat(tokenizer === undefined ? { family } : { tokenizer });
  const plain = format("chatml");
  const withTools = format("qwen");
  return (history, tools) =>
    (tools.length === 0 ? plain : withTools).render(history, { addGenerationPrompt: true, tools });
}

/** Returns the fields of a request for the options of sampling. */
function samplingFields({ topP, topK, stop, extraBody }: SamplingFlags): Readonly<Record<string, unknown>> {
  return {
    ...(topP !== undefined && { top_p: topP }),
    ...(topK !== undefined && { top_k: topK }),
    ...(stop !== undefined && { stop }),
    ...(extraBody !== undefined && parseExtraBody(extraBody)),
  };
}

/** @throws {UsageError} if the text is not the JSON of an object. */
function parseExtraBody(text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new UsageError(`Cannot use --extra-body as it must be JSON: ${errorMessage(cause)}`, { cause });
  }
  if (isJsonObject(value)) return value;
  throw new UsageError(
    `Cannot use --extra-body as it must be a JSON object such as {"min_p": 0.1}: found ${text.slice(0, 80)}`,
  );
}
