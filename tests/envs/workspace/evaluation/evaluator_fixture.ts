import { join } from "node:path";
import { loadProfile, SandboxPool } from "../../../../mod.ts";
import type {
  EvaluateOptions,
  EvaluationOutcome,
  Submission,
} from "../../../../src/envs/workspace/evaluation.ts";
import { WorkspaceEvaluator } from "../../../../src/envs/workspace/evaluation/evaluator.ts";
import type { EvaluationPlan } from "../../../../src/envs/workspace/task.ts";

/** What a test says of an evaluation: the texts of its files by their paths, the script's first. */
export interface BenchPlan extends Partial<Omit<EvaluationPlan, "script" | "files">> {
  readonly files: Readonly<Record<string, string>>;
}

/** Where submissions are scored in tests: two warm sandboxes, which the evaluations of a test share. */
export class EvaluatorBench implements AsyncDisposable {
  readonly pool: SandboxPool;
  readonly evaluationPool: SandboxPool;
  readonly #directory: string;
  #plans = 0;

  private constructor(parts: { pool: SandboxPool; evaluationPool: SandboxPool; directory: string }) {
    this.pool = parts.pool;
    this.evaluationPool = parts.evaluationPool;
    this.#directory = parts.directory;
  }

  /**
   * Starts both sandboxes; that of submissions is rewound in between, which is quicker. Submissions that need no shell
   * can run in the profile `python`, which starts in half the time.
   */
  static async open(name: "workspace" | "python" = "workspace"): Promise<EvaluatorBench> {
    const profile = await loadProfile(name);
    const quick = { ...profile, limits: { ...profile.limits, graceMs: 300 } };
    return new EvaluatorBench({
      pool: new SandboxPool({ profile: quick, size: 1, resetMode: "rewind" }),
      evaluationPool: new SandboxPool({
        profile: await loadProfile("evaluation"),
        size: 1,
        resetMode: "rewind",
      }),
      directory: await Deno.makeTempDir(),
    });
  }

  /** An evaluator of a plan whose files are written for it; `module` of `answer.py` unless said otherwise. */
  async evaluator({ files, ...plan }: BenchPlan): Promise<WorkspaceEvaluator> {
    const folder = join(this.#directory, `${++this.#plans}`);
    const written = await Promise.all(
      Object.entries(files).map(async ([path, text]) => {
        const hostPath = join(folder, path);
        await Deno.mkdir(join(hostPath, ".."), { recursive: true });
        await Deno.writeTextFile(hostPath, text);
        return { path, hostPath };
      }),
    );
    const [script, ...others] = written;
    if (script === undefined) {
      throw new Error("Cannot plan an evaluation as it needs a script: there is no file");
    }
    const defaults = {
      kind: "module",
      submission: ["answer.py"],
      timeoutMs: 20_000,
      directions: {},
    } as const;
    const { pool, evaluationPool } = this;
    return new WorkspaceEvaluator({
      plan: { ...defaults, ...plan, script, files: others },
      pool,
      evaluationPool,
    });
  }

  /** What comes of one submission, given as texts. */
  async evaluate(
    plan: BenchPlan,
    submission: Readonly<Record<string, string>>,
    options?: EvaluateOptions,
  ): Promise<EvaluationOutcome> {
    await using evaluator = await this.evaluator(plan);
    return await evaluator.evaluate(submissionOf(submission), options);
  }

  /** Writes a file that an evaluation may use. */
  async writeFile(path: string, text: string): Promise<{ path: string; hostPath: string }> {
    const hostPath = join(this.#directory, path);
    await Deno.writeTextFile(hostPath, text);
    return { path, hostPath };
  }

  /** Ends the sandboxes and removes the files. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.pool[Symbol.asyncDispose]();
    await this.evaluationPool[Symbol.asyncDispose]();
    await Deno.remove(this.#directory, { recursive: true });
  }
}

/** Files of texts. */
export function submissionOf(files: Readonly<Record<string, string>>): Submission {
  return new Map(Object.entries(files).map(([path, text]) => [path, new TextEncoder().encode(text)]));
}
