import { derivedSeed } from "../../seeded_random.ts";
import { blockedProgram } from "./blocked_program.ts";
import { commandKind, mayTrain } from "./command_kind.ts";
import { withHereDocuments } from "./commands/here_documents.ts";
import type { EvaluationOutcome } from "./evaluation.ts";
import { hasMark } from "./evaluation_mark.ts";
import { exitStatus, validationText } from "./evaluation_text.ts";
import { metricDirection } from "./metric_direction.ts";
import type { Workbench } from "./workbench.ts";
import type { Workspace } from "./workspace.ts";
import { WORKSPACE } from "./workspace_place.ts";
import type { EvaluationPlan, Scores } from "./workspace_task.ts";
import type { WorkspaceEvaluation, WorkspaceView } from "./workspace_view.ts";

/** What bounds an episode. */
export interface EpisodeLimits {
  readonly maxSteps: number;
  /** How long a command may take which starts no Python. */
  readonly timeoutMs: number;
  /** How long a command may write nothing. */
  readonly silenceMs?: number | undefined;
}

/** What an episode is made of. */
export interface EpisodeParts {
  readonly workspace: Workspace;
  /** Where the agent works; started. */
  readonly bench: Workbench;
  readonly limits: EpisodeLimits;
  readonly seed?: number | undefined;
}

/** What a step may be given. */
export interface EpisodeStepOptions {
  signal?: AbortSignal | undefined;
}

/** What came of an action. */
interface ActionEnd {
  readonly output: string;
  readonly evaluation?: WorkspaceEvaluation;
  /** Given where the episode is over. */
  readonly exitStatus?: string;
}

const AT_START = JSON.stringify({ open_file: "n/a", working_dir: WORKSPACE });

/** The work on a task from its start to its end, action by action. */
export class WorkspaceEpisode {
  readonly workspace: Workspace;
  readonly #parts: EpisodeParts;
  #steps = 0;
  #evaluations = 0;
  #state = AT_START;

  constructor(parts: EpisodeParts) {
    this.workspace = parts.workspace;
    this.#parts = parts;
  }

  /** How things stand before the first action. */
  start(): WorkspaceView {
    return this.#view(null);
  }

  /** How things stand after one more action. */
  async step(command: string, options: EpisodeStepOptions): Promise<WorkspaceView> {
    this.#steps++;
    const { output, evaluation, exitStatus } = await this.#act(command, options);
    if (exitStatus !== undefined) {
      return { ...this.#view(output), ...(evaluation && { evaluation }), exitStatus };
    }
    const state = await this.#parts.bench.state(command, options);
    this.#state = state ?? AT_START;
    const lost = state === undefined && { exitStatus: "early_exit" };
    return { ...this.#view(output), ...(evaluation && { evaluation }), ...lost };
  }

  #view(output: string | null): WorkspaceView {
    const { maxSteps } = this.#parts.limits;
    return { output, state: this.#state, currentStep: this.#steps, maxSteps };
  }

  /** What an action leads to, in the order of MLGym's cases. */
  async #act(command: string, options: EpisodeStepOptions): Promise<ActionEnd> {
    const { tools } = this.workspace.agent;
    if (this.#steps > this.#parts.limits.maxSteps) return await this.#exit("max_steps", options);
    const asked = commandKind(command, tools);
    if (asked.kind === "skip") return { output: "Skipped", exitStatus: "skipped" };
    if (asked.kind === "forfeit") return { output: "Exited (exit_forfeit)", exitStatus: "exit_forfeit" };
    if (asked.kind === "exit") return await this.#exit(asked.action, options);
    if (asked.kind === "open-ended") return { output: openEnded(asked.name, asked.end) };
    const blocked = blockedProgram(command, tools);
    if (blocked === undefined) return await this.#run(command, options);
    return { output: tools.blocklistErrorTemplate.replaceAll("{name}", () => blocked) };
  }

  async #run(command: string, options: EpisodeStepOptions): Promise<ActionEnd> {
    const { bench, limits } = this.#parts;
    const timeoutMs = mayTrain(command) ? this.workspace.task.trainingTimeoutMs : limits.timeoutMs;
    const { silenceMs } = limits;
    const line = withHereDocuments(command, this.workspace.agent.tools.endNames);
    const { output, kept } = await bench.run(line, { ...options, timeoutMs, silenceMs });
    if (!kept) return { output, exitStatus: "early_exit" };
    if (hasMark(output, "SUBMISSION")) return await this.#exit("submit", options);
    if (!hasMark(output, "VALIDATION")) return { output };
    const evaluation = await this.#evaluate("validate", options);
    return { output: validationText(evaluation.outcome, evaluation.baseline), evaluation };
  }

  /** Ends the episode with an evaluation of what there is. */
  async #exit(action: string, options: EpisodeStepOptions): Promise<ActionEnd> {
    const evaluation = await this.#evaluate(action, options);
    return { output: `Exited (${action})`, evaluation, exitStatus: exitStatus(action, evaluation.outcome) };
  }

  async #evaluate(action: string, { signal }: EpisodeStepOptions): Promise<WorkspaceEvaluation> {
    const { bench } = this.#parts;
    const seed = this.#nextSeed();
    const plan = this.workspace.task.evaluation;
    const handedIn = await bench.handIn(plan.submission, { signal });
    const outcome: EvaluationOutcome = "fault" in handedIn
      ? { status: "failed", message: handedIn.fault }
      : await this.workspace.evaluate(handedIn.submission, { seed, signal });
    const baseline = await this.workspace.baseline({ signal });
    const scores = outcome.status === "scored" ? outcome.scores : {};
    const metric = plan.metric ?? Object.keys(scores)[0];
    const directions = directionsOf({ ...baseline, ...scores }, plan);
    return { action, outcome, baseline, directions, ...(metric !== undefined && { metric }) };
  }

  /** Each evaluation has a chance of its own: what one tells of an opponent must be worth nothing in the next. */
  #nextSeed(): number | undefined {
    const { seed } = this.#parts;
    return seed === undefined ? undefined : derivedSeed(seed, this.#evaluations++);
  }
}

function openEnded(name: string, end: string): string {
  return `The ${name} was not made: the text that is put in must be followed by a line with \`${end}\` alone.`;
}

function directionsOf(scores: Scores, { directions }: EvaluationPlan): WorkspaceEvaluation["directions"] {
  const names = Object.keys(scores);
  return Object.fromEntries(names.map((name) => [name, directions[name] ?? metricDirection(name)]));
}
