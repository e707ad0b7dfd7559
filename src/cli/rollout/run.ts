import type { Tokenizer } from "../../chat/tokenizer.ts";
import type { FoundColumns } from "../../datasets/columns.ts";
import { findDatasetFiles } from "../../datasets/files.ts";
import { FIRST_ROWS, readTasks, type ReadTasksOptions } from "../../datasets/read_tasks.ts";
import type { Task } from "../../task.ts";
import type { EnvFile } from "../../plugins/env_file.ts";
import type { Profile } from "../../sandbox/profile/profile.ts";
import type { CutScore } from "../../rollout/episode/episode_score.ts";
import type { InteractionResult } from "../../rollout/interaction_result.ts";
import type { PlayedRun } from "../../rollout/run_record.ts";
import type { TokenOptions } from "../../rollout/tokens/episode_writer.ts";
import { requireTrainable, type RequireTrainableOptions } from "../../rollout/tokens/require_trainable.ts";
import type { TokenMode } from "../../rollout/tokens/turn_writers.ts";
import { TokenFormat } from "../../rollout/tokens/token_format.ts";
import { CALL_STYLES } from "../../tools/parsers/call_styles.ts";
import { requireReadable, resolveTokenizer, toInputPath } from "../input.ts";
import { type BranchFlags, resolveBranches } from "./branches.ts";
import {
  DEFAULT_MAX_TURNS,
  ENVS,
  type FileEnvFlags,
  fileEnvKind,
  openEnvFile,
  PYTHON_SYSTEM,
  RLM_ENV,
} from "./envs.ts";
import { isPluginPath, openTransforms, type TransformFlags } from "./plugins.ts";
import { openTools, type ToolFlags } from "./tools.ts";
import { chooseGraders, DEFAULT_GRADER, type GraderFlags, openGraders } from "./graders.ts";
import { createLazyPool, prepareImage, resolveProfile, type SandboxFlags } from "../sandbox_options.ts";
import { lookUp } from "../options.ts";
import { emptyTasksError, playTasks, UNREADABLE } from "./task_run.ts";
import { DEFAULT_MAX_TOKENS, type ResolvedPolicy, resolvePolicy } from "./policies.ts";
import type { SamplingFlags } from "./policies/server_policies.ts";
import { escapeControls } from "../../terminal_text.ts";
import { ignoreBrokenPipe, terminalColumns, wantsColour, writeText } from "../output.ts";
import { type ColumnFlags, columnsOf, openTrajectoryFile, requireSameTokens } from "./trajectory_file.ts";
import { describeRun, recordRun, requireSameSettings } from "./run_settings.ts";
import { ServerWatch } from "./server_watch.ts";
import { Summary } from "./summary.ts";
import { type FamilyFlags, familyProfile, isFamilyEnv, openFamily } from "./envs/families.ts";
import { openReasoningGym, REASONING_GYM, type ReasoningGymFlags } from "./envs/reasoning_gym.ts";
import { openTauBench, TAU_BENCH, type TauBenchFlags } from "./envs/tau_bench.ts";
import { TrainingFile, TrainingRun } from "./training_file.ts";
import { checkUsage, rethrowAsUsageError, toUsageError, UsageError } from "../cli_errors.ts";
import { withTimeScale } from "../time_scale.ts";
import { openWorkspaces, WORKSPACE_ENV, type WorkspaceFlags } from "./envs/workspace.ts";
import { currentIo } from "../io.ts";

/** Options of `paddock rollout`. */
export interface RolloutFlags
  extends
    SandboxFlags,
    ToolFlags,
    GraderFlags,
    TauBenchFlags,
    WorkspaceFlags,
    Pick<FamilyFlags, "difficulty">,
    ReasoningGymFlags,
    TransformFlags,
    ColumnFlags,
    FileEnvFlags,
    SamplingFlags,
    Pick<BranchFlags, "branch"> {
  limit?: number;
  env: string;
  policy: string;
  /** Permissions of the file of a policy. */
  policyAllow?: readonly string[];
  /** Values of `--grader`, such as `gsm8k=0.8`. */
  grader?: readonly string[];
  cutScore: CutScore;
  model?: string;
  temperature?: number;
  maxTokens?: number;
  requestTimeoutMs?: number;
  /** Seconds that the run waits for a server that is away. */
  serverWait: number;
  maxErrors?: number;
  episodeTokens?: number;
  episodeSeconds?: number;
  /** False for none. */
  system?: string | false;
  /** True if the configuration file asks for no system message. */
  noSystem?: boolean;
  samples: number;
  seed?: number;
  tokenizer?: string;
  concurrency?: number;
  poolSize?: number;
  reset: "rewind" | "fresh";
  /** Value of `--time-scale`. */
  timeScale?: string;
  maxTurns?: number;
  runUnlabeled?: boolean;
  runThoughts?: boolean;
  json?: boolean;
  out?: string;
  trainOut?: string;
  tokenMode: TokenMode;
  resume?: boolean;
  force?: boolean;
  show?: boolean;
  showFirst?: number;
  /** Arguments of the command line, for the record of the run. */
  args?: readonly string[];
}

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
  if (tokens !== undefined) await requirePolicyForTraining(resolved, { format: tokens.format, signal });
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
  if (flags.tasks !== undefined) {
    const columns = columnsOf(flags);
    await requireTasks(flags.tasks, { split, limit, columns, answerReader: answerReaderOf(flags) });
  }
  const tasks = tauBench?.tasks ?? workspace?.tasks ?? flags.tasks ?? (family ?? reasoningGym)?.tasks ?? [];
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
    makeEnv,
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

/**
 * Checks the flags of a run of recursive language models.
 *
 * @throws {UsageError} if the code cannot ask, or the episodes cannot be continued.
 */
function requireRlm({ resume, branch }: RolloutFlags, { name, hostTools }: Profile): void {
  if (!hostTools) {
    throw new UsageError(
      `Cannot play env '${RLM_ENV}' as profile '${name}' must have 'hostTools': give --profile tools`,
    );
  }
  const flag = resume ? "--resume" : branch ? "--branch" : undefined;
  if (flag === undefined) return;
  throw new UsageError(
    `Cannot play env '${RLM_ENV}' with ${flag} as its questions are rows of their own: remove it`,
  );
}

/** Describes a run with the defaults that depend on the env and the policy. */
async function describeFlags(
  flags: RolloutFlags,
  { maxTurns, ...run }: { maxTurns: number; resolved: ResolvedPolicy; env: EnvFile | undefined },
): Promise<PlayedRun> {
  const effective = {
    maxTurns,
    maxTokens: run.resolved.isServer ? flags.maxTokens ?? DEFAULT_MAX_TOKENS : flags.maxTokens,
    system: flags.system || systemOf(flags, run),
  };
  return await describeRun({ flags: { ...flags }, effective, args: flags.args ?? [] });
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

/**
 * Checks that there is a task, and that the first rows have the columns of a task, before the file of an earlier run is
 * touched. A source that can be read only once, such as a pipe, is checked after the play.
 *
 * @throws {UsageError} if the tasks cannot be read, there is no task, or the grader needs an answer that another column
 * may have.
 */
async function requireTasks(
  path: string,
  { answerReader, ...options }: ReadTasksOptions & { answerReader: string | undefined },
): Promise<void> {
  await requireReadable(path, { mayBeFolder: true });
  const { isFile, isDirectory } = await Deno.stat(path);
  if (!isFile && !isDirectory) return;
  const limit = Math.min(options.limit ?? FIRST_ROWS, FIRST_ROWS);
  const found: FoundColumns[] = [];
  const onFound = (columns: FoundColumns) => void found.push(columns);
  const first: Task[] = [];
  try {
    for await (const task of readTasks(path, { ...options, limit, onFound, onFault: () => {} })) {
      first.push(task);
    }
  } catch (error) {
    throw toUsageError(error, { kinds: UNREADABLE });
  }
  if (first.length === 0) throw emptyTasksError(path);
  const [columns] = found;
  if (columns === undefined) return;
  const reader = first.every(({ answer }) => answer === undefined) ? answerReader : undefined;
  if (reader !== undefined && columns.others.length > 0) {
    throw new UsageError(
      `Cannot score tasks of '${path}' as grader '${reader}' needs their answers: found ` +
        `[${columns.others.join(", ")}] beside the query; give --answer-field NAME, or --grader none`,
    );
  }
  await announceColumns(columns, reader);
}

/** Prints the columns that were found by their names or by options, as another column may be meant. */
async function announceColumns({ query, answer }: FoundColumns, reader: string | undefined): Promise<void> {
  const from = answer === undefined ? "no answer" : `answer from '${answer}'`;
  const unscored = reader === undefined ? "" : `; without answers, grader '${reader}' gives no scores`;
  const text = `Columns: query from '${query}', ${from}${unscored}\n`;
  await writeText(currentIo().stderr, escapeControls(text)).catch(() => {}); // stderr is closed
}

/** Prints the names of the files of a folder to stderr. */
async function announceFiles({ tasks, split }: RolloutFlags): Promise<void> {
  if (tasks === undefined || !(await Deno.stat(tasks)).isDirectory) return;
  const files = await findDatasetFiles(tasks, { split }).catch(() => []); // reported when the tasks are read
  if (files.length === 0) return;
  await writeText(currentIo().stderr, `Playing ${escapeControls(files.join(", "))}\n`).catch(() => {}); // stderr is closed
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

/** Options for writing the tokens of each episode, with the format that the episodes share. */
type SharedTokenOptions = TokenOptions & { readonly format: TokenFormat };

/** Returns the options for writing tokens, if the run writes rows for a trainer. */
function tokenOptionsOf(
  { trainOut, tokenMode: mode }: RolloutFlags,
  { tokenizer, editPrompt }: Pick<TokenOptions, "editPrompt"> & { tokenizer: Tokenizer | undefined },
): SharedTokenOptions | undefined {
  if (trainOut === undefined || tokenizer === undefined) return undefined;
  const tokens: TokenOptions = { tokenizer, mode, onRewrite: "keep", editPrompt };
  const format = new TokenFormat({ tokenizer });
  checkUsage(() => format.requireWritable({ mode, onRewrite: "keep" }));
  return { ...tokens, format };
}

async function requirePolicyForTraining(
  { policy }: ResolvedPolicy,
  options: RequireTrainableOptions,
): Promise<void> {
  await rethrowAsUsageError(() => requireTrainable(policy, options), { kinds: [TypeError] });
}

interface TrainingSetup {
  readonly tokens: SharedTokenOptions | undefined;
  readonly stack: AsyncDisposableStack;
}

async function openTraining(flags: RolloutFlags, setup: TrainingSetup): Promise<TrainingRun | undefined> {
  const { trainOut, resume, force, tasks: source } = flags;
  const { tokens, stack } = setup;
  if (trainOut === undefined || tokens === undefined) return undefined;
  const { tokenizer } = tokens;
  const onKeep = (result: InteractionResult) => requireSameTokens(result, { out: trainOut, tokenizer });
  const file = stack.use(
    await TrainingFile.open(trainOut, { resume, force, mayResume: true, source, onKeep }),
  );
  return new TrainingRun(file, tokens);
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
