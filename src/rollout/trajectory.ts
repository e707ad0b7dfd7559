import type { ExecStatus } from "../sandbox/exec.ts";
import { EpisodeError } from "../errors.ts";
import type { Message } from "../history.ts";
import type { ToolResult } from "../tools/tool_result.ts";

/** What became of one piece of code of an episode. */
export interface ExecRecord {
  /** The turn whose message held the code, from 1. */
  readonly turn: number;
  readonly call: number;
  readonly tool: string;
  readonly status: ExecStatus;
  readonly durationMs: number;
  readonly stateKept: boolean;
  readonly truncated: boolean;
}

/** The failure that ended an episode. */
export interface EpisodeFailure {
  /** Where it happened; `env` when no boundary claims it. */
  readonly boundary: EpisodeError["boundary"] | "env";
  readonly name: string;
  readonly message: string;
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
  readonly taskId: string;
  readonly messages: readonly Message[];
  /** The sum of the steps' rewards; `null` when none was given, which is not the same as 0. */
  readonly reward: number | null;
  readonly turns: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
  /** Set when the episode ended because something failed. */
  readonly error?: EpisodeFailure;
  readonly execs: readonly ExecRecord[];
  readonly times: EpisodeTimes;
}

/** An episode of which nothing has been played. */
export function emptyTrajectory(taskId: string): Trajectory {
  return {
    taskId,
    messages: [],
    reward: null,
    turns: 0,
    terminated: false,
    truncated: false,
    execs: [],
    times: { totalMs: 0, policyMs: 0, envMs: 0 },
  };
}

/** The trajectory with what failed written on it; what failed first stays. */
export function withFailure(trajectory: Trajectory, cause: unknown): Trajectory {
  if (trajectory.error !== undefined) return trajectory;
  const boundary = cause instanceof EpisodeError ? cause.boundary : "env";
  const { name, message } = cause instanceof Error ? cause : { name: typeof cause, message: String(cause) };
  return { ...trajectory, error: { boundary, name, message } };
}

/** The record of what a tool did in a turn. */
export function execRecord(turn: number, result: ToolResult): ExecRecord {
  const { tool, call, exec } = result;
  const { status, durationMs, stateKept, truncated } = exec;
  return { turn, call, tool, status, durationMs, stateKept, truncated };
}
