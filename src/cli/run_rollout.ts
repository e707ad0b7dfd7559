import { loadTokenizer } from "../chat/load_tokenizer.ts";
import type { Tokenizer } from "../chat/tokenizer.ts";
import type { Policy } from "../policy/policy.ts";
import type { TokenMode, TokenOptions } from "../rollout/tokens/episode_writer.ts";
import { TokenFormat } from "../rollout/tokens/token_format.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { ENVS, MAX_TURNS } from "./envs.ts";
import { openTools, type ToolFlags } from "./episode_tools.ts";
import { type GraderFlags, graderSetup } from "./grader_setup.ts";
import { GRADERS } from "./graders.ts";
import { lazyPool } from "./lazy_pool.ts";
import { named } from "./named.ts";
import { playTasks } from "./play_tasks.ts";
import { type ChosenPolicy, chosenPolicy } from "./policies.ts";
import { requireReadable } from "./require_readable.ts";
import { chosenProfile, type SandboxFlags } from "./sandbox_flags.ts";
import { Summary } from "./summary.ts";
import { openTauBench, TAU_BENCH, type TauBenchFlags } from "./tau_bench_run.ts";
import { terminalColumns, wantsColour } from "./terminal.ts";
import { TrajectoryFile } from "./trajectory_file.ts";
import { Training } from "./training.ts";
import { TrainingFile } from "./training_file.ts";
import { UsageError } from "./usage_error.ts";

/** What `paddock rollout` is asked for. */
export interface RolloutFlags extends SandboxFlags, ToolFlags, GraderFlags, TauBenchFlags {
  tasks?: string;
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
export async function runRollout(flags: RolloutFlags, signal: AbortSignal): Promise<number> {
  if (flags.resume && flags.out === undefined && flags.trainOut === undefined) {
    throw new UsageError("Cannot resume as there must be a file to go on with: give --out FILE");
  }
  const { limit, n: samples, seed, timeoutMs, json } = flags;
  const show = flags.showFirst ?? (flags.show ? Infinity : undefined);
  const kind = named(ENVS, flags.env, "env");
  const graderKind = flags.grader === "none" ? undefined : named(GRADERS, flags.grader, "grader");
  const tokenizer = await tokenizerOf(flags);
  const chosen = await policyOf(flags, tokenizer);
  const profile = await chosenProfile(flags);
  const { concurrency, poolSize } = sizesOf(flags, chosen);
  if (flags.tasks !== undefined) await requireReadable(flags.tasks, { mayBeFolder: true });
  const summary = new Summary({ samples });
  using out = await outOf(flags, summary, chosen.policy);
  await using stack = new AsyncDisposableStack();
  const tauBench = flags.env === TAU_BENCH
    ? await openTauBench(flags, { sessions: concurrency, stack, signal })
    : undefined;
  const tasks = tauBench?.tasks ?? flags.tasks ?? [];
  const training = await trainingOf(flags, { tokenizer, editPrompt: kind.editPrompt, stack });
  const interpreters = { profile, size: poolSize, cacheDir: flags.cacheDir, stack };
  const pool = lazyPool({ ...interpreters, resetMode: flags.reset });
  const grader = graderKind?.make(await graderSetup(flags, { profile, size: poolSize, stack }));
  const wanted = flags.mcp !== undefined || flags.tool !== undefined;
  const tools = wanted ? await openTools(flags, stack) : undefined;
  // what is written for a trainer need not be written by the env too
  const shown = training === undefined ? tokenizer : undefined;
  const maxTurns = flags.maxTurns ?? kind.maxTurns ?? MAX_TURNS;
  const given = { tools, tokenizer: shown, grader, systemPrompt: flags.system, tauBench };
  const setup = { pool, stack, ...given, timeoutMs, maxTurns };
  return await playTasks({
    ...{ tasks, limit, samples, seed, concurrency, maxTurns, summary, out, training, json, show, signal },
    ...{ policy: chosen.policy, onTask: chosen.onTask, makeEnv: await kind.open(setup) },
    ...{ stdout: Deno.stdout, stderr: Deno.stderr, colour: wantsColour(), columns: terminalColumns },
  });
}

async function tokenizerOf({ tokenizer }: RolloutFlags): Promise<Tokenizer | undefined> {
  if (tokenizer === undefined) return undefined;
  try {
    return await loadTokenizer(tokenizer);
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

async function policyOf(flags: RolloutFlags, tokenizer: Tokenizer | undefined): Promise<ChosenPolicy> {
  const { model, temperature, maxTokens, requestTimeoutMs: timeoutMs, concurrency } = flags;
  const apiKey = Deno.env.get("OPENAI_API_KEY") || undefined;
  const server = { model, temperature, maxTokens, timeoutMs, concurrency, apiKey };
  return await chosenPolicy(flags.policy, { ...server, tokenizer });
}

async function outOf(
  flags: RolloutFlags,
  summary: Summary,
  { name }: Policy,
): Promise<TrajectoryFile | undefined> {
  const { out, resume, force, tasks: source } = flags;
  if (out === undefined) return undefined;
  const onKept = (trajectory: Trajectory) => {
    const { policy } = trajectory.versions;
    if (policy !== undefined && policy !== name) {
      throw new UsageError(
        `Cannot resume '${out}' as it must hold episodes of '${name}': it has one of '${policy}'`,
      );
    }
    summary.addEarlier(trajectory);
  };
  return await TrajectoryFile.open(out, { resume, force, source, onKept });
}

interface TrainingSetup extends Pick<TokenOptions, "editPrompt"> {
  readonly tokenizer: Tokenizer | undefined;
  readonly stack: AsyncDisposableStack;
}

async function trainingOf(flags: RolloutFlags, setup: TrainingSetup): Promise<Training | undefined> {
  const { trainOut, resume, force, tasks: source, tokenMode: mode } = flags;
  const { tokenizer, editPrompt, stack } = setup;
  if (trainOut === undefined) return undefined;
  if (tokenizer === undefined) {
    throw new UsageError(
      "Cannot write episodes for a trainer as their tokens are needed: give --tokenizer DIR",
    );
  }
  const tokens: TokenOptions = { tokenizer, mode, onRewrite: "keep", editPrompt };
  const file = stack.use(await TrainingFile.open(trainOut, { resume, force, source }));
  return new Training(file, { ...tokens, format: new TokenFormat(tokens) });
}

/** While a server thinks, an interpreter waits for it; one that need not wait keeps a core busy. */
function sizesOf(flags: RolloutFlags, { isRemote }: ChosenPolicy): { concurrency: number; poolSize: number } {
  const cores = Math.max(2, navigator.hardwareConcurrency);
  const concurrency = flags.concurrency ?? flags.poolSize ?? (isRemote ? REMOTE_CONCURRENCY : cores);
  return { concurrency, poolSize: flags.poolSize ?? (isRemote ? concurrency : Math.min(concurrency, cores)) };
}
