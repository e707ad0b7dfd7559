import type { Tokenizer } from "../../chat/tokenizer.ts";
import type { EnvFile } from "../../plugins/env_file.ts";
import type { Profile } from "../../sandbox/profile/profile.ts";
import type { PlayedRun } from "../../rollout/run_record.ts";
import { requireTrainable } from "../../rollout/tokens/require_trainable.ts";
import { CALL_STYLES } from "../../tools/parsers/call_styles.ts";
import { resolveTokenizer, toInputPath } from "../input.ts";
import { resolveBranches } from "./branches.ts";
import {
  DEFAULT_MAX_TURNS,
  ENVS,
  fileEnvKind,
  type MakeEnv,
  openEnvFile,
  PYTHON_SYSTEM,
  RLM_ENV,
} from "./envs.ts";
import { isPluginPath, openTransforms } from "./plugins.ts";
import { openTools } from "./tools.ts";
import { chooseGraders, DEFAULT_GRADER, openGraders } from "./graders.ts";
import { createLazyPool, prepareImage, resolveProfile } from "../sandbox_options.ts";
import { RewardAudit, type RewardAuditOptions } from "../../transforms/reward_audit.ts";
import { TransformedEnv } from "../../transforms/transformed_env.ts";
import { lookUp } from "../options.ts";
import { announceFiles, requireTasks } from "./task_check.ts";
import { playTasks } from "./task_run.ts";
import { DEFAULT_MAX_TOKENS, type ResolvedPolicy, resolvePolicy } from "./policies.ts";
import { ignoreBrokenPipe, terminalColumns, wantsColour, writeText } from "../output.ts";
import { columnsOf, openTrajectoryFile } from "./trajectory_file.ts";
import type { RolloutFlags } from "./rollout_flags.ts";
import { describeRun, recordRun, requireSameSettings } from "./run_settings.ts";
import { ServerWatch } from "./server_watch.ts";
import { Summary } from "./report/summary.ts";
import { familyProfile, isFamilyEnv, openFamily } from "./envs/families.ts";
import { openReasoningGym, REASONING_GYM } from "./envs/reasoning_gym.ts";
import { openTauBench, TAU_BENCH } from "./envs/tau_bench.ts";
import { openTraining, tokenOptionsOf } from "./training_file.ts";
import { rethrowAsUsageError, UsageError } from "../cli_errors.ts";
import { HARBOR_ENV, openHarbor } from "./envs/harbor.ts";
import { withTimeScale } from "../time_scale.ts";
import { openWorkspaces, WORKSPACE_ENV } from "./envs/workspace.ts";
import { currentIo } from "../io.ts";

/** Default number of concurrent episodes if a server plays the policy. */
const REMOTE_CONCURRENCY = 8;

/**
 * Runs `paddock rollout` and returns the exit code.
 *
 * @throws {UsageError} if a flag is missing, unknown or not valid with the others.
 */
export async function runRollout(options: RolloutFlags, signal: AbortSignal): Promise<number> {
  const servers = new ServerWatch({ waitSeconds: options.serverWait });
  const flags: RolloutFlags = {
    ...options,
    server: servers.options,
    ...(options.tasks !== undefined && { tasks: toInputPath(options.tasks) }),
  };
  if (flags.resume && flags.out === undefined && flags.trainOut === undefined) {
    throw new UsageError(
      "Cannot resume as it needs the file of an earlier run: give --out FILE or --train-out FILE",
    );
  }
  if (flags.trainOut !== undefined && flags.tokenizer === undefined) {
    throw new UsageError(
      "Cannot write episodes for a trainer as their tokens need a tokenizer: give --tokenizer DIR",
    );
  }
  const { split, limit, samples, seed, timeoutMs, json, runUnlabeled, runThoughts } = flags;
  const show = flags.showFirst ?? (flags.show ? Infinity : undefined);
  const builtIn = isPluginPath(flags.env) ? undefined : lookUp(ENVS, flags.env, "env");
  if (flags.calls !== undefined) lookUp(CALL_STYLES, flags.calls, "call style");
  const maxTurns = flags.maxTurns ?? builtIn?.maxTurns ?? DEFAULT_MAX_TURNS;
  const maxReplies = builtIn?.maxReplies?.(maxTurns) ?? maxTurns;
  const branch = resolveBranches(flags, { maxTurns: maxReplies });
  chooseGraders(flags.grader ?? [], flags); // wrong ones are refused before a file starts
  const tokenizer = await resolveTokenizer(flags.tokenizer);
  await using stack = new AsyncDisposableStack();
  const resolved = await resolveFlagPolicy(flags, { tokenizer, stack, signal });
  const tokens = tokenOptionsOf(flags, { tokenizer, editPrompt: builtIn?.editPrompt });
  if (tokens !== undefined) {
    const training = { format: tokens.format, signal };
    await rethrowAsUsageError(() => requireTrainable(resolved.policy, training), { kinds: [TypeError] });
  }
  const profile = await withTimeScale(await resolveProfile(flags, signal), { ...flags, signal });
  const { concurrency, poolSize } = sizesOf(flags, resolved);
  const summary = new Summary({
    samples: branch ? 1 : samples,
    rewardsGain: builtIn?.rewardsGain,
    defaultMaxTokens: resolved.isServer && flags.maxTokens === undefined ? DEFAULT_MAX_TOKENS : undefined,
  });
  const tauBench = flags.env === TAU_BENCH
    ? await openTauBench(flags, { sessions: concurrency, stack, signal })
    : undefined;
  const workspace = flags.env === WORKSPACE_ENV
    ? await openWorkspaces(flags, {
      sessions: concurrency,
      samples,
      writesTokens: tokenizer !== undefined,
      stack,
    })
    : undefined;
  const family = isFamilyEnv(flags.env) ? await openFamily(flags) : undefined;
  if (family !== undefined) requireShell(flags.env, profile);
  const reasoningGym = flags.env === REASONING_GYM
    ? await openReasoningGym(flags, { sessions: poolSize, stack, signal })
    : undefined;
  const harbor = flags.env === HARBOR_ENV
    ? await openHarbor(flags, { sessions: concurrency, stack, signal })
    : undefined;
  if (flags.tasks !== undefined) {
    const columns = columnsOf(flags);
    await requireTasks(flags.tasks, { split, limit, columns, answerReader: answerReaderOf(flags) });
  }
  const tasks = tauBench?.tasks ?? workspace?.tasks ?? harbor?.tasks ?? flags.tasks ??
    (family ?? reasoningGym)?.tasks ?? [];
  const { cacheDir, reset: resetMode } = flags;
  const pool = createLazyPool({ profile, size: poolSize, cacheDir, stack, resetMode });
  const env = builtIn === undefined
    ? await openEnvFile(flags.env, { flags, owner: { size: concurrency, stack, signal } })
    : undefined;
  const graderNames = flags.grader ?? (isRewarded(env) || family || reasoningGym ? [] : [DEFAULT_GRADER]);
  const graders = chooseGraders(graderNames, flags);
  const chosen = await openGraders(graders, flags, { profile, size: poolSize, stack, signal });
  const grader = flags.grader === undefined ? chosen ?? reasoningGym?.grader : chosen;
  const transforms = await openTransforms(flags, { stack, signal });
  const hasTools = flags.mcp !== undefined || flags.tool !== undefined;
  const tools = hasTools ? await openTools(flags, { stack, signal, size: concurrency }) : undefined;
  if (tools?.areForCode && !profile.hostTools) {
    throw new UsageError(
      `Cannot let code call tools as profile '${profile.name}' must have 'hostTools': give --profile tools`,
    );
  }
  // with --train-out, the rollout records the tokens itself
  const envTokenizer = flags.trainOut === undefined ? tokenizer : undefined;
  const { parser } = lookUp(CALL_STYLES, flags.calls ?? "tag", "call style");
  const kind = env === undefined ? lookUp(ENVS, flags.env, "env") : fileEnvKind(env, { parser });
  if (flags.env === RLM_ENV) requireRlm(flags, profile);
  const makeEnv = await kind.open({
    pool,
    stack,
    tools,
    tokenizer: envTokenizer,
    grader,
    transforms,
    systemPrompt: flags.system || undefined,
    defaultSystem: systemOf(flags, { resolved, env }),
    parser,
    tauBench,
    workspace,
    harbor,
    timeoutMs,
    runUnlabeled,
    runThoughts,
    maxTurns,
  });
  if (kind.runsPython) await prepareImage(profile, { cacheDir, signal });
  const files = [flags.out, flags.trainOut].filter((path) => path !== undefined);
  const played = files.length === 0
    ? undefined
    : await describeFlags({ ...flags, ...(graderNames.length > 0 && { grader: graderNames }) }, {
      maxTurns,
      profile,
      resolved,
      env,
    });
  if (played !== undefined && flags.resume) {
    for (const path of files) await requireSameSettings(path, played);
  }
  // --force discards the contents of the files, so they are opened after everything else that can fail
  using out = await openTrajectoryFile({ ...flags, grader: graderNames }, {
    summary,
    policy: resolved.policy,
  });
  const training = await openTraining(flags, { tokens, stack });
  for await (const trajectory of training?.file.fillFrom(out?.finished() ?? []) ?? []) {
    summary.addEarlier(trajectory);
  }
  if (played !== undefined) {
    for (const path of files) {
      await rethrowAsUsageError(() => recordRun(path, played, { resume: flags.resume ?? false }));
    }
  }
  await announceFiles(flags);
  // a run with a file continues when stdout is closed
  const stdout = out === undefined && training === undefined
    ? currentIo().stdout
    : ignoreBrokenPipe(currentIo().stdout);
  const code = await playTasks({
    maxTurns: maxReplies,
    cutScore: flags.cutScore,
    limits: {
      tokens: flags.episodeTokens,
      timeMs: flags.episodeSeconds === undefined ? undefined : flags.episodeSeconds * 1000,
    },
    branch,
    tasks,
    split,
    taskColumns: columnsOf(flags),
    limit,
    samples,
    seed,
    concurrency,
    summary,
    out,
    training,
    json,
    show,
    policy: resolved.isServer
      ? servers.watch(resolved.policy, (reply) => summary.recordReply(reply))
      : resolved.policy,
    servers: resolved.isServer ? servers : undefined,
    maxErrors: flags.maxErrors,
    envName: env?.description.name ?? flags.env,
    timeScale: profile.timeScale,
    onTask: resolved.onTask,
    onEpisode: (trajectory) => family?.record(trajectory),
    makeEnv: flags.audit === undefined ? makeEnv : withAudit(makeEnv, flags.audit),
    signal,
    stdout,
    stderr: currentIo().stderr,
    colour: wantsColour(),
    columns: terminalColumns,
  });
  await writeText(currentIo().stderr, family?.summary() ?? "").catch(() => {}); // stderr is closed
  return code;
}

/**
 * Checks the profile of a family whose episodes have a shell.
 *
 * @throws {UsageError} if the profile has no shell.
 */
function requireShell(env: string, { name, shell }: Profile): void {
  if (familyProfile(env) !== "workspace" || shell) return;
  throw new UsageError(
    `Cannot play env '${env}' as profile '${name}' must have 'shell': give --profile workspace`,
  );
}

/** Returns a function that makes envs whose episodes are audited. */
function withAudit(makeEnv: MakeEnv, onHack: NonNullable<RewardAuditOptions["onHack"]>): MakeEnv {
  return async (task, resumed) =>
    new TransformedEnv(await makeEnv(task, resumed), [new RewardAudit({ onHack })]);
}

/**
 * Checks the flags of a run of recursive language models.
 *
 * @throws {UsageError} if the code cannot ask, or the episodes cannot be continued.
 */
function requireRlm({ resume, branch, audit }: RolloutFlags, { name, hostTools }: Profile): void {
  if (!hostTools) {
    throw new UsageError(
      `Cannot play env '${RLM_ENV}' as profile '${name}' must have 'hostTools': give --profile tools`,
    );
  }
  const flag = resume ? "--resume" : branch ? "--branch" : audit ? "--audit" : undefined;
  if (flag === undefined) return;
  throw new UsageError(
    `Cannot play env '${RLM_ENV}' with ${flag} as its questions are rows of their own: remove it`,
  );
}

/** Describes a run with the defaults that depend on the env and the policy. */
async function describeFlags(
  flags: RolloutFlags,
  { maxTurns, profile, ...run }: {
    maxTurns: number;
    profile: Profile;
    resolved: ResolvedPolicy;
    env: EnvFile | undefined;
  },
): Promise<PlayedRun> {
  const effective = {
    maxTurns,
    maxTokens: run.resolved.isServer ? flags.maxTokens ?? DEFAULT_MAX_TOKENS : flags.maxTokens,
    system: flags.system || systemOf(flags, run),
  };
  const replay = profile.network?.replay;
  return await describeRun({ flags: { ...flags }, effective, args: flags.args ?? [], replay });
}

/** Returns the default system message of a run, if any. */
function systemOf(
  flags: RolloutFlags,
  { resolved, env }: { resolved: ResolvedPolicy; env: EnvFile | undefined },
): string | undefined {
  const { system, noSystem } = flags;
  const runsPython = env === undefined ? flags.env === "python" : env.description.python;
  return runsPython && system === undefined && !noSystem && resolved.isModel ? PYTHON_SYSTEM : undefined;
}

/** True if an env in a file gives rewards itself. */
function isRewarded(env: EnvFile | undefined): boolean {
  return env !== undefined && (env.description.hooks.has("reward") || env.description.hooks.has("step"));
}

/**
 * Returns the name of a grader that gives no score without an answer, if the run has such a grader and nothing else
 * rewards.
 */
function answerReaderOf(flags: RolloutFlags): string | undefined {
  if (flags.transform !== undefined) return undefined;
  const rewards = isPluginPath(flags.env) || isFamilyEnv(flags.env); // a file of an env may reward
  const names = flags.grader ?? (rewards ? [] : [DEFAULT_GRADER]);
  return chooseGraders(names, flags).find(({ choice }) => "readsAnswer" in choice)?.name;
}

async function resolveFlagPolicy(
  flags: RolloutFlags,
  { tokenizer, stack, signal }: {
    tokenizer: Tokenizer | undefined;
    stack: AsyncDisposableStack;
    signal: AbortSignal;
  },
): Promise<ResolvedPolicy> {
  const { model, temperature, maxTokens, requestTimeoutMs: timeoutMs, concurrency } = flags;
  const apiKey = currentIo().env.get("OPENAI_API_KEY") || undefined;
  const { topP, topK, stop, extraBody } = flags;
  const defaultMaxTokens = DEFAULT_MAX_TOKENS;
  const sampling = { temperature, topP, topK, stop, extraBody, maxTokens, defaultMaxTokens };
  const server = { ...flags.server, ...sampling, model, timeoutMs, concurrency, apiKey };
  const keepSpecialTokens = flags.calls !== undefined && CALL_STYLES[flags.calls]?.hasSpecialTokens;
  const recordsTokens = flags.trainOut !== undefined;
  const file = { allow: flags.policyAllow ?? [], stack, signal };
  return await resolvePolicy(flags.policy, { ...server, tokenizer, keepSpecialTokens, recordsTokens, file });
}

/** Returns default sizes. A local policy keeps a core busy per episode; with a server, episodes mostly wait. */
function sizesOf(
  flags: RolloutFlags,
  { isRemote }: ResolvedPolicy,
): { concurrency: number; poolSize: number } {
  const cores = Math.max(2, navigator.hardwareConcurrency);
  const concurrency = flags.concurrency ?? flags.poolSize ?? (isRemote ? REMOTE_CONCURRENCY : cores);
  return { concurrency, poolSize: flags.poolSize ?? (isRemote ? concurrency : Math.min(concurrency, cores)) };
}
