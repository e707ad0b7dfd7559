import { messageText } from "../../message.ts";
import type { ToolRecord, Trajectory } from "../../rollout/trajectory.ts";
import { UsageError } from "../cli_errors.ts";
import { messagesByTurn } from "./compare.ts";

/** The first exec of an episode whose digest differs in a replay. */
export interface ExactDifference {
  readonly turn: number;
  /** Position of the block or call in the turn, from 1. */
  readonly call: number;
  /** Digests of the exec. The replay may have none. */
  readonly recorded: string;
  readonly replayed: string | undefined;
  /**
   * First byte of the turn's results that differs, from 0, with the text around that byte in both. Absent if the results
   * are the same: files, or what the model does not read, differ.
   */
  readonly text?: { readonly byte: number; readonly recorded: string; readonly replayed: string };
}

/** Result of an exact comparison. */
export interface ExactComparison {
  /** Number of execs that have been compared. */
  readonly compared: number;
  /** True if the rest was not compared, as the result of the next exec depends on the machine. */
  readonly stoppedAtInexact: boolean;
  readonly difference?: ExactDifference;
}

/** Bytes that are shown around the first byte that differs. */
const SHOWN_BYTES = 60;

/**
 * Compares the digests of an episode's execs with the digests of a replay, up to the first exec whose result depends on
 * the machine.
 *
 * @throws {UsageError} if an exec of the row has no digest.
 */
export function compareExactly(recorded: Trajectory, replayed: Trajectory): ExactComparison {
  const execs = recorded.toolResults.filter(({ stateKept }) => stateKept !== undefined);
  let compared = 0;
  for (const record of execs) {
    const { digest, turn, call } = record;
    if (digest === undefined) {
      throw new UsageError(
        `Cannot replay the episode of task '${recorded.task.id}' exactly as its execs must have digests: ` +
          "play the episode with --clock virtual",
      );
    }
    const found = findRecord(replayed, record);
    if (record.inexact || found?.inexact) return { compared, stoppedAtInexact: true };
    if (found?.digest !== digest) {
      const text = firstByte(textOf(recorded, turn), textOf(replayed, turn));
      const difference = { turn, call, recorded: digest, replayed: found?.digest, ...(text && { text }) };
      return { compared, stoppedAtInexact: false, difference };
    }
    compared++;
  }
  return { compared, stoppedAtInexact: false };
}

function findRecord({ toolResults }: Trajectory, { turn, call }: ToolRecord): ToolRecord | undefined {
  return toolResults.find((other) => other.turn === turn && other.call === call);
}

/** Returns the results of a turn as the model reads them. */
function textOf(trajectory: Trajectory, turn: number): string {
  return (messagesByTurn(trajectory)[turn - 1] ?? []).map(messageText).join("\n");
}

function firstByte(recorded: string, replayed: string): ExactDifference["text"] {
  if (recorded === replayed) return undefined;
  const encoder = new TextEncoder();
  const [before, after] = [encoder.encode(recorded), encoder.encode(replayed)];
  const at = before.findIndex((byte, index) => byte !== after[index]);
  const byte = at < 0 ? before.length : at;
  const around = (bytes: Uint8Array) =>
    new TextDecoder().decode(bytes.subarray(Math.max(0, byte - SHOWN_BYTES / 3), byte + SHOWN_BYTES));
  return { byte, recorded: around(before), replayed: around(after) };
}
