import { type EpisodeFailure, toEpisodeFailure } from "../episode_failure.ts";
import type { Message } from "../message.ts";
import type { Task } from "../task.ts";
import type { ToolResult, ToolStatus } from "../tools/tool_result.ts";
import { PADDOCK_VERSION } from "../version.ts";
import type { EpisodeTokens } from "./episode_tokens.ts";
import type { TurnRecord } from "./turn_record.ts";

/** Version of the format of {@linkcode Trajectory}. It rises when older readers cannot read newer lines. */
export const TRAJECTORY_FORMAT = 1;

/** Record of one tool call, or one block of code, of an episode. */
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
}

/** Versions of the programs and the model that played an episode. */
export interface Versions {
  readonly paddock: string;
  /** Name of the policy, such as that of its model. */
  readonly policy?: string;
  /** Version of the weights that sampled the last reply, if the server reports it. */
  readonly weights?: string;
}

/** Durations of an episode, in milliseconds. */
export interface EpisodeTimes {
  readonly totalMs: number;
  /** Time spent waiting for the policy. */
  readonly policyMs: number;
  /** Time spent in the env and its tools, with the reset. */
  readonly envMs: number;
}

/** Record of one episode: its messages, its reward and its end. Plain data. */
export interface Trajectory {
  readonly task: Task;
  /**
   * Version of the format, which a line states.
   *
   * @default 1
   */
  readonly format?: number;
  /** Number of the episode among those of its task, from 1. */
  readonly sample: number;
  /** Seed of the episode's randomness. */
  readonly seed?: number;
  readonly versions: Versions;
  readonly messages: readonly Message[];
  /** Sum of the steps' rewards; `null` if no step was scored, which is not the same as 0. */
  readonly reward: number | null;
  /** Parts of the rewards by name. */
  readonly rewardParts?: Readonly<Record<string, number | null>>;
  /** Further data of the env. Later values are merged over earlier ones. */
  readonly info?: Readonly<Record<string, unknown>>;
  /** Reason why a grader gave no score. */
  readonly unscored?: string;
  /** Version of the policy, if the env tracks it. */
  readonly policyVersion?: number | string;
  readonly turns: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
  /** Failure that ended the episode, if any. */
  readonly error?: EpisodeFailure;
  /** Tokens for a trainer, if env and policy use tokens; `null` if the env did not keep the sampled tokens. */
  readonly tokens?: EpisodeTokens | null;
  /** Record of each turn, with the failed one. */
  readonly steps: readonly TurnRecord[];
  readonly toolResults: readonly ToolRecord[];
  readonly times: EpisodeTimes;
}

/** Options of {@linkcode emptyTrajectory}. */
export interface EpisodeStart {
  sample?: number | undefined;
  seed?: number | undefined;
  /** Name of the policy. */
  policy?: string | undefined;
}

/** Returns the trajectory of an episode before its first turn. */
export function emptyTrajectory(task: Task, start: EpisodeStart = {}): Trajectory {
  const { sample = 1, seed, policy } = start;
  return {
    task,
    format: TRAJECTORY_FORMAT,
    sample,
    ...(seed !== undefined && { seed }),
    versions: { paddock: PADDOCK_VERSION, ...(policy !== undefined && { policy }) },
    messages: [],
    reward: null,
    turns: 0,
    terminated: false,
    truncated: false,
    steps: [],
    toolResults: [],
    times: { totalMs: 0, policyMs: 0, envMs: 0 },
  };
}

/** Returns the trajectory with a failure recorded. An earlier failure stays. */
export function withFailure(trajectory: Trajectory, cause: unknown): Trajectory {
  if (trajectory.error !== undefined) return trajectory;
  return { ...trajectory, error: toEpisodeFailure(cause) };
}

/** Converts a tool result to its record. */
export function toToolRecord(turn: number, result: ToolResult): ToolRecord {
  const { tool, call, callId, status, durationMs, truncated, exec } = result;
  const state = exec === undefined ? {} : { stateKept: exec.stateKept };
  return { turn, call, callId, tool, status, durationMs, truncated, ...state };
}
