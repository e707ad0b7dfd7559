import { type Command, Option } from "commander";
import { ArgumentTypeError } from "../../errors.ts";
import { TokenFormat } from "../../rollout/tokens/token_format.ts";
import type { RolloutOffer, RolloutPolicyOptions } from "../../server/rollouts/rollout_service.ts";
import { RunFolder } from "../../viewer/run_folder.ts";
import type { ViewerOptions } from "../../viewer/viewer_app.tsx";
import { ENV_KINDS } from "../../wire/v1_envs.ts";
import { rethrowAsUsageError, UsageError } from "../cli_errors.ts";
import { resolveTokenizer } from "../input.ts";
import { currentIo } from "../io.ts";
import { collectValues } from "../options.ts";
import { POLICIES, resolvePolicy, SERVER_POLICIES } from "../rollout/policies.ts";

/** Options of rollouts. */
export interface ServeRolloutFlags {
  readonly rolloutPolicy?: readonly string[];
  readonly rolloutEnv?: readonly (typeof ENV_KINDS)[number][];
  readonly rolloutTokenizer?: string;
  /** Folder of the runs that are shown, in which rollouts are saved. */
  readonly runs?: string;
}

/** Adds the options of rollouts. */
export function addRolloutOptions(command: Command): Command {
  return command
    .option(
      "--rollout-policy <policy>",
      `policy that clients may use: ${SERVER_POLICIES}; repeatable; none by default`,
      collectValues,
    )
    .addOption(
      new Option("--rollout-env <kind...>", "kinds of env that their episodes may have; none by default")
        .choices(ENV_KINDS),
    )
    .option(
      "--rollout-tokenizer <dir>",
      "folder with the tokenizer of the model, for episodes with tokens",
    )
    .option(
      "--runs <dir>",
      "folder of runs that /runs shows in a browser, and in which rollouts are saved; with one token at most",
    );
}

const SERVERS = Object.keys(POLICIES).filter((name) => POLICIES[name]?.isServer);
const FLAG_NAMES = { policy: "--rollout-policy", model: "the option 'model' of a request" };

/**
 * Returns the parts that rollouts of clients may use; nothing without `--rollout-policy`.
 *
 * @throws {UsageError} if a policy is no server, an address is wrong, or an option lacks another option.
 */
export async function openRollouts(flags: ServeRolloutFlags): Promise<RolloutOffer | undefined> {
  const { rolloutPolicy: names = [], rolloutEnv: envs = [], rolloutTokenizer } = flags;
  if (names.length === 0 && envs.length === 0 && rolloutTokenizer === undefined) return undefined;
  if (names.length === 0) {
    throw new UsageError("Cannot serve rollouts without a policy: give --rollout-policy");
  }
  if (envs.length === 0) throw new UsageError("Cannot serve rollouts without an env: give --rollout-env");
  const tokenizer = await resolveTokenizer(rolloutTokenizer);
  if (tokenizer !== undefined) {
    const format = new TokenFormat({ tokenizer });
    await rethrowAsUsageError(() => format.requireWritable({ mode: "append", onRewrite: "keep" }));
  }
  const apiKey = currentIo().env.get("OPENAI_API_KEY") || undefined;
  const policies = new Map(names.map((name) => {
    const make = async (
      { model, temperature, maxTokens, concurrency, recordsTokens }: RolloutPolicyOptions,
    ) => {
      if (schemeOf(name) === "openai" && model === undefined) {
        throw new ArgumentTypeError("model: a policy of chat completions needs one");
      }
      const server = { apiKey, model, temperature, maxTokens, concurrency };
      const options = { ...server, recordsTokens, tokenizer };
      return (await resolvePolicy(name, { ...options, flagNames: FLAG_NAMES })).policy;
    };
    return [name, make] as const;
  }));
  for (const name of names) await requireServer(name);
  return { policies, envs, tokenizer, saveTo: flags.runs };
}

/**
 * Returns the pages of the folder of `--runs`, which is created; nothing without the option.
 *
 * @throws {UsageError} if the folder cannot be used, or several tokens would see the runs of each other.
 */
export async function openRuns(
  { runs }: ServeRolloutFlags,
  { tokens, rollouts, signal }: {
    tokens: readonly string[];
    rollouts: RolloutOffer | undefined;
    signal: AbortSignal;
  },
): Promise<ViewerOptions | undefined> {
  if (runs === undefined) return undefined;
  if (tokens.length > 1) {
    throw new UsageError(
      `Cannot serve runs as every token would see the runs of the others: give at most one token: found ${tokens.length}`,
    );
  }
  return await rethrowAsUsageError(async () => {
    await Deno.mkdir(runs, { recursive: true });
    return { folder: await RunFolder.open(runs), tokenizer: rollouts?.tokenizer, signal };
  }, { prefix: `Cannot use the folder '${runs}'` });
}

/** Checks the name of a policy before the server starts. */
async function requireServer(name: string): Promise<void> {
  if (!SERVERS.includes(schemeOf(name))) {
    throw new UsageError(
      `Cannot serve rollouts with policy '${name}' as it must be a server: give ${SERVER_POLICIES}`,
    );
  }
  await resolvePolicy(name, { model: "model", flagNames: FLAG_NAMES });
}

function schemeOf(name: string): string {
  return name.slice(0, Math.max(0, name.indexOf(":")));
}
