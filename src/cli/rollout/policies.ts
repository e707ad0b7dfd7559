import { ChatFormat } from "../../chat/chat_format.ts";
import type { Tokenizer } from "../../chat/tokenizer.ts";
import { errorMessage, PolicyError } from "../../errors.ts";
import type { History } from "../../history.ts";
import type { ToolSpec } from "../../message.ts";
import { calculatorPolicy } from "../../policy/calculator.ts";
import type { ModelServerOptions } from "../../policy/model_server.ts";
import { openaiPolicy } from "../../policy/openai.ts";
import type { PolicyFileOptions } from "../../plugins/policy_file.ts";
import type { Policy } from "../../policy/policy.ts";
import { scriptedPolicy, ScriptFile } from "../../policy/scripted.ts";
import { sglangPolicy } from "../../policy/sglang.ts";
import { grantsAny } from "../../sandbox/process/grants.ts";
import type { Task } from "../../task.ts";
import { rethrowAsUsageError, UsageError } from "../cli_errors.ts";
import { currentIo } from "../io.ts";
import { flagOf } from "../option_table.ts";
import { lookUp } from "../options.ts";
import { describeProxy } from "../proxy.ts";
import { isPluginPath, openPlugin, parseGrants, refuseGrants } from "./plugins.ts";
import type { WatchedServerOptions } from "./server_watch.ts";

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
  /** Flags that name the policy and its model, for messages. @default `--policy` and `--model` */
  readonly flagNames?: { readonly policy: string; readonly model: string } | undefined;
  /** Tokenizer of the model, whose chat template renders conversations. */
  readonly tokenizer?: Tokenizer | undefined;
  /** If true, a server that gets token ids keeps special tokens in its text, as some call styles need them. */
  readonly keepSpecialTokens?: boolean | undefined;
  /** If true, the episodes are written for a trainer. */
  readonly recordsTokens?: boolean | undefined;
  /** Permissions and owner of the process, if the name may be that of a file. */
  readonly file?: PolicyFileSetup | undefined;
}

/** Options of a process that serves the file of a policy. */
export interface PolicyFileSetup {
  /** Values of `--policy-allow`. */
  readonly allow: readonly string[];
  readonly stack: AsyncDisposableStack;
  readonly signal: AbortSignal;
}

/** Default maximum of tokens of a reply of a server, so that a weak model that repeats itself comes to an end. */
export const DEFAULT_MAX_TOKENS = 4096;

const FLAGS = { policy: "--policy", model: "--model" };

/** A policy that is ready to play. */
export interface ResolvedPolicy {
  readonly policy: Policy;
  /** True if a server plays the policy, so that episodes mostly wait. */
  readonly isRemote: boolean;
  /** True if a model server samples the replies. */
  readonly isServer?: boolean;
  /** True if a model may read the messages: not with a script or the calculator. */
  readonly isModel?: boolean;
  /** Called with each task, in the order of the file, before it is played. */
  readonly onTask?: (task: Task) => void;
}

interface PolicyKind {
  /** One line for a help text. */
  readonly about: string;
  /** True if a server samples the replies. */
  readonly isServer?: boolean;
  /** Makes the policy. `argument` is the text after the colon. */
  make(argument: string | undefined, setup: PolicySetup): ResolvedPolicy | Promise<ResolvedPolicy>;
}

/** Policies by their names for `--policy`. */
export const POLICIES: Readonly<Record<string, PolicyKind>> = {
  scripted: {
    about:
      "the task's `replies`, else the calculation of its `reference` (the default); scripted:FILE reads replies",
    make: (file) => file === undefined ? { policy: taskPolicy(), isRemote: false } : filePolicy(file),
  },
  calculator: {
    about: "computes the calculator annotations of a reference solution, as in GSM8K",
    make(argument) {
      if (argument === undefined) return { policy: calculatorPolicy(), isRemote: false };
      throw new UsageError(
        `Cannot use policy 'calculator' as it takes no text after a colon: found '${argument}'`,
      );
    },
  },
  openai: {
    about:
      "openai:URL, a server of chat completions; needs --model, and $OPENAI_API_KEY if the server requires it; with --train-out vLLM or SGLang",
    isServer: true,
    make: (url, setup) => ({ policy: chatPolicy(url, setup), isRemote: true, isServer: true, isModel: true }),
  },
  sglang: {
    about: "sglang:URL, /generate of SGLang; sends token ids with --tokenizer, else text in ChatML",
    isServer: true,
    make: (url, setup) => ({
      policy: generatePolicy(url, setup),
      isRemote: true,
      isServer: true,
      isModel: true,
    }),
  },
};

/**
 * Returns the policy that `--policy` names.
 *
 * @throws {UsageError} if the name is unknown, an option of the policy is missing, or its file does not start.
 */
export async function resolvePolicy(name: string, given: PolicySetup): Promise<ResolvedPolicy> {
  const setup = given.maxTokens === 0
    ? { ...given, maxTokens: undefined, defaultMaxTokens: undefined }
    : given;
  const { file } = setup;
  if (file !== undefined) {
    if (isPluginPath(name)) {
      refuseSampling(setup, `file '${name}'`);
      return await openPolicy(name, { ...setup, file });
    }
    refuseGrants({ ...file, allowFlag: POLICY_ALLOW });
  }
  const [, scheme = "", argument] = /^([^:]*)(?::([^]*))?$/.exec(name) ?? [];
  const kind = lookUp(POLICIES, scheme, "policy");
  if (!kind.isServer) refuseSampling(setup, `policy '${scheme}'`);
  return await rethrowAsUsageError(() => kind.make(argument, setup), { kinds: [Error] });
}

const POLICY_ALLOW = "--policy-allow";

/** Refuses options of sampling that a policy ignores. */
function refuseSampling(setup: SamplingFlags, policy: string): void {
  const given = (["topP", "topK", "stop", "extraBody"] as const).find((name) => setup[name] !== undefined);
  if (given === undefined) return;
  throw new UsageError(
    `Cannot play with ${policy} and ${
      flagOf(given)
    } as only a server gets it: give --policy openai:URL or sglang:URL`,
  );
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
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new UsageError(
    `Cannot use --extra-body as it must be a JSON object such as {"min_p": 0.1}: found ${text.slice(0, 80)}`,
  );
}

async function openPolicy(
  path: string,
  { file, model, temperature, maxTokens, timeoutMs }: PolicySetup & { file: PolicyFileSetup },
): Promise<ResolvedPolicy> {
  const { policyFile } = await import("../../plugins/policy_file.ts");
  const plugin = { path, allow: file.allow, allowFlag: POLICY_ALLOW };
  const open = (path: string, options: PolicyFileOptions) =>
    policyFile(path, { ...options, model, temperature, maxTokens, timeoutMs });
  const policy = await openPlugin(plugin, open, file);
  // a file that may use the network probably waits for a server
  return { policy, isRemote: grantsAny(parseGrants(plugin).net), isModel: true };
}

/** Returns a policy that sends the replies of a task, or else computes its reference solution. */
function taskPolicy(): Policy {
  const scripted = scriptedPolicy();
  const calculator = calculatorPolicy();
  return {
    name: "scripted",
    async reply(history, context) {
      const { id, replies, reference } = context.task;
      if (replies === undefined && reference === undefined) {
        throw new PolicyError(
          `Cannot play task '${id}' with policy 'scripted' as it needs 'replies' or a 'reference': it has neither`,
        );
      }
      return await (replies === undefined ? calculator : scripted).reply(history, context);
    },
  };
}

async function filePolicy(path: string): Promise<ResolvedPolicy> {
  const file = await ScriptFile.read(path);
  return {
    policy: scriptedPolicy({ replies: ({ id }) => file.repliesOf(id) }),
    isRemote: false,
    onTask: ({ id }) => file.assign(id),
  };
}

function chatPolicy(url: string | undefined, setup: PolicySetup): Policy {
  const { keepSpecialTokens, recordsTokens } = setup;
  const body = {
    ...(keepSpecialTokens && recordsTokens && { skip_special_tokens: false }),
    ...samplingFields(setup),
  };
  const server = requiredServer("openai", url, setup);
  return openaiPolicy({ ...setup, ...server, route: routeTo(server.url), body });
}

function generatePolicy(url: string | undefined, setup: PolicySetup): Policy {
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

/** Returns how requests reach a server, for the messages of its errors. */
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

/** Checks the address of a server before the other options, since a wrong one is the most frequent fault. */
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
 * text. It uses the tokenizer's template; without a tokenizer ChatML, or Qwen's template if there are tools.
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
