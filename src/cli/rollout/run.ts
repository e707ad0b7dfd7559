import type { Tokenizer } from "../../chat/tokenizer.ts";
import { findDatasetFiles } from "../../datasets/files.ts";
import type { InteractionResult } from "../../rollout/interaction_result.ts";
import type { TokenMode, TokenOptions } from "../../rollout/tokens/episode_writer.ts";
import { TokenFormat } from "../../rollout/tokens/token_format.ts";
import { CALL_STYLES } from "../../tools/parsers/call_styles.ts";
import { requireReadable, resolveTokenizer, toInputPath } from "../input.ts";
import { ENVS, MAX_TURNS } from "./envs.ts";
import { openTools, type ToolFlags } from "./tools.ts";
import { GRADERS } from "../../rewards/registry.ts";
import { type GraderFlags, openGrader } from "./graders.ts";
import { createLazyPool, prepareImage, resolveProfile, type SandboxFlags } from "../sandbox_options.ts";
import { lookUp } from "../options.ts";
import { playTasks } from "./task_run.ts";
import { type ResolvedPolicy, resolvePolicy } from "./policies.ts";
import { escapeControls, ignoreBrokenPipe, terminalColumns, wantsColour, writeText } from "../output.ts";
import { openTrajectoryFile, requireSameTokens } from "./trajectory_file.ts";
import { Summary } from "./summary.ts";
import { openTauBench, TAU_BENCH, type TauBenchFlags } from "./tau_bench.ts";
import { TrainingFile, TrainingRun } from "./training_file.ts";
import { UsageError } from "../errors.ts";
import { openWorkspaces, WORKSPACE_ENV, type WorkspaceFlags } from "./workspace.ts";
import { currentIo } from "../io.ts";

/** Options of `paddock rollout`. */
export interface RolloutFlags extends SandboxFlags, ToolFlags, GraderFlags, TauBenchFlags, WorkspaceFlags {
  limit?: number;
  env: string;
  policy: string;
  grader: string;
  model?: string;
  temperature?: number;
  maxTokens?: number;
  requestTimeoutMs?: number;
  system?: string;
  n: number;
  seed?: number;
  tokenizer?: string;
  concurrency?: number;
  poolSize?: number;
  reset: "rewind" | "fresh";
  maxTurns?: number;
  json?: boolean;
  out?: string;
  trainOut?: string;
  tokenMode: TokenMode;
  resume?: boolean;
  force?: boolean;
  show?: boolean;
  showFirst?: number;
}

/** Episodes at once when a server answers, unless asked for otherwise. */
const REMOTE_CONCURRENCY = 8;

/**
 * Plays as the flags say and gives the exit code.
 *
 * @throws {UsageError} when they ask for what cannot be.
 */
export async function runRollout(asked: RolloutFlags, signal: AbortSignal): Promise<number> {
  const flags = { ...asked, ...(asked.tasks !== undefined && { tasks: toInputPath(asked.tasks) }) };
  if (flags.resume && flags.out === undefined && flags.trainOut === undefined) {
    throw new UsageError("Cannot resume as there must be a file to go on with: give --out FILE");
  }
  if (flags.trainOut !== undefined && flags.tokenizer === undefined) {
    throw new UsageError(
      "Cannot write episodes for a trainer as their tokens are needed: give --tokenizer DIR",
    );
  }
  const { split, limit, n: samples, seed, timeoutMs, json } = flags;
  const show = flags.showFirst ?? (flags.show ? Infinity : undefined);
  const kind = lookUp(ENVS, flags.env, "env");
  if (flags.calls !== undefined) lookUp(CALL_STYLES, flags.calls, "way to write calls");
  const graderEntry = flags.grader === "none" ? undefined : lookUp(GRADERS, flags.grader, "grader");
  const tokenizer = await resolveTokenizer(flags.tokenizer);
  const chosen = await policyOf(flags, tokenizer);
  const profile = await resolveProfile(flags);
  const { concurrency, poolSize } = sizesOf(flags, chosen);
  if (flags.tasks !== undefined) await requireReadable(flags.tasks, { mayBeFolder: true });
  const summary = new Summary({ samples, rewardsGain: kind.rewardsGain });
  await using stack = new AsyncDisposableStack();
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
  const tasks = tauBench?.tasks ?? workspace?.tasks ?? flags.tasks ?? [];
  const interpreters = { profile, size: poolSize, cacheDir: flags.cacheDir, stack };
  const pool = createLazyPool({ ...interpreters, resetMode: flags.reset });
  const grader = graderEntry && await openGrader(graderEntry, flags, { profile, size: poolSize, stack });
  const wanted = flags.mcp !== undefined || flags.tool !== undefined;
  const tools = wanted ? await openTools(flags, { stack, signal }) : undefined;
  // what is written for a trainer need not be written by the env too
  const shown = flags.trainOut === undefined ? tokenizer : undefined;
  const maxTurns = flags.maxTurns ?? kind.maxTurns ?? MAX_TURNS;
  const given = { tools, tokenizer: shown, grader, systemPrompt: flags.system, tauBench, workspace };
  const makeEnv = await kind.open({ pool, stack, ...given, timeoutMs, maxTurns });
  if (kind.runsPython) await prepareImage(profile, { cacheDir: flags.cacheDir, signal });
  // What would be thrown away for them stays until all else is known to be there.
  using out = await openTrajectoryFile(flags, { summary, policy: chosen.policy });
  const training = await trainingOf(flags, { tokenizer, editPrompt: kind.editPrompt, stack });
  for await (const trajectory of training?.file.fillFrom(out?.finished() ?? []) ?? []) {
    summary.addEarlier(trajectory);
  }
  await announceFiles(flags);
  // The file is what a run with one is for: a closed stdout must not end it.
  const stdout = out === undefined && training === undefined
    ? currentIo().stdout
    : ignoreBrokenPipe(currentIo().stdout);
  return await playTasks({
    maxTurns: kind.maxReplies?.(maxTurns) ?? maxTurns,
    tasks,
    split,
    limit,
    samples,
    seed,
    concurrency,
    summary,
    out,
    training,
    json,
    show,
    policy: chosen.policy,
    onTask: chosen.onTask,
    makeEnv,
    signal,
    stdout,
    stderr: currentIo().stderr,
    colour: wantsColour(),
    columns: terminalColumns,
  });
}

/** Says on stderr which files of a folder are played. */
async function announceFiles({ tasks, split }: RolloutFlags): Promise<void> {
  if (tasks === undefined || !(await Deno.stat(tasks)).isDirectory) return;
  const files = await findDatasetFiles(tasks, { split }).catch(() => []); // reported when the tasks are read
  if (files.length === 0) return;
  await writeText(currentIo().stderr, `Playing ${escapeControls(files.join(", "))}\n`).catch(() => {}); // stderr is closed
}

async function policyOf(flags: RolloutFlags, tokenizer: Tokenizer | undefined): Promise<ResolvedPolicy> {
  const { model, temperature, maxTokens, requestTimeoutMs: timeoutMs, concurrency } = flags;
  const apiKey = currentIo().env.get("OPENAI_API_KEY") || undefined;
  const server = { model, temperature, maxTokens, timeoutMs, concurrency, apiKey };
  const keepSpecialTokens = flags.calls !== undefined && CALL_STYLES[flags.calls]?.hasSpecialTokens;
  return await resolvePolicy(flags.policy, { ...server, tokenizer, keepSpecialTokens });
}

interface TrainingSetup extends Pick<TokenOptions, "editPrompt"> {
  readonly tokenizer: Tokenizer | undefined;
  readonly stack: AsyncDisposableStack;
}

async function trainingOf(flags: RolloutFlags, setup: TrainingSetup): Promise<TrainingRun | undefined> {
  const { trainOut, resume, force, tasks: source, tokenMode: mode } = flags;
  const { tokenizer, editPrompt, stack } = setup;
  if (trainOut === undefined || tokenizer === undefined) return undefined;
  const tokens: TokenOptions = { tokenizer, mode, onRewrite: "keep", editPrompt };
  const onKept = (result: InteractionResult) => requireSameTokens(result, { out: trainOut, tokenizer });
  const options = { resume, force, mayResume: true, source, onKept };
  const file = stack.use(await TrainingFile.open(trainOut, options));
  return new TrainingRun(file, { ...tokens, format: new TokenFormat(tokens) });
}

/** While a server thinks, an interpreter waits for it; one that need not wait keeps a core busy. */
function sizesOf(
  flags: RolloutFlags,
  { isRemote }: ResolvedPolicy,
): { concurrency: number; poolSize: number } {
  const cores = Math.max(2, navigator.hardwareConcurrency);
  const concurrency = flags.concurrency ?? flags.poolSize ?? (isRemote ? REMOTE_CONCURRENCY : cores);
  return { concurrency, poolSize: flags.poolSize ?? (isRemote ? concurrency : Math.min(concurrency, cores)) };
}
