import { type EpisodeFailure, errorMessage } from "../../errors.ts";
import type { Message } from "../../message.ts";
import type { TokenUsage } from "../../policy/policy.ts";
import {
  type InteractionCodeCall,
  type InteractionResult,
  parseInteraction,
} from "../../rollout/interaction_result.ts";
import type { ToolRecord, Trajectory } from "../../rollout/trajectory.ts";
import { parseTrajectory } from "../../rollout/trajectory_schema.ts";
import { describeBlocksNotRun } from "../../tools/code_blocks/blocks_not_run.ts";
import type { CodeCall } from "../../tools/tool_result.ts";
import { MAX_PARSED_BYTES, parseRowBytes, readFileRange } from "../index/run_index.ts";
import { formatBytes } from "../pages/format.ts";
import type { OpenRun } from "../run_store.ts";

/** A turn of an episode. */
export interface TurnView {
  readonly turn: number;
  readonly reward: number | null;
  readonly policyMs: number;
  readonly envMs: number | null;
  readonly finishReason?: string | undefined;
  /** Tokens that the policy's server counted. */
  readonly usage?: TokenUsage | undefined;
  /** Why code blocks of the reply were not run. */
  readonly notRun?: string | undefined;
  /** Version of the weights or of the policy. */
  readonly version?: string | undefined;
  /** Position of the sampled tokens. */
  readonly sampled?: { readonly start: number; readonly length: number } | undefined;
}

/** A tool call of an episode. */
export type CallView =
  & Pick<ToolRecord, "turn" | "call" | "tool" | "status" | "durationMs">
  & Partial<Pick<ToolRecord, "truncated" | "stateKept" | "denied" | "display" | "droppedDisplays" | "calls">>
  & { readonly peakMemoryBytes?: number | undefined };

/** Tokens of an episode. */
export interface TokensView {
  readonly ids: readonly number[];
  /** 1 for each id that the policy sampled. */
  readonly mask: ArrayLike<number>;
  /** Log-probability of each id; `undefined` if the server gave none. */
  readonly logProbs: ArrayLike<number> | undefined;
  /** Number of ids of the first prompt. */
  readonly promptLength: number;
}

/** An episode for its page, from a trajectory or from a row for a trainer. */
export interface EpisodeView {
  readonly kind: "trajectory" | "training";
  readonly messages: readonly Message[];
  readonly answer: string | undefined;
  readonly reward: number | null;
  readonly rewardParts: Readonly<Record<string, number | null>>;
  readonly unscored: string | undefined;
  readonly info: Readonly<Record<string, unknown>>;
  /** Data of the task beside query and answer. */
  readonly taskData: Readonly<Record<string, unknown>>;
  readonly errors: readonly EpisodeFailure[];
  readonly turns: readonly TurnView[];
  readonly calls: readonly CallView[];
  /** `null` if the env did not keep the sampled tokens. */
  readonly tokens: TokensView | null | undefined;
  readonly times: Trajectory["times"];
  /** Further facts by name, as text. */
  readonly facts: Readonly<Record<string, string>>;
}

/** A row that cannot be shown as an episode. */
export interface DamagedRow {
  readonly fault: string;
  /** Beginning of the row. */
  readonly beginning: string;
}

const BEGINNING_BYTES = 4_000;

/** Reads the row of an episode. */
export async function readEpisode(run: OpenRun, row: number): Promise<EpisodeView | DamagedRow> {
  const size = run.table.columns.length[row] ?? 0;
  const isTooLarge = size > MAX_PARSED_BYTES;
  const bytes = await readRowBytes(run, row, isTooLarge ? BEGINNING_BYTES : size);
  try {
    if (isTooLarge) {
      const [most, found] = [MAX_PARSED_BYTES, size].map(formatBytes);
      throw new SyntaxError(`it is too large, as at most ${most} are shown: it has ${found}`);
    }
    return toEpisodeView(parseRowBytes(bytes));
  } catch (error) {
    const beginning = new TextDecoder().decode(bytes.subarray(0, BEGINNING_BYTES));
    return { fault: errorMessage(error), beginning };
  }
}

/** Reads the first bytes of a row. */
async function readRowBytes(
  { table: { columns }, file }: OpenRun,
  row: number,
  length: number,
): Promise<Uint8Array<ArrayBuffer>> {
  using open = await Deno.open(file.path);
  return await readFileRange(open, { offset: columns.offset[row] ?? 0, length });
}

/**
 * Converts a parsed row.
 *
 * @throws {SyntaxError} if the row is no episode.
 */
function toEpisodeView(value: unknown): EpisodeView {
  const isTraining = typeof value === "object" && value !== null && "task_id" in value;
  return isTraining ? viewOfInteraction(parseInteraction(value)) : viewOfTrajectory(parseTrajectory(value));
}

function viewOfTrajectory(trajectory: Trajectory): EpisodeView {
  const { task, messages, reward, rewardParts = {}, unscored, info = {}, error, steps, tokens } = trajectory;
  const { versions, seed, policyVersion } = trajectory;
  return {
    kind: "trajectory",
    messages,
    answer: task.answer,
    reward,
    rewardParts,
    unscored,
    info,
    taskData: { ...task.reference !== undefined && { reference: task.reference }, ...task.fields },
    errors: error ? [error] : [],
    turns: steps.map((step) => ({
      turn: step.turn,
      reward: step.reward ?? null,
      policyMs: step.policyMs ?? 0,
      envMs: step.envMs ?? null,
      finishReason: textOf(step.finishReason),
      notRun: describeBlocksNotRun([step.blocksNotRun]),
      usage: usageOf(step.usage),
      version: textOf(step.policyVersion ?? step.weightVersion),
      sampled: step.tokens?.start === undefined
        ? undefined
        : { start: step.tokens.start, length: step.tokens.ids.length },
    })),
    calls: trajectory.toolResults,
    tokens: tokens && {
      ids: tokens.ids,
      mask: tokens.lossMask,
      logProbs: tokens.logProbs ?? sampledLogProbs(tokens.ids.length, steps),
      promptLength: tokens.promptLength ?? 0,
    },
    times: trajectory.times,
    facts: {
      ...textFacts({
        Env: versions.env,
        Policy: versions.policy,
        Weights: versions.weights,
        Paddock: versions.paddock,
      }),
      ...textFacts({
        "Cut off by": trajectory.cut,
        "Policy version": policyVersion,
        Seed: seed,
        Group: trajectory.group ?? task.group,
        "Not run": describeBlocksNotRun(steps.map(({ blocksNotRun }) => blocksNotRun)),
      }),
    },
  };
}

function viewOfInteraction(row: InteractionResult): EpisodeView {
  const { messages, reward, reward_parts, info, errors, turns, tokens, response_length, timings } = row;
  const promptLength = tokens.length - response_length;
  const afterPrompt = (values: readonly number[]) => {
    const all = new Float64Array(tokens.length);
    all.set(values, promptLength);
    return all;
  };
  return {
    kind: "training",
    messages,
    answer: undefined,
    reward,
    rewardParts: reward_parts,
    unscored: undefined,
    info,
    taskData: {},
    errors,
    turns: turns.map((
      {
        turn,
        reward,
        policy_ms,
        env_ms,
        finish_reason,
        blocks_not_run,
        weight_version,
        policy_version,
        sampled,
      },
    ) => ({
      turn,
      reward,
      policyMs: policy_ms ?? 0,
      envMs: env_ms ?? null,
      finishReason: finish_reason,
      notRun: describeBlocksNotRun([blocks_not_run]),
      version: textOf(policy_version ?? weight_version),
      sampled,
    })),
    calls: (row.tool_calls ?? []).map((
      { turn, call, tool, status, duration_ms: durationMs, peak_memory_bytes: peakMemoryBytes, calls },
    ) => ({
      turn,
      call,
      tool,
      status,
      durationMs,
      peakMemoryBytes,
      ...(Array.isArray(calls) && { calls: calls.map(codeCallOf) }),
    })),
    tokens: {
      ids: tokens,
      mask: afterPrompt(row.loss_mask),
      logProbs: row.log_probs === null ? undefined : afterPrompt(row.log_probs),
      promptLength,
    },
    times: {
      totalMs: timings?.total_ms ?? 0,
      policyMs: timings?.policy_ms ?? 0,
      envMs: timings?.env_ms ?? 0,
    },
    facts: textFacts({
      Status: row.status,
      "Cut off by": row.cut,
      Weights: row.weight_version,
      "Not run": describeBlocksNotRun(turns.map(({ blocks_not_run }) => blocks_not_run)),
      Seed: row.seed,
      Group: row.group,
      "Rewritten prompts": row.rewritten_prompts,
    }),
  };
}

/** Returns a call of code of a row for a trainer, which has no arguments and no result. */
function codeCallOf(
  { call, call_id: callId, tool, status, duration_ms: durationMs }: InteractionCodeCall,
): CodeCall {
  return { caller: "code", call, callId, tool, status, durationMs, truncated: true };
}

/** Returns the log-probabilities that the turns recorded, at the positions of their tokens. */
function sampledLogProbs(length: number, steps: Trajectory["steps"]): Float64Array | undefined {
  const all = new Float64Array(length);
  let hasAny = false;
  for (const { tokens } of steps) {
    if (tokens?.logProbs === undefined || tokens.start === undefined) continue;
    if (tokens.start + tokens.logProbs.length > length) continue; // a reply that was dropped
    all.set(tokens.logProbs, tokens.start);
    hasAny = true;
  }
  return hasAny ? all : undefined;
}

/**
 * Returns the numbers of the turns of assistant messages, by the index of the message. Earlier ones are of the prompt.
 */
export function turnsOfMessages({ messages, turns }: EpisodeView): Map<number, number> {
  const replies = messages.flatMap(({ role }, index) => role === "assistant" ? [index] : []);
  const count = Math.min(turns.length, replies.length);
  return new Map(
    replies.slice(replies.length - count).map((index, at) => [index, turns[at]?.turn ?? at + 1]),
  );
}

function textOf(value: unknown): string | undefined {
  return value === undefined || value === null ? undefined : `${value}`;
}

function usageOf(usage: Partial<TokenUsage> | null | undefined): TokenUsage | undefined {
  const { promptTokens, replyTokens } = usage ?? {};
  return typeof promptTokens === "number" && typeof replyTokens === "number"
    ? { promptTokens, replyTokens }
    : undefined;
}

function textFacts(facts: Readonly<Record<string, unknown>>): Record<string, string> {
  const known = Object.entries(facts).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(known.map(([name, value]) => [name, `${value}`]));
}
