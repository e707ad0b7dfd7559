import { type EpisodeFailure, episodeFailure } from "../episode_failure.ts";
import type { Message } from "../message.ts";
import type { Task } from "../task.ts";
import type { ToolResult, ToolStatus } from "../tools/tool_result.ts";

export type { EpisodeFailure };

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
  readonly messages: readonly Message[];
  /** The sum of the steps' rewards; `null` when none was given, which is not the same as 0. */
  readonly reward: number | null;
  /** What the rewards were made of, by name. */
  readonly rewardParts?: Readonly<Record<string, number | null>>;
  /** The version of the policy that played, where the env tells it. */
  readonly policyVersion?: number | string;
  readonly turns: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
  /** Set when the episode ended because something failed. */
  readonly error?: EpisodeFailure;
  readonly toolResults: readonly ToolRecord[];
  readonly times: EpisodeTimes;
}

/** An episode of which nothing has been played. */
export function emptyTrajectory(task: Task): Trajectory {
  return {
    task,
    messages: [],
    reward: null,
    turns: 0,
    terminated: false,
    truncated: false,
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
