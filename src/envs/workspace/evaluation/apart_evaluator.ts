import { loadProfile, type Profile } from "../../../sandbox/profile.ts";
import { SandboxPool, type SandboxPoolOptions } from "../../../sandbox/pool.ts";
import type { EvaluateOptions, EvaluationOutcome, Evaluator, Submission } from "../evaluation.ts";
import type { EvaluationPlan } from "../workspace_task.ts";
import { WorkspaceEvaluator } from "./workspace_evaluator.ts";

/** What the sandboxes of an {@linkcode ApartEvaluator} are started with. */
export interface ApartEvaluatorOptions extends Pick<SandboxPoolOptions, "cacheDir" | "onBuild" | "signal"> {
  /** How many submissions may be scored at the same time; 1 unless given. */
  readonly size?: number | undefined;
}

/** An evaluator with sandboxes of its own. */
export class ApartEvaluator implements Evaluator {
  readonly #evaluator: WorkspaceEvaluator;
  readonly #opened: AsyncDisposableStack;

  private constructor(evaluator: WorkspaceEvaluator, opened: AsyncDisposableStack) {
    this.#evaluator = evaluator;
    this.#opened = opened;
  }

  /** Starts the sandboxes. */
  static async open(plan: EvaluationPlan, options: ApartEvaluatorOptions = {}): Promise<ApartEvaluator> {
    const [profile, script] = await Promise.all([loadProfile("python"), loadProfile("evaluation")]);
    await using opened = new AsyncDisposableStack();
    const pool = opened.use(
      new SandboxPool({ ...options, profile: patient(profile, plan), resetMode: "fresh" }),
    );
    const evaluationPool = opened.use(
      new SandboxPool({ ...options, profile: patient(script, plan), resetMode: "rewind" }),
    );
    const evaluator = opened.use(new WorkspaceEvaluator({ plan, pool, evaluationPool }));
    return new ApartEvaluator(evaluator, opened.move());
  }

  /** {@inheritDoc Evaluator.evaluate} */
  async evaluate(submission: Submission, options?: EvaluateOptions): Promise<EvaluationOutcome> {
    return await this.#evaluator.evaluate(submission, options);
  }

  /** Stops what still runs, and ends the sandboxes. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync();
  }
}

/** The profile, with as much CPU time as the plan gives wall time. */
function patient(profile: Profile, { timeoutMs }: EvaluationPlan): Profile {
  const cpuSeconds = Math.max(profile.limits.cpuSeconds, Math.ceil(timeoutMs / 1000));
  return { ...profile, limits: { ...profile.limits, cpuSeconds } };
}
