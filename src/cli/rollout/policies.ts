import { ChatFormat } from "../../chat/chat_format.ts";
import type { Tokenizer } from "../../chat/tokenizer.ts";
import { PolicyError } from "../../errors.ts";
import type { History } from "../../history.ts";
import type { ToolSpec } from "../../message.ts";
import { calculatorPolicy } from "../../policy/calculator.ts";
import type { ModelServerOptions } from "../../policy/model_server.ts";
import { openaiPolicy } from "../../policy/openai.ts";
import type { Policy } from "../../policy/policy.ts";
import { scriptedPolicy, ScriptFile } from "../../policy/scripted.ts";
import { sglangPolicy } from "../../policy/sglang.ts";
import type { Task } from "../../task.ts";
import { rethrowAsUsageError, UsageError } from "../errors.ts";
import { lookUp } from "../options.ts";

/** Policy options of the command line. */
export interface PolicySetup extends Pick<ModelServerOptions, "timeoutMs" | "concurrency"> {
  /** For servers of chat completions. */
  readonly apiKey?: string | undefined;
  readonly model?: string | undefined;
  readonly temperature?: number | undefined;
  readonly maxTokens?: number | undefined;
  /** The flags that name the policy and its model, for messages; `--policy` and `--model` unless given. */
  readonly flagNames?: { readonly policy: string; readonly model: string } | undefined;
  /** Knows how the model's conversations are written. */
  readonly tokenizer?: Tokenizer | undefined;
  /** Has a server of `/generate` leave special tokens in its text, as some of them mark calls. */
  readonly keepSpecialTokens?: boolean | undefined;
}

const FLAGS = { policy: "--policy", model: "--model" };

/** A policy that is ready to play. */
export interface ResolvedPolicy {
  readonly policy: Policy;
  /** True when a server answers: episodes then wait for it, and not for a processor. */
  readonly isRemote: boolean;
  /** Told of each task, in the order of their file, before it is played. */
  readonly onTask?: (task: Task) => void;
}

interface PolicyKind {
  /** One line for a help text. */
  readonly about: string;
  /** `argument` is what stands behind the colon. */
  make(argument: string | undefined, setup: PolicySetup): ResolvedPolicy | Promise<ResolvedPolicy>;
}

/** The policies by the names that `--policy` takes. */
export const POLICIES: Readonly<Record<string, PolicyKind>> = {
  scripted: {
    about: "each task's `replies`, else its `reference` worked out (the default); scripted:FILE for a file's",
    make: (file) => file === undefined ? { policy: ownPolicy(), isRemote: false } : filePolicy(file),
  },
  calculator: {
    about: "works out the calculator annotations of a reference solution, as GSM8K has them",
    make(argument) {
      if (argument === undefined) return { policy: calculatorPolicy(), isRemote: false };
      throw new UsageError(
        `Cannot use policy 'calculator' with '${argument}' as it takes nothing behind a colon`,
      );
    },
  },
  openai: {
    about: "openai:URL, a server of chat completions; needs --model, and $OPENAI_API_KEY where it wants one",
    make: (url, setup) => ({
      policy: openaiPolicy({ ...setup, ...asked("openai", url, setup) }),
      isRemote: true,
    }),
  },
  sglang: {
    about: "sglang:URL, the /generate of SGLang; sent token ids with --tokenizer, else text as ChatML",
    make: (url, setup) => ({ policy: generatePolicy(url, setup), isRemote: true }),
  },
};

/**
 * The policy that `--policy` names.
 *
 * @throws {UsageError} when there is none, or something is missing for it.
 */
export async function resolvePolicy(name: string, setup: PolicySetup): Promise<ResolvedPolicy> {
  const [, scheme = "", argument] = /^([^:]*)(?::([^]*))?$/.exec(name) ?? [];
  const kind = lookUp(POLICIES, scheme, "policy");
  return await rethrowAsUsageError(() => kind.make(argument, setup), { kinds: [Error] });
}

/** Tasks with replies are played by them, the others worked out from their reference solution. */
function ownPolicy(): Policy {
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

function generatePolicy(url: string | undefined, setup: PolicySetup): Policy {
  const { temperature, maxTokens, keepSpecialTokens = false, tokenizer } = setup;
  const samplingParams = {
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { max_new_tokens: maxTokens }),
    ...(keepSpecialTokens && { skip_special_tokens: false }),
  };
  const { model, timeoutMs, concurrency } = setup;
  const server = { url: requiredUrl("sglang", url, setup), model, timeoutMs, concurrency };
  return sglangPolicy({ ...server, render: createChatRenderer(tokenizer), samplingParams });
}

function asked(
  scheme: string,
  url: string | undefined,
  setup: PolicySetup,
): { url: string; model: string } {
  const { model, flagNames: { model: flag } = FLAGS } = setup;
  if (model !== undefined) return { url: requiredUrl(scheme, url, setup), model };
  throw new UsageError(`Cannot use policy '${scheme}' as it needs the name of a model: give ${flag} NAME`);
}

function requiredUrl(
  scheme: string,
  url: string | undefined,
  { flagNames: asked = FLAGS }: PolicySetup,
): string {
  if (url) return url;
  throw new UsageError(
    `Cannot use policy '${scheme}' as it needs an address: give ${asked.policy} ${scheme}:URL`,
  );
}

/**
 * Writes conversations for a server that is sent text, up to where the assistant speaks: with the template that
 * goes with the tokenizer, else as ChatML, in Qwen's form of it where there are tools to describe.
 */
export function createChatRenderer(
  tokenizer: Tokenizer | undefined,
): (history: History, tools: readonly ToolSpec[]) => string {
  const format = (family: string) => new ChatFormat(tokenizer === undefined ? { family } : { tokenizer });
  const plain = format("chatml");
  const withTools = format("qwen");
  return (history, tools) =>
    (tools.length === 0 ? plain : withTools).render(history, { addGenerationPrompt: true, tools });
}
