import { errorMessage } from "../../errors.ts";
import type { SessionLease } from "../../sandbox/exec.ts";
import { SandboxPool } from "../../sandbox/pool.ts";
import type { AgentConfig } from "./agent_config.ts";
import type { EvaluateOptions, EvaluationOutcome, Evaluator, Submission } from "./evaluation.ts";
import { Baseline } from "./evaluation/baseline.ts";
import { profileOfTask } from "./workspace_profile.ts";
import { requirePlayable, type Scores, type WorkspaceFile, type WorkspaceTask } from "./workspace_task.ts";

/** Options of {@linkcode Workspace.open}. */
export interface WorkspaceOptions {
  readonly task: WorkspaceTask;
  readonly agent: AgentConfig;
  /** Evaluator of submissions. The workspace disposes it. */
  readonly evaluator: Evaluator;
  /**
   * Maximum number of concurrent episodes.
   *
   * @default 1
   */
  sessions?: number | undefined;
  /**
   * Folder of the cached base images.
   *
   * @default `.cache/paddock` in the user's home
   */
  cacheDir?: string | undefined;
  /** Called once before a base image is built, which takes a few seconds. */
  onBuild?: (() => void) | undefined;
  signal?: AbortSignal | undefined;
}

interface WorkspaceParts extends Pick<WorkspaceOptions, "task" | "agent" | "evaluator"> {
  readonly starter: Submission;
  readonly pool: SandboxPool;
}

/**
 * An open task: its sandboxes, its evaluator and its baseline, shared by many episodes.
 *
 * Sandboxes are reused for later episodes and rewound in between. So use one workspace only for agents of one trust
 * domain, such as those of one policy.
 */
export class Workspace implements AsyncDisposable {
  readonly task: WorkspaceTask;
  readonly agent: AgentConfig;
  /** Files that an episode starts with and may change, by path in the workspace. */
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
   * @throws {RangeError} if the task cannot be played.
   * @throws {Deno.errors.NotFound} if a file of the task is missing.
   * @throws {SyntaxError} if two of its files have the same path in the workspace.
   */
  static async open(options: WorkspaceOptions): Promise<Workspace> {
    const { task, agent, evaluator, sessions: size = 1, cacheDir, onBuild, signal } = options;
    await using stack = new AsyncDisposableStack();
    stack.use(evaluator);
    requirePlayable(task);
    const starter = await readFiles(task, task.starter.filter(({ path }) => !task.readOnly.includes(path)));
    const profile = await profileOfTask(task);
    const pool = stack.use(
      new SandboxPool({ profile, size, resetMode: "rewind", cacheDir, onBuild, signal }),
    );
    stack.move();
    return new Workspace({ task, agent, starter, evaluator, pool });
  }

  /** Leases a session. It serves one episode at a time. */
  async acquire(options: { signal?: AbortSignal | undefined } = {}): Promise<SessionLease> {
    return await this.#pool.acquire(options);
  }

  /** Scores a submission, isolated from the sandbox that it was written in. */
  async evaluate(submission: Submission, options?: EvaluateOptions): Promise<EvaluationOutcome> {
    return await this.#evaluator.evaluate(submission, options);
  }

  /** Returns the task's baseline scores, or else the scores of the starter files; `null` if they have none. */
  async baseline(options?: { signal?: AbortSignal | undefined }): Promise<Scores | null> {
    return await this.#baseline.scores(options);
  }

  /** Closes the sandboxes, which ends every episode. */
  async [Symbol.asyncDispose](): Promise<void> {
    await using stack = new AsyncDisposableStack();
    stack.use(this.#evaluator);
    stack.use(this.#pool);
  }
}

async function readFiles({ id }: WorkspaceTask, files: readonly WorkspaceFile[]): Promise<Submission> {
  const contents = new Map<string, Uint8Array>();
  for (const { path, hostPath } of files) {
    try {
      contents.set(path, await Deno.readFile(hostPath));
    } catch (cause) {
      const why = errorMessage(cause);
      throw new Deno.errors.NotFound(
        `Cannot open task '${id}' as '${hostPath}' must be a readable file: ${why}`,
        {
          cause,
        },
      );
    }
  }
  return contents;
}
