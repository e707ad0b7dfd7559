import { type Message, messageText } from "../../message.ts";
import type { ToolRecord, Trajectory } from "../../rollout/trajectory.ts";
import { type CallDifference, firstOtherCall } from "./recorded_calls.ts";

/** A tool result of a turn that differs from the recorded result. */
export interface ReplayDifference {
  /** Number of the turn, from 1. */
  readonly turn: number;
  /** The statuses and the text of the recorded turn and of the replay, normalized. */
  readonly recorded: string;
  readonly replayed: string;
  /** First call of the turn's code that differs, if any. */
  readonly call?: CallDifference;
}

/** Parts that {@linkcode normalizeResult} replaces, for help texts. */
export const NORMALIZED =
  "addresses (0x7f…), durations with a unit (3.2 ms), times of day with their date, and Unix times of 2017 to 2033";

const REPLACED: readonly [RegExp, string][] = [
  [/\b0x[0-9a-fA-F]{4,16}\b/g, "<address>"],
  [/\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?/g, "<time>"],
  [/\b\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\b/g, "<time>"],
  [/\b(?:1[5-9]|20)\d{8}(?:\.\d{1,9})?\b/g, "<time>"],
  [/\b\d{1,12}(?:\.\d{1,12})?(?:e-?\d{1,3})? ?(?:ns|µs|us|ms|s|sec|secs|seconds?|minutes?)\b/g, "<duration>"],
];

/** Replaces the parts of a result that differ from run to run. */
export function normalizeResult(text: string): string {
  return REPLACED.reduce((result, [pattern, by]) => result.replace(pattern, by), text).trimEnd();
}

/**
 * Returns the turns whose tool results differ in a replay: in a status, in the text that the model reads, or in a call
 * that code made.
 */
export function compareTrajectories(recorded: Trajectory, replayed: Trajectory): ReplayDifference[] {
  const [before, after] = [resultsByTurn(recorded), resultsByTurn(replayed)];
  return before.flatMap((expected, index) => {
    const turn = index + 1;
    const found = after[index] ?? "(not replayed)";
    const call = after[index] && firstOtherCall(recordsOf(recorded, turn), recordsOf(replayed, turn));
    if (expected === found && !call) return [];
    return [{ turn, recorded: expected, replayed: found, ...(call && { call }) }];
  });
}

function recordsOf({ toolResults }: Trajectory, turn: number): ToolRecord[] {
  return toolResults.filter((record) => record.turn === turn);
}

/** Returns the messages after each reply of the policy. */
export function messagesByTurn({ messages, turns }: Trajectory): Message[][] {
  const groups: Message[][] = [];
  for (const message of messages.slice(firstReply(messages, turns))) {
    if (message.role === "assistant") groups.push([]);
    else groups.at(-1)?.push(message);
  }
  return groups;
}

/** Returns the statuses of each turn's calls and the messages after the reply, as text. */
function resultsByTurn(trajectory: Trajectory): string[] {
  const records = Map.groupBy(trajectory.toolResults, ({ turn }) => turn);
  return messagesByTurn(trajectory).map((group, index) => {
    const statuses = (records.get(index + 1) ?? []).map(formatRecord);
    return [...statuses, ...group.map((message) => normalizeResult(messageText(message)))].join("\n");
  });
}

function formatRecord({ tool, call, status }: ToolRecord): string {
  return `[${tool} ${call}: ${status}]`;
}

/** Returns the replies of the policy, without the assistant messages of the prompt. */
export function repliesOf({ messages, turns }: Trajectory): Message[] {
  return messages.slice(firstReply(messages, turns)).filter(({ role }) => role === "assistant");
}

function firstReply(messages: readonly Message[], turns: number): number {
  const replies = messages.flatMap(({ role }, index) => role === "assistant" ? [index] : []);
  return replies.at(-turns) ?? replies[0] ?? messages.length;
}

/** Returns the first call that differs, or else the first line in which two texts differ, of each. */
export function firstDifference({ recorded, replayed, call }: ReplayDifference): [string, string] {
  if (call !== undefined) return [call.recorded, call.replayed];
  const [before, after] = [recorded.split("\n"), replayed.split("\n")];
  const at = before.findIndex((line, index) => line !== after[index]);
  const line = at < 0 ? before.length : at;
  return [before[line] ?? "(nothing)", after[line] ?? "(nothing)"];
}
