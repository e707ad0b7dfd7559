import { type EpisodeCopyOptions, seedOfCopy } from "../../episode_checkpoint.ts";
import { deriveSeed } from "../../seeded_random.ts";
import { pythonFloat, pythonStr } from "../../tools/python_repr.ts";
import type { AgentTools } from "./agent_config.ts";
import type { AgentShell } from "./agent_shell.ts";
import { findBlockedProgram } from "./blocklist.ts";
import {
  type EvaluationOutcome,
  guessMetricDirection,
  type WorkspaceEvaluation,
  type WorkspaceView,
} from "./evaluation.ts";
import { type EvaluationPlan, type Scores, WORKSPACE_FOLDER } from "./task.ts";
import type { Workspace } from "./workspace.ts";

/** Limits of an episode. */
export interface EpisodeLimits {
  readonly maxSteps: number;
  /** Timeout of a command that does not start Python. */
  readonly timeoutMs: number;
  /** Maximum time without output of a command. */
  readonly silenceMs?: number | undefined;
}

/** Options of {@linkcode WorkspaceEpisode}. */
export interface WorkspaceEpisodeOptions {
  readonly workspace: Workspace;
  /** Started shell of the agent. */
  readonly shell: AgentShell;
  readonly limits: EpisodeLimits;
  readonly seed?: number | undefined;
}

/** Options of {@linkcode WorkspaceEpisode.step}. */
export interface EpisodeStepOptions {
  signal?: AbortSignal | undefined;
}

/** Result of an action. */
interface ActionResult {
  readonly output: string;
  readonly evaluation?: WorkspaceEvaluation;
  /** Set if the episode is over. */
  readonly exitStatus?: string;
}

const INITIAL_STATE = JSON.stringify({ open_file: "n/a", working_dir: WORKSPACE_FOLDER });

/** An episode of a workspace task, action by action. */
export class WorkspaceEpisode {
  readonly workspace: Workspace;
  readonly #parts: WorkspaceEpisodeOptions;
  #steps = 0;
  #evaluations = 0;
  #state = INITIAL_STATE;

  constructor(parts: WorkspaceEpisodeOptions) {
    this.workspace = parts.workspace;
    this.#parts = parts;
  }

  /** Returns a copy that continues in another shell, whose state is the same. */
  copy({ shell, ...random }: EpisodeCopyOptions & { shell: AgentShell }): WorkspaceEpisode {
    const copy = new WorkspaceEpisode({ ...this.#parts, shell, seed: seedOfCopy(this.#parts.seed, random) });
    copy.#steps = this.#steps;
    copy.#evaluations = this.#evaluations;
    copy.#state = this.#state;
    return copy;
  }

  /** Returns the state before the first action. */
  start(): WorkspaceView {
    return this.#view(null);
  }

  /** Runs an action and returns the state after it. */
  async step(command: string, options: EpisodeStepOptions): Promise<WorkspaceView> {
    this.#steps++;
    const { output, evaluation, exitStatus } = await this.#act(command, options);
    if (exitStatus !== undefined) {
      return { ...this.#view(output), ...(evaluation && { evaluation }), exitStatus };
    }
    const state = await this.#parts.shell.state(command, options);
    this.#state = state ?? INITIAL_STATE;
    const lost = state === undefined && { exitStatus: "early_exit" };
    return { ...this.#view(output), ...(evaluation && { evaluation }), ...lost };
  }

  #view(output: string | null): WorkspaceView {
    const { maxSteps } = this.#parts.limits;
    return { output, state: this.#state, currentStep: this.#steps, maxSteps };
  }

  /** Handles an action, with the cases in MLGym's order. */
  async #act(command: string, options: EpisodeStepOptions): Promise<ActionResult> {
    const { tools } = this.workspace.agent;
    if (this.#steps > this.#parts.limits.maxSteps) return await this.#exit("max_steps", options);
    const parsed = classifyCommand(command, tools);
    if (parsed.kind === "skip") return { output: "Skipped", exitStatus: "skipped" };
    if (parsed.kind === "forfeit") return { output: "Exited (exit_forfeit)", exitStatus: "exit_forfeit" };
    if (parsed.kind === "exit") return await this.#exit(parsed.action, options);
    if (parsed.kind === "open-ended") return { output: openEnded(parsed.name, parsed.end) };
    const blocked = findBlockedProgram(command, tools);
    if (blocked === undefined) return await this.#run(command, options);
    return { output: tools.blocklistErrorTemplate.replaceAll("{name}", () => blocked) };
  }

  async #run(command: string, options: EpisodeStepOptions): Promise<ActionResult> {
    const { shell, limits } = this.#parts;
    const timeoutMs = isTrainingCommand(command) ? this.workspace.task.trainingTimeoutMs : limits.timeoutMs;
    const { silenceMs } = limits;
    const line = insertHereDocuments(command, this.workspace.agent.tools.endNames);
    const { output, stateKept: kept } = await shell.run(line, { ...options, timeoutMs, silenceMs });
    if (!kept) return { output, exitStatus: "early_exit" };
    if (hasMark(output, "SUBMISSION")) return await this.#exit("submit", options);
    if (!hasMark(output, "VALIDATION")) return { output };
    const evaluation = await this.#evaluate("validate", options);
    return { output: textOfValidation(evaluation.outcome, evaluation.baseline), evaluation };
  }

  /** Ends the episode with an evaluation of the current work. */
  async #exit(action: string, options: EpisodeStepOptions): Promise<ActionResult> {
    const evaluation = await this.#evaluate(action, options);
    return { output: `Exited (${action})`, evaluation, exitStatus: exitStatusOf(action, evaluation.outcome) };
  }

  async #evaluate(action: string, { signal }: EpisodeStepOptions): Promise<WorkspaceEvaluation> {
    const { shell } = this.#parts;
    const seed = this.#nextSeed();
    const plan = this.workspace.task.evaluation;
    const submitted = await shell.submission(plan.submission, { signal });
    const outcome: EvaluationOutcome = "fault" in submitted
      ? { status: "failed", message: submitted.fault }
      : await this.workspace.evaluate(submitted.submission, { seed, signal });
    const baseline = await this.workspace.baseline({ signal });
    const scores = outcome.status === "scored" ? outcome.scores : {};
    const metric = plan.metric ?? Object.keys(scores)[0];
    const directions = directionsOf({ ...baseline, ...scores }, plan);
    return { action, outcome, baseline, directions, ...(metric !== undefined && { metric }) };
  }

  /** Each evaluation has its own seed, so that a result does not reveal an opponent's moves in the next evaluation. */
  #nextSeed(): number | undefined {
    const { seed } = this.#parts;
    return seed === undefined ? undefined : deriveSeed(seed, this.#evaluations++);
  }
}

function openEnded(name: string, end: string): string {
  return `The ${name} was not made: the text that is put in must be followed by a line with \`${end}\` alone.`;
}

function directionsOf(scores: Scores, { directions }: EvaluationPlan): WorkspaceEvaluation["directions"] {
  const names = Object.keys(scores);
  return Object.fromEntries(names.map((name) => [name, directions[name] ?? guessMetricDirection(name)]));
}

/** Actions that end the episode with an evaluation of the current work. */
const EVALUATED_EXITS = new Set(["exit_context", "exit_cost", "exit_error", "exit_format", "exit_api"]);
/** Programs whose commands get the task's training timeout. */
const TRAINING_PROGRAM = /\b(?:torchrun|python3?|accelerate|deepspeed)\b/;
/** First line of an `edit` or `insert` whose text follows on the next lines (no redirection on the line itself). */
const TAKES_TEXT = /^\s*(edit(?=\s+\d+:\d)|insert(?!\s+\d+:))\s+[\d:]+(?:\s[^<\n]*)?(?:\n|$)/;

/** Kind of work that an action requires of the env. */
export type CommandKind =
  | { readonly kind: "skip" | "forfeit" | "run" }
  /** Ends the episode with an evaluation. */
  | { readonly kind: "exit"; readonly action: string }
  /** The line that ends the inserted text is missing. */
  | { readonly kind: "open-ended"; readonly name: string; readonly end: string };

/** Classifies an action by what the env handles without the shell. */
export function classifyCommand(action: string, { endNames }: Pick<AgentTools, "endNames">): CommandKind {
  const word = action.trim();
  if (word === "skip") return { kind: "skip" };
  if (word === "exit_forfeit") return { kind: "forfeit" };
  if (EVALUATED_EXITS.has(word)) return { kind: "exit", action: word };
  const [, name = ""] = TAKES_TEXT.exec(action) ?? [];
  const end = endNames[name] ?? (name === "edit" ? "end_of_edit" : undefined);
  if (end === undefined) return { kind: "run" };
  const isOpen = !action.split("\n").some((line) => line.trim() === end);
  return isOpen ? { kind: "open-ended", name, end } : { kind: "run" };
}

/** True if a command gets the task's training timeout. */
export function isTrainingCommand(command: string): boolean {
  return TRAINING_PROGRAM.test(command);
}

/** Request that a command makes by printing a mark. */
export type Mark = "VALIDATION" | "SUBMISSION";

/** The blanks up to the end of a line. */
const REST = /[^\S\n]*(?:\n|$)/y;

/**
 * True if the output has a line that begins with `<<VALIDATION||`, and a later or the same line that ends with
 * `||VALIDATION>>`. The output is scanned once, whatever the number of marks.
 */
export function hasMark(output: string, mark: Mark): boolean {
  const opening = `<<${mark}||`;
  const closing = `||${mark}>>`;
  const start = output.startsWith(opening) ? 0 : output.indexOf(`\n${opening}`);
  if (start === -1) return false;
  let at = output.indexOf(opening, start) + opening.length;
  for (;;) {
    at = output.indexOf(closing, at);
    if (at === -1) return false;
    REST.lastIndex = at += closing.length;
    if (REST.test(output)) return true;
  }
}

/** Text for a missing baseline. */
const NO_BASELINE = "NA (no baseline was there)";

/** Returns the message for the agent about a validation, in MLGym's format, which its tools parse. */
function textOfValidation(outcome: EvaluationOutcome, baseline: Scores | null): string {
  switch (outcome.status) {
    case "scored":
      return [
        `Your code produced a valid submission artefact at ${WORKSPACE_FOLDER}/${outcome.artefact}.`,
        `Baseline Score: ${baseline === null ? NO_BASELINE : scoresText(baseline)}`,
        `Evaluation Score: ${scoresText(outcome.scores)}`,
      ].join("\n");
    case "missing":
      return `There is nothing to evaluate yet: ${outcome.message}`;
    case "malformed":
      return `The evaluation gave no metrics. This is what it printed:\n---\n${outcome.output}\n---`;
    case "failed":
      return `The evaluation did not succeed: ${outcome.message}`;
  }
}

/** Returns MLGym's exit status of an episode that `action` ended with an evaluation. */
function exitStatusOf(action: string, { status }: EvaluationOutcome): string {
  switch (status) {
    case "scored":
      return action === "submit" ? "submitted" : `autosubmission (${action})`;
    case "missing":
      return `submission_not_found (${action})`;
    case "malformed":
      return `evaluation_format_error (${action})`;
    case "failed":
      return `evaluation_failed (${action})`;
  }
}

/** Formats scores as Python prints a dict of floats. */
function scoresText(scores: Scores): string {
  const entries = Object.entries(scores).map(([name, value]) => {
    const quoted = pythonStr([name]).slice(1, -1);
    return `${quoted}: ${pythonFloat(value)}`;
  });
  return `{${entries.join(", ")}}`;
}

/** Start of a here-document in the command itself. */
const OPENED = /<<-?\s*(['"]?)([\w-]+)\1/;

/**
 * Turns the text of a multi-line command into a here-document, so that a shell can read it:
 *
 *     edit 3:4                 edit 3:4 << 'end_of_edit'
 *     a = 1               →    a = 1
 *     end_of_edit              end_of_edit
 *
 * A command without the end line stays unchanged.
 */
export function insertHereDocuments(command: string, endNames: Readonly<Record<string, string>>): string {
  const lines = command.split("\n");
  const ends = linesByText(lines);
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const [, , opened] = OPENED.exec(line) ?? [];
    const end = opened ?? endOf(line, endNames);
    if (end === undefined) continue;
    const last = nextAfter(at, ends.get(end) ?? []);
    if (last === undefined) continue;
    if (opened === undefined) lines[at] = `${line} << '${end}'`;
    lines[last] = end;
    at = last;
  }
  return lines.join("\n");
}

function endOf(line: string, endNames: Readonly<Record<string, string>>): string | undefined {
  const [, name = ""] = /^\s*([^\s<]+)/.exec(line) ?? [];
  return Object.hasOwn(endNames, name) ? endNames[name] : undefined;
}

/** Maps each line's text, without trailing blanks, to its line indices in descending order. */
function linesByText(lines: readonly string[]): Map<string, number[]> {
  return Map.groupBy(lines.keys().toArray().reverse(), (at) => lines[at]?.trimEnd() ?? "");
}

/** Returns the first line index after `at`. Removes smaller indices, because callers ask in ascending order. */
function nextAfter(at: number, lines: number[]): number | undefined {
  while ((lines.at(-1) ?? Infinity) <= at) lines.pop();
  return lines.at(-1);
}
