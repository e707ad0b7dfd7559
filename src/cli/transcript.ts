import type { ContentPart, Message, ToolCall } from "../message.ts";
import { describeCut, type ToolRecord, type Trajectory } from "../rollout/trajectory.ts";
import type { MimeBundle } from "../sandbox/contract/exec.ts";
import { escapeControls, escapeLine } from "../terminal_text.ts";
import { describeBlocksNotRun } from "../tools/code_blocks/blocks_not_run.ts";
import { base64Bytes } from "../tools/tool_result.ts";

const ROLE_COLOURS: Readonly<Record<string, string>> = { system: "35", user: "34", assistant: "32" };
const TOOL_COLOUR = "36";
const FAILURE_COLOUR = "31";

/** Options of {@linkcode formatTranscript}. */
export interface TranscriptOptions {
  /** Use terminal colours. @default false */
  colour?: boolean | undefined;
}

type Paint = (text: string, colour: string) => string;

/** Formats an episode as readable text. Control characters are escaped, so model output cannot control the terminal. */
export function formatTranscript(trajectory: Trajectory, options: TranscriptOptions = {}): string {
  const { task, sample, parent, messages } = trajectory;
  const paint: Paint = (text, colour) => options.colour ? `\x1b[${colour}m${text}\x1b[0m` : text;
  const origin = parent?.call === undefined ? "branch from" : "asked in";
  const branch = parent === undefined ? "" : `, ${origin} turn ${parent.turn}`;
  const name = (sample > 1 ? `${task.id}, sample ${sample}` : task.id) + branch;
  const body = messages.map((message) => formatMessage(message, paint)).join("");
  const lines = trajectory.toolResults.flatMap((
    record,
  ) => [...formatShown(record), ...formatCodeCalls(record)]);
  const shown = lines.map((line) => `${escapeLine(line)}\n`).join("");
  return `${paint(`── ${escapeLine(name)} ──`, "1")}\n${body}${shown}${formatEnding(trajectory, paint)}\n\n`;
}

function formatMessage({ role, content, tool_calls: calls = [] }: Message, paint: Paint): string {
  const text = typeof content === "string" ? content : content.map(formatPart).join("");
  const lines = [text, ...calls.map(formatCall)].filter((part) => part !== "").join("\n");
  const head = paint(`${escapeLine(role)}:`, ROLE_COLOURS[role] ?? TOOL_COLOUR);
  return `${head}\n${indentLines(escapeControls(lines))}\n`;
}

function formatPart({ type, text = "", name = "" }: ContentPart): string {
  return type === "text" ? text : `[${type}${name && ` ${name}`}]`;
}

/** Matches MIME types whose data is base64. */
const IS_BASE64 = /^(?:image\/(?!svg)|audio\/|video\/|application\/pdf$)/;
const MAX_SHOWN_CHARACTERS = 200;

/** Returns a line for each object that a call showed. */
function formatShown({ turn, tool, display = [], droppedDisplays }: ToolRecord): string[] {
  const shown = display.map(describeBundle);
  if (droppedDisplays) shown.push(`${droppedDisplays} more, which were not saved`);
  return shown.map((text) => `shown in turn ${turn} by ${tool}: ${text}`);
}

/** Maximum number of calls of a block that are shown. */
const MAX_SHOWN_CALLS = 20;

/** Returns a line for each call of a tool that the code of a block made, up to a limit. */
function formatCodeCalls({ turn, tool, calls = [] }: ToolRecord): string[] {
  const lines = calls.slice(0, MAX_SHOWN_CALLS).map(({ tool, status, arguments: args, result }) => {
    const given = args === undefined ? "…" : JSON.stringify(args).slice(0, MAX_SHOWN_CHARACTERS);
    const end = result === undefined ? "" : `: ${result.slice(0, MAX_SHOWN_CHARACTERS)}`;
    return `${tool}(${given}) → ${status}${end}`;
  });
  const left = calls.length - lines.length;
  if (left > 0) lines.push(`${left} more, which the row has`);
  return lines.map((line) => `called in turn ${turn} by ${tool}: ${line}`);
}

/** Returns the MIME types of an object with their sizes, and the beginning of the text. */
function describeBundle({ "text/plain": plain, ...forms }: MimeBundle): string {
  const described = Object.entries(forms).map(([type, data]) => {
    const text = typeof data === "string" ? data : JSON.stringify(data);
    return `${type} (${
      IS_BASE64.test(type) ? base64Bytes(text) : new TextEncoder().encode(text).length
    } bytes)`;
  });
  const text = typeof plain === "string" ? plain.replace(/\s+/g, " ").slice(0, MAX_SHOWN_CHARACTERS) : "";
  return [...described, text].filter((part) => part !== "").join(", ");
}

function formatCall({ name, arguments: args }: ToolCall): string {
  return `→ ${name}(${typeof args === "string" ? args : JSON.stringify(args)})`;
}

function indentLines(text: string): string {
  return text.trimEnd().replace(/^(?=.)/gm, "  ");
}

function formatEnding(trajectory: Trajectory, paint: Paint): string {
  const { reward, times, error, turns, terminated, cut } = trajectory;
  const outcome = `${terminated ? "ended" : "cut off"} after ${turns} ${turns === 1 ? "turn" : "turns"}` +
    (cut === undefined ? "" : ` ${escapeLine(describeCut(cut))}`);
  const end = error === undefined
    ? outcome
    : paint(escapeControls(`failed at ${error.boundary}: ${error.message}`), FAILURE_COLOUR);
  const score = reward === null ? "not scored" : `reward ${reward}`;
  return [
    end,
    score + formatRewardParts(trajectory),
    ...formatToolCounts(trajectory),
    ...formatBlocksNotRun(trajectory),
    `${Math.round(times.totalMs)} ms`,
  ].join(", ");
}

/** Formats the parts of the reward, if there are at least two. */
function formatRewardParts({ rewardParts = {} }: Trajectory): string {
  const entries = Object.entries(rewardParts);
  return entries.length < 2
    ? ""
    : ` (${entries.map(([name, part]) => `${escapeControls(name)} ${part}`).join(", ")})`;
}

function formatToolCounts({ toolResults }: Trajectory): string[] {
  const counts = new Map<string, number>();
  for (const { status } of toolResults) counts.set(status, (counts.get(status) ?? 0) + 1);
  if (counts.size === 0) return [];
  return [`tools ${[...counts].map(([status, count]) => `${count} ${escapeControls(status)}`).join(" + ")}`];
}

function formatBlocksNotRun({ steps }: Trajectory): string[] {
  const described = describeBlocksNotRun(steps.map(({ blocksNotRun }) => blocksNotRun));
  return described === undefined ? [] : [`not run: ${escapeLine(described)}`];
}
