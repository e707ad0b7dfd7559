import { type EpisodeFailure, toEpisodeFailure } from "../errors.ts";
import { jsonLength } from "../json.ts";
import type { Message } from "../message.ts";
import type { Reply, TokenUsage } from "../policy/policy.ts";
import type { DeniedAttempts, ExecResult, MimeBundle } from "../sandbox/contract/exec.ts";
import { groupOf, type Task } from "../task.ts";
import type { BlocksNotRun } from "../tools/code_blocks/blocks_not_run.ts";
import type { CodeCall, ToolResult, ToolStatus } from "../tools/tool_result.ts";
import { PADDOCK_VERSION } from "../version.ts";
import type { EpisodeCut } from "./interaction.ts";

/** Version of the format of {@linkcode Trajectory}. The version rises when older readers cannot read newer lines. */
export const TRAJECTORY_FORMAT = 1;

/** Record of a tool call, or of a block of code, of an episode. */
export interface ToolRecord {
  /** Number of the turn with the call, from 1. */
  readonly turn: number;
  readonly call: number;
  readonly callId: string;
  readonly tool: string;
  readonly status: ToolStatus;
  readonly durationMs: number;
  readonly truncated: boolean;
  /** False if the interpreter was lost; left out for tools without an interpreter. */
  readonly stateKept?: boolean;
  /**
   * Peak size of the interpreter's heap until the end of the call, in bytes; left out for tools without an interpreter,
   * and if the interpreter was lost.
   */
  readonly peakMemoryBytes?: number;
  /** Refused attempts of the code, as the guest counted them; left out if there were none. */
  readonly denied?: DeniedAttempts;
  /** Digest of the exec, with a virtual clock. See `digest` of `ExecResult`. */
  readonly digest?: string;
  /** True if the result depends on the machine, although the clock is virtual. */
  readonly inexact?: true;
  /** Objects that the code showed, up to 1 MiB of JSON; left out if there were none. */
  readonly display?: readonly MimeBundle[];
  /** Number of further objects that exceeded this or another limit; left out if there were none. */
  readonly droppedDisplays?: number;
  /** Calls of tools that the code made; left out if there were none. */
  readonly calls?: readonly CodeCall[];
}

/** Versions of the programs and the model that played an episode. */
export interface Versions {
  readonly paddock: string;
  /** Name of the policy, such as the name of the policy's model. */
  readonly policy?: string;
  /** Name of the env, such as `python`. */
  readonly env?: string;
  /** Version of the weights that sampled the last reply, if the server reports a version. */
  readonly weights?: string;
}

/** Durations of an episode, in milliseconds. */
export interface EpisodeTimes {
  readonly totalMs: number;
  /** Time spent waiting for the policy. */
  readonly policyMs: number;
  /** Time spent in the env and in tools, with the reset. */
  readonly envMs: number;
}

/** Origin of a branch. */
export interface BranchOrigin {
  /** Id of the episode with which the branch shares the first turns. */
  readonly id: string;
  /** Number of the branch's first own turn, from 1. */
  readonly turn: number;
  /**
   * Number of the question that this episode answers, if this episode is no branch: code of that turn of the episode has
   * asked the question. No turns are shared.
   */
  readonly call?: number;
}

/** Record of an episode: messages, reward and end. Plain data. */
export interface Trajectory {
  readonly task: Task;
  /**
   * Version of the format, which a line states.
   *
   * @default 1
   */
  readonly format?: number;
  /** Number of the episode among the task's episodes, from 1. The episodes of a tree have the same number. */
  readonly sample: number;
  /** Group of the episode, if the env has chosen what to play, in place of the group of `task`. */
  readonly group?: string;
  /** Seed of the episode's randomness; of a branch, from its first turn on. */
  readonly seed?: number;
  /** Id of the episode, if the episode belongs to a tree. */
  readonly id?: string;
  /** Episode of the tree from which this episode branches. */
  readonly parent?: BranchOrigin;
  readonly versions: Versions;
  readonly messages: readonly Message[];
  /**
   * Sum of the steps' rewards; `null`, which is not the same as 0, if no step was scored, or if the episode was stopped
   * or failed before the end.
   */
  readonly reward: number | null;
  /** Parts of the rewards by name. */
  readonly rewardParts?: Readonly<Record<string, number | null>>;
  /** Further data of the env. Later values are merged over earlier ones. */
  readonly info?: Readonly<Record<string, unknown>>;
  /** Reason why a grader gave no score. */
  readonly unscored?: string;
  /** Version of the policy, if the env tracks versions. */
  readonly policyVersion?: number | string;
  readonly turns: number;
  /** True if the episode reached a natural end, with a whole reply. */
  readonly terminated: boolean;
  /** True if a limit cut the episode off: of turns, of the env, or of tokens. */
  readonly truncated: boolean;
  /** Limit of tokens that cut the episode off, if any. */
  readonly cut?: EpisodeCut;
  /** Factor of the limits of time of programs and of the grade, if the run had a factor. */
  readonly timeScale?: number;
  /** Failure that ended the episode, if any. */
  readonly error?: EpisodeFailure;
  /** Tokens for a trainer, if env and policy use tokens; `null` if the env did not keep the sampled tokens. */
  readonly tokens?: EpisodeTokens | null;
  /** Record of each turn, with the failed turn. */
  readonly steps: readonly TurnRecord[];
  readonly toolResults: readonly ToolRecord[];
  readonly times: EpisodeTimes;
}

/** Options of {@linkcode emptyTrajectory}. */
export interface EpisodeStart {
  sample?: number | undefined;
  seed?: number | undefined;
  /** Id of the episode in a tree. */
  id?: string | undefined;
  parent?: BranchOrigin | undefined;
  /** Name of the policy. */
  policy?: string | undefined;
  /** Name of the env. */
  envName?: string | undefined;
  /** Factor of limits of time. */
  timeScale?: number | undefined;
}

/** Returns the fields that distinguish an episode from other episodes of the task. */
export function identityOf(
  { sample = 1, seed, id, parent }: EpisodeStart,
): Pick<Trajectory, "sample" | "seed" | "id" | "parent"> {
  return {
    sample,
    ...(seed !== undefined && { seed }),
    ...(id !== undefined && { id }),
    ...(parent && { parent }),
  };
}

/** Returns the trajectory of an episode before the first turn. */
export function emptyTrajectory(task: Task, start: EpisodeStart = {}): Trajectory {
  const { policy, envName: env, timeScale } = start;
  return {
    task,
    format: TRAJECTORY_FORMAT,
    ...identityOf(start),
    versions: {
      paddock: PADDOCK_VERSION,
      ...(policy !== undefined && { policy }),
      ...(env !== undefined && { env }),
    },
    messages: [],
    reward: null,
    turns: 0,
    terminated: false,
    truncated: false,
    steps: [],
    toolResults: [],
    times: { totalMs: 0, policyMs: 0, envMs: 0 },
    ...(timeScale !== undefined && { timeScale }),
  };
}

/** Returns the group whose rewards are compared with the episode's: the env's choice, or the group of the task. */
export function groupOfEpisode({ group, task }: Pick<Trajectory, "group" | "task">): string {
  return group ?? groupOf(task);
}

/** Returns how a limit of tokens cut an episode off: `by the length of the last reply`. */
export function describeCut(cut: EpisodeCut): string {
  return cut === "length" ? "by the length of the last reply" : `by the ${cut} of the model`;
}

/** Returns the trajectory with a failure recorded. An earlier failure stays. */
export function withFailure(trajectory: Trajectory, cause: unknown): Trajectory {
  if (trajectory.error !== undefined) return trajectory;
  return { ...trajectory, error: toEpisodeFailure(cause) };
}

/** Converts a tool result to a record. */
export function toToolRecord(turn: number, result: ToolResult): ToolRecord {
  const { tool, call, callId, status, durationMs, truncated, exec, calls } = result;
  const state = exec && {
    stateKept: exec.stateKept,
    ...(exec.peakMemoryBytes !== undefined && { peakMemoryBytes: exec.peakMemoryBytes }),
    ...(exec.denied && { denied: exec.denied }),
    ...(exec.digest !== undefined && { digest: exec.digest }),
    ...(exec.inexact && { inexact: exec.inexact }),
    ...displayRecord(exec),
  };
  return { turn, call, callId, tool, status, durationMs, truncated, ...state, ...(calls && { calls }) };
}

/** Maximum size of the shown objects of a call in a trajectory, in characters of JSON. */
const MAX_DISPLAY_CHARACTERS = 1024 * 1024;

function displayRecord(
  { display = [], droppedDisplays = 0 }: Pick<ExecResult, "display" | "droppedDisplays">,
): Pick<ToolRecord, "display" | "droppedDisplays"> {
  let characters = 0;
  const saved = display.filter((bundle) => {
    const length = jsonLength(bundle);
    if (characters + length > MAX_DISPLAY_CHARACTERS) return false;
    characters += length;
    return true;
  });
  const dropped = droppedDisplays + display.length - saved.length;
  return { ...(saved.length > 0 && { display: saved }), ...(dropped > 0 && { droppedDisplays: dropped }) };
}

/** Record of a turn: times, reward, and data from the policy's server. */
export interface TurnRecord {
  /** Number of the turn, from 1. */
  readonly turn: number;
  /** Milliseconds of waiting for the policy. */
  readonly policyMs: number;
  /** Milliseconds in the env and in tools; `null` if the env never got the reply. */
  readonly envMs: number | null;
  /** Reward of the step; `null` without a score. */
  readonly reward: number | null;
  /** Code blocks of the reply that the interpreter did not run, and tool calls in thoughts; absent if there are none. */
  readonly blocksNotRun?: readonly BlocksNotRun[];
  readonly finishReason?: string;
  /** Stop text that ended the reply, if the server reports a version. */
  readonly stopText?: string;
  readonly usage?: TokenUsage;
  /** Version of the weights that sampled the reply, if the server reports a version. */
  readonly weightVersion?: string;
  /** Version of the policy when the reply was requested, if the env tracks versions. */
  readonly policyVersion?: number | string;
  /** Sampled token ids of this turn, and their log-probabilities. */
  readonly tokens?: NonNullable<Reply["tokens"]> & {
    /** Number of tokens before them, if the env uses tokens. */
    readonly start?: number;
  };
}

/** Input of {@linkcode toTurnRecord} beside the reply. */
export interface TurnStart {
  turn: number;
  policyMs: number;
  /** Number of tokens of the prompt, if the env uses tokens. */
  promptTokens: number | undefined;
  /** Version of the policy, if the env tracks versions. */
  policyVersion?: number | string | undefined;
}

/** Creates the record of a turn whose reply the env has not seen yet. */
export function toTurnRecord(start: TurnStart, reply: Reply): TurnRecord {
  const { turn, policyMs, promptTokens, policyVersion } = start;
  const { finishReason, stopText, usage, tokens, weightVersion } = reply;
  return {
    turn,
    policyMs,
    envMs: null,
    reward: null,
    ...(finishReason !== undefined && { finishReason }),
    ...(stopText !== undefined && { stopText }),
    ...(usage && { usage }),
    ...(weightVersion !== undefined && { weightVersion }),
    ...(policyVersion !== undefined && { policyVersion }),
    ...(tokens && { tokens: { ...tokens, ...(promptTokens !== undefined && { start: promptTokens }) } }),
  };
}

/** Tokens of an episode, for a trainer. */
export interface EpisodeTokens {
  /** Token ids of the whole conversation, as prompted and sampled, turn by turn. */
  readonly ids: readonly number[];
  /** For each id: 1 if the policy sampled it, else 0. */
  readonly lossMask: readonly (0 | 1)[];
  /** First prompt, as text. */
  readonly promptText?: string;
  /** Number of ids of the first prompt. */
  readonly promptLength?: number;
  /** Number of messages in the first prompt. */
  readonly promptMessages?: number;
  /** For each id: the log-probability of a sampled id, else 0. Left out if a reply had no log-probabilities. */
  readonly logProbs?: readonly number[];
  /** Number of prompts after the first that differ from `ids`, because the template rewrote earlier turns. */
  readonly rewrittenPrompts?: number;
}

/**
 * Returns the tokens of an episode with their loss mask. `ids` are the env's tokens at the end. With `endsInReply` the
 * last sampled token is the last token: nothing ended the reply, and no reply follows.
 *
 * Returns `undefined` if a turn has no token ids, and `null` if sampled tokens are no longer at their position: an env
 * that tokenises again gives no tokens for a loss.
 */
export function tokensOfEpisode(
  ids: readonly number[] | undefined,
  steps: readonly TurnRecord[],
  { endsInReply = false }: { endsInReply?: boolean } = {},
): EpisodeTokens | null | undefined {
  if (ids === undefined || steps.length === 0) return undefined;
  const lossMask = Array<0 | 1>(ids.length).fill(0);
  for (const { tokens } of steps) {
    if (tokens?.start === undefined) return undefined;
    const { start } = tokens;
    if (tokens.ids.some((id, at) => ids[start + at] !== id)) return null;
    lossMask.fill(1, start, start + tokens.ids.length);
  }
  const length = endsInReply ? lossMask.lastIndexOf(1) + 1 : ids.length;
  return { ids: ids.slice(0, length), lossMask: lossMask.slice(0, length) };
}
