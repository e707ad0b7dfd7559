import { PolicyError } from "../../errors.ts";
import { calculatorPolicy } from "../../policy/calculator.ts";
import type { PolicyFileOptions } from "../../plugins/policy_file.ts";
import type { Policy } from "../../policy/policy.ts";
import { scriptedPolicy, ScriptFile } from "../../policy/scripted.ts";
import { grantsAny } from "../../sandbox/process/grants.ts";
import type { Task } from "../../task.ts";
import { rethrowAsUsageError, UsageError } from "../cli_errors.ts";
import { flagOf } from "../option_table.ts";
import { lookUp } from "../options.ts";
import { isPluginPath, openPlugin, parseGrants, refuseGrants } from "./plugins.ts";
import {
  chatPolicy,
  completionPolicy,
  generatePolicy,
  type PolicyFileSetup,
  type PolicySetup,
  type SamplingFlags,
} from "./policies/server_policies.ts";

/** Default maximum of tokens of a reply of a server, so that a weak model that repeats itself comes to an end. */
export const DEFAULT_MAX_TOKENS = 4096;

/** A policy that is ready to play. */
export interface ResolvedPolicy {
  readonly policy: Policy;
  /** True if a server plays the policy, so that episodes mostly wait. */
  readonly isRemote: boolean;
  /** True if a model server samples the replies. */
  readonly isServer?: boolean;
  /** True if a model may read the messages: not with a script or the calculator. */
  readonly isModel?: boolean;
  /** Called with each task, in the order of the file, before the task is played. */
  readonly onTask?: (task: Task) => void;
}

interface PolicyKind {
  /** A line for a help text. */
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
  llamacpp: {
    about: "llamacpp:URL, /completion of llama.cpp's server; sends token ids, needs --tokenizer",
    isServer: true,
    make: (url, setup) => ({
      policy: completionPolicy(url, setup),
      isRemote: true,
      isServer: true,
      isModel: true,
    }),
  },
};

/** Policies of a model server, as messages name them. */
export const SERVER_POLICIES = "openai:URL, sglang:URL or llamacpp:URL";

/**
 * Returns the policy that `--policy` names.
 *
 * @throws {UsageError} if the name is unknown, an option of the policy is missing, or the policy's file does not start.
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
    } as only a server gets it: give --policy ${SERVER_POLICIES}`,
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

/** Returns a policy that sends the replies of a task, or else computes the task's reference solution. */
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
