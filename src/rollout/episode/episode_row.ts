import { Buffer } from "node:buffer";
import { EnvError, errorMessage, toEpisodeFailure } from "../../errors.ts";
import { toWellFormedJson } from "../../json.ts";
import type { InteractionResult } from "../interaction_result.ts";
import { emptyTrajectory, identityOf, type Trajectory } from "../trajectory.ts";

/** Maximum size of the line of an episode, in bytes. Readers refuse longer lines, so writers never write a longer line. */
export const MAX_ROW_BYTES = 256 * 1024 * 1024;

/** Options of {@linkcode toEpisodeRow}. */
export interface EpisodeRowOptions<T> {
  /** Returns the episode without messages, as a failed episode. */
  shorten: (episode: T, failure: Trajectory["error"] & object) => T;
  /** @default MAX_ROW_BYTES */
  maxBytes?: number | undefined;
}

/**
 * Serializes an episode as a line of JSON that readers accept. An episode that is too long, or that is not JSON, is
 * written without messages and with an error that says so.
 */
export function toEpisodeRow<T>(
  episode: T,
  { shorten, maxBytes = MAX_ROW_BYTES }: EpisodeRowOptions<T>,
): string {
  const row = tryRow(episode, maxBytes);
  if ("line" in row) return row.line;
  const failure = toEpisodeFailure(new EnvError(`Cannot save episode as ${row.reason}`));
  return toWellFormedJson(shorten(episode, failure));
}

function tryRow(episode: unknown, maxBytes: number): { line: string } | { reason: string } {
  try {
    const line = toWellFormedJson(episode);
    const bytes = Buffer.byteLength(line);
    if (bytes <= maxBytes) return { line };
    return { reason: `its row must have at most ${maxBytes} bytes: it has ${bytes}` };
  } catch (error) { // too deep or too long to serialize, or not JSON, such as a BigInt of an env
    return { reason: `its row must be JSON: ${errorMessage(error)}` };
  }
}

/** Returns the trajectory of a failed episode without messages. The task stays, so that the task can be played again. */
export function shortenTrajectory(trajectory: Trajectory, error: Trajectory["error"] & object): Trajectory {
  const { task, versions, turns, times, timeScale } = trajectory;
  return {
    ...emptyTrajectory(task, { ...identityOf(trajectory), timeScale }),
    versions,
    turns,
    times,
    error,
  };
}

/** Returns the training row of an aborted episode with the tokens of the prompt only. */
export function shortenInteraction(
  result: InteractionResult,
  error: InteractionResult["errors"][number],
): InteractionResult {
  const { tokens, response_length } = result;
  return {
    ...result,
    reward: null,
    messages: [],
    info: {},
    response: "",
    loss_mask: [],
    tokens: tokens.slice(0, tokens.length - response_length),
    status: "aborted",
    response_length: 0,
    log_probs: null,
    reward_parts: {},
    errors: [error],
    turns: [],
    tool_calls: [],
  };
}
