import { errorMessage } from "../../errors.ts";
import type { SessionLease } from "../../sandbox/exec.ts";
import { SandboxPool } from "../../sandbox/pool.ts";
import type { AgentConfig } from "./agent_config.ts";
import type { EvaluateOptions, EvaluationOutcome, Evaluator, Submission } from "./evaluation.ts";
import { Baseline } from "./evaluation/baseline.ts";
import { workspaceProfile } from "./workspace_profile.ts";
import { requirePlayable, type Scores, type WorkspaceFile, type WorkspaceTask } from "./workspace_task.ts";

/** What the episodes of a task share. */
export interface WorkspaceOptions {
  readonly task: WorkspaceTask;
  readonly agent: AgentConfig;
  /** Scores submissions; the workspace disposes of it. */
  readonly evaluator: Evaluator;
  /** How many episodes there are at most at the same time; 1 unless given. */
  sessions?: number | undefined;
  /** Where base images are cached; `.cache/paddock` in the user's home unless given. */
  cacheDir?: string | undefined;
  /** Called once before a base image is built, which takes some seconds. */
  onBuild?: (() => void) | undefined;
  signal?: AbortSignal | undefined;
}

interface WorkspaceParts extends Pick<WorkspaceOptions, "task" | "agent" | "evaluator"> {
  readonly starter: Submission;
  readonly pool: SandboxPool;
}

/**
 * A task that is open to be worked on: its sandboxes, its evaluator and its baseline, shared by many episodes.
 *
 * Episodes follow each other in the same sandboxes, which are rewound in between: they are for agents that may know
 * of one another, such as those of one policy.
 */
export class Workspace implements AsyncDisposable {
  readonly task: WorkspaceTask;
  readonly agent: AgentConfig;
  /** The files that an episode starts with and may change, by their paths in the workspace. */
  readonly starter: Submission;
  readonly #evaluator: Evaluator;
  readonly #pool: SandboxPool;
  readonly #baseline: Baseline;

  private constructor({ task, agent, starter, evaluator, pool }: WorkspaceParts) {
    this.task = task;
    this.agent = agent;
    this.starter = starter;
    this.#evaluator = evaluator;
    this.#pool = pool;
    this.#baseline = new Baseline(task, evaluator);
  }

  /**
   * Reads the task's files and starts its sandboxes.
   *
   * @throws {RangeError} when the task cannot be played.
   * @throws {Deno.errors.NotFound} when a file of the task is missing.
   * @throws {SyntaxError} when two of its files claim one place in the workspace.
   */
  static async open(options: WorkspaceOptions): Promise<Workspace> {
    const { task, agent, evaluator, sessions: size = 1, cacheDir, onBuild, signal } = options;
    await using opened = new AsyncDisposableStack();
    opened.use(evaluator);
    requirePlayable(task);
    const starter = await readFiles(task, task.starter.filter(({ path }) => !task.readOnly.includes(path)));
    const profile = await workspaceProfile(task);
    const pool = opened.use(
      new SandboxPool({ profile, size, resetMode: "rewind", cacheDir, onBuild, signal }),
    );
    opened.move();
    return new Workspace({ task, agent, starter, evaluator, pool });
  }

  /** A session for one episode after the other. */
  async acquire(options: { signal?: AbortSignal | undefined } = {}): Promise<SessionLease> {
    return await this.#pool.acquire(options);
  }

  /** Scores a submission, apart from where it was written. */
  async evaluate(submission: Submission, options?: EvaluateOptions): Promise<EvaluationOutcome> {
    return await this.#evaluator.evaluate(submission, options);
  }

  /** What the task says to compare with, else what the starter files score; `null` when they score nothing. */
  async baseline(options?: { signal?: AbortSignal | undefined }): Promise<Scores | null> {
    return await this.#baseline.scores(options);
  }

  /** Ends the sandboxes, and with them every episode. */
  async [Symbol.asyncDispose](): Promise<void> {
    await using ended = new AsyncDisposableStack();
    ended.use(this.#evaluator);
    ended.use(this.#pool);
  }
}

async function readFiles({ id }: WorkspaceTask, files: readonly WorkspaceFile[]): Promise<Submission> {
  const read = new Map<string, Uint8Array>();
  for (const { path, hostPath } of files) {
    try {
      read.set(path, await Deno.readFile(hostPath));
    } catch (cause) {
      const why = errorMessage(cause);
      throw new Deno.errors.NotFound(
        `Cannot open task '${id}' as '${hostPath}' must be a file to read: ${why}`,
        {
          cause,
        },
      );
    }
  }
  return read;
}
