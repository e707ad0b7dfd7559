import type { ContentPart, Message, ToolCall } from "../message.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { escapeControls, escapeLine } from "./output.ts";

const ROLE_COLOURS: Readonly<Record<string, string>> = { system: "35", user: "34", assistant: "32" };
const TOOL_COLOUR = "36";
const FAILURE_COLOUR = "31";

/** How {@linkcode formatTranscript} looks. */
export interface TranscriptOptions {
  /** Colours for a terminal. */
  colour?: boolean | undefined;
}

type Paint = (text: string, colour: string) => string;

/** An episode as a person reads it. What a model wrote cannot steer the terminal. */
export function formatTranscript(trajectory: Trajectory, options: TranscriptOptions = {}): string {
  const { task, sample, messages } = trajectory;
  const paint: Paint = (text, colour) => options.colour ? `\x1b[${colour}m${text}\x1b[0m` : text;
  const name = sample > 1 ? `${task.id}, sample ${sample}` : task.id;
  const said = messages.map((message) => messageLines(message, paint)).join("");
  return `${paint(`── ${escapeLine(name)} ──`, "1")}\n${said}${ending(trajectory, paint)}\n\n`;
}

function messageLines({ role, content, tool_calls: calls = [] }: Message, paint: Paint): string {
  const text = typeof content === "string" ? content : content.map(partText).join("");
  const lines = [text, ...calls.map(callText)].filter((part) => part !== "").join("\n");
  const head = paint(`${escapeLine(role)}:`, ROLE_COLOURS[role] ?? TOOL_COLOUR);
  return `${head}\n${indented(escapeControls(lines))}\n`;
}

function partText({ type, text = "", name = "" }: ContentPart): string {
  return type === "text" ? text : `[${type}${name && ` ${name}`}]`;
}

function callText({ name, arguments: given }: ToolCall): string {
  return `→ ${name}(${typeof given === "string" ? given : JSON.stringify(given)})`;
}

function indented(text: string): string {
  return text.trimEnd().replace(/^(?=.)/gm, "  ");
}

function ending(trajectory: Trajectory, paint: Paint): string {
  const { reward, times, error, turns, terminated } = trajectory;
  const how = `${terminated ? "ended" : "cut off"} after ${turns} ${turns === 1 ? "turn" : "turns"}`;
  const end = error === undefined
    ? how
    : paint(escapeControls(`failed at ${error.boundary}: ${error.message}`), FAILURE_COLOUR);
  const worth = reward === null ? "not scored" : `reward ${reward}`;
  return [end, worth + parts(trajectory), ...tools(trajectory), `${Math.round(times.totalMs)} ms`].join(", ");
}

/** What the reward was made of, when that says more than the reward. */
function parts({ rewardParts = {} }: Trajectory): string {
  const entries = Object.entries(rewardParts);
  return entries.length < 2
    ? ""
    : ` (${entries.map(([name, part]) => `${escapeControls(name)} ${part}`).join(", ")})`;
}

function tools({ toolResults }: Trajectory): string[] {
  const counts = new Map<string, number>();
  for (const { status } of toolResults) counts.set(status, (counts.get(status) ?? 0) + 1);
  if (counts.size === 0) return [];
  return [`tools ${[...counts].map(([status, count]) => `${count} ${escapeControls(status)}`).join(" + ")}`];
}
