import { type EpisodeFailure, episodeFailure } from "../episode_failure.ts";
import type { Message } from "../message.ts";
import type { Task } from "../task.ts";
import type { ToolResult, ToolStatus } from "../tools/tool_result.ts";
import { PADDOCK_VERSION } from "../version.ts";
import type { EpisodeTokens } from "./episode_tokens.ts";
import type { TurnRecord } from "./turn_record.ts";

/** Version of the format of {@linkcode Trajectory}. It rises when older readers cannot read newer lines. */
export const TRAJECTORY_FORMAT = 1;

/** What became of one call of a tool, or one block of code, of an episode. */
export interface ToolRecord {
  /** The turn whose message held the call, from 1. */
  readonly turn: number;
  readonly call: number;
  readonly callId: string;
  readonly tool: string;
  readonly status: ToolStatus;
  readonly durationMs: number;
  readonly truncated: boolean;
  /** False when the interpreter was lost; left out where none was in it. */
  readonly stateKept?: boolean;
}

/** What played an episode. */
export interface Versions {
  readonly paddock: string;
  /** The policy's name, such as that of its model. */
  readonly policy?: string;
  /** The weights that sampled the last reply, where the server tells it. */
  readonly weights?: string;
}

/** Where an episode's time went. */
export interface EpisodeTimes {
  readonly totalMs: number;
  /** Waiting for the policy. */
  readonly policyMs: number;
  /** Waiting for the env and its tools, the reset included. */
  readonly envMs: number;
}

/** One episode written down: what was said, what it was worth, how it ended. Plain data. */
export interface Trajectory {
  readonly task: Task;
  /**
   * Version of the format, which a line states.
   *
   * @default 1
   */
  readonly format?: number;
  /** Which of the task's episodes it is, from 1. */
  readonly sample: number;
  /** What the episode's chance was seeded with. */
  readonly seed?: number;
  readonly versions: Versions;
  readonly messages: readonly Message[];
  /** The sum of the steps' rewards; `null` when none was given, which is not the same as 0. */
  readonly reward: number | null;
  /** What the rewards were made of, by name. */
  readonly rewardParts?: Readonly<Record<string, number | null>>;
  /** What the env told beside, what it told later over what it told before. */
  readonly info?: Readonly<Record<string, unknown>>;
  /** Why a grader gave no score. */
  readonly unscored?: string;
  /** The version of the policy that played, where the env tells it. */
  readonly policyVersion?: number | string;
  readonly turns: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
  /** Set when the episode ended because something failed. */
  readonly error?: EpisodeFailure;
  /** For a trainer, where env and policy deal in tokens; `null` when the env did not keep what was sampled. */
  readonly tokens?: EpisodeTokens | null;
  /** Turn by turn, the one that failed included. */
  readonly steps: readonly TurnRecord[];
  readonly toolResults: readonly ToolRecord[];
  readonly times: EpisodeTimes;
}

/** Which episode of a task it is, and who plays it. */
export interface EpisodeStart {
  sample?: number | undefined;
  seed?: number | undefined;
  /** The policy's name. */
  policy?: string | undefined;
}

/** An episode of which nothing has been played. */
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

/** The trajectory with what failed written on it; what failed first stays. */
export function withFailure(trajectory: Trajectory, cause: unknown): Trajectory {
  if (trajectory.error !== undefined) return trajectory;
  return { ...trajectory, error: episodeFailure(cause) };
}

/** The record of what a tool did in a turn. */
export function toolRecord(turn: number, result: ToolResult): ToolRecord {
  const { tool, call, callId, status, durationMs, truncated, exec } = result;
  const state = exec === undefined ? {} : { stateKept: exec.stateKept };
  return { turn, call, callId, tool, status, durationMs, truncated, ...state };
}
