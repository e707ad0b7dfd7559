import { deriveSeed } from "../../seeded_random.ts";
import { findBlockedProgram } from "./blocked_program.ts";
import { classifyCommand, isTrainingCommand } from "./command_kind.ts";
import { insertHereDocuments } from "./commands/here_documents.ts";
import type { EvaluationOutcome } from "./evaluation.ts";
import { hasMark } from "./evaluation_mark.ts";
import { exitStatusOf, textOfValidation } from "./evaluation_text.ts";
import { guessMetricDirection } from "./metric_direction.ts";
import type { AgentShell } from "./workbench.ts";
import type { Workspace } from "./workspace.ts";
import { WORKSPACE_FOLDER } from "./workspace_place.ts";
import type { EvaluationPlan, Scores } from "./workspace_task.ts";
import type { WorkspaceEvaluation, WorkspaceView } from "./workspace_view.ts";

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

/** One episode of a workspace task, action by action. */
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

  /** Each evaluation has its own seed, so that the result of one does not reveal an opponent's moves in the next. */
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
