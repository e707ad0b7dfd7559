import { type Action, historyAfter } from "../../../src/envs/action.ts";
import type { Env } from "../../../src/envs/env.ts";
import type {
  WorkspaceEvaluation,
  WorkspaceObservation,
  WorkspaceStep,
  WorkspaceView,
} from "../../../src/envs/workspace/evaluation.ts";
import { History } from "../../../src/history.ts";
import type { Task } from "../../../src/task.ts";

/** Result of a command in a fake workspace. */
export interface FakeAnswer {
  readonly output?: string;
  readonly evaluation?: WorkspaceEvaluation;
  readonly exitStatus?: string;
  readonly state?: string;
}

/** A workspace without a shell: known commands have a fixed result, others are echoed. */
export class FakeWorkspaceEnv implements Env {
  /** Commands that it received. */
  readonly commands: string[] = [];
  readonly played: Task[] = [];
  isDisposed = false;
  readonly #answers: Readonly<Record<string, FakeAnswer>>;
  readonly #maxSteps: number;
  #steps = 0;
  #observation: WorkspaceObservation | undefined;

  constructor(answers: Readonly<Record<string, FakeAnswer>> = {}, options: { maxSteps?: number } = {}) {
    this.#answers = answers;
    this.#maxSteps = options.maxSteps ?? 10;
  }

  reset(task: Task): Promise<WorkspaceObservation> {
    this.#steps = 0;
    this.played.push(task);
    const prompt = History.fromChats([{ role: "user", content: "the description" }]);
    return Promise.resolve(
      this.#observation = { task, history: { prompt }, workspace: this.#view({}, null) },
    );
  }

  step(action: Action): Promise<WorkspaceStep> {
    const before = this.#observation;
    if (before === undefined) throw new Error("reset the env first");
    const command = action.command ?? "";
    this.commands.push(command);
    this.#steps++;
    const answer = this.#answers[command.trim()] ?? { output: `ran ${command}` };
    const isExit = command.startsWith("exit_");
    const exitStatus = answer.exitStatus ?? (isExit ? `autosubmission (${command})` : undefined);
    const output = answer.output ?? "";
    const prompt = historyAfter(before.history.prompt, action).append({ role: "user", content: output });
    const step: WorkspaceStep = {
      task: before.task,
      history: { prompt },
      reward: null,
      truncated: false,
      toolResults: [],
      terminated: exitStatus !== undefined,
      workspace: { ...this.#view(answer, output), ...(exitStatus !== undefined && { exitStatus }) },
    };
    this.#observation = step;
    return Promise.resolve(step);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.isDisposed = true;
    return Promise.resolve();
  }

  #view({ evaluation, state }: FakeAnswer, output: string | null): WorkspaceView {
    return {
      output,
      state: state ?? JSON.stringify({ open_file: "n/a", working_dir: `/w/${this.#steps}` }),
      currentStep: this.#steps,
      maxSteps: this.#maxSteps,
      ...(evaluation && { evaluation }),
    };
  }
}

/** Returns an evaluation with one score. */
export function scored(score: number, options: Partial<WorkspaceEvaluation> = {}): WorkspaceEvaluation {
  const metric = options.metric ?? "Score";
  return {
    action: "validate",
    outcome: { status: "scored", scores: { [metric]: score }, artefact: "/w/strategy.py" },
    baseline: { [metric]: 1 },
    directions: { [metric]: "maximize" },
    metric,
    ...options,
  };
}
