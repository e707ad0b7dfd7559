import { errorMessage } from "../../errors.ts";
import { requireKnownOptions } from "../../options.ts";
import type { SessionLease, SessionPool } from "../../sandbox/contract/pool.ts";
import { SandboxPool } from "../../sandbox/pool.ts";
import { loadProfile, parseProfile, type Profile } from "../../sandbox/profile/profile.ts";
import type { AgentConfig } from "./agent_config.ts";
import { COMMANDS_PRELOAD } from "./commands/commands.ts";
import type { EvaluateOptions, EvaluationOutcome, Evaluator, Submission } from "./evaluation.ts";
import { Baseline } from "./evaluation/baseline.ts";
import {
  AGENT_HOME,
  requirePlayable,
  type Scores,
  WORKSPACE_FOLDER,
  type WorkspaceFile,
  type WorkspaceTask,
} from "./task.ts";

/** Options of {@linkcode Workspace.open}. */
export interface WorkspaceOptions {
  readonly task: WorkspaceTask;
  readonly agent: AgentConfig;
  /** Evaluator of submissions, which the workspace disposes. */
  readonly evaluator: Evaluator;
  /**
   * Pool of the agents' sandboxes, with the profile that {@linkcode profileOfTask} returns for the task. The workspace
   * does not dispose the pool. `sessions`, `cacheDir`, `onBuild` and `signal` have no effect then.
   *
   * @default a pool of its own
   */
  pool?: SessionPool | undefined;
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
  readonly pool: SessionPool;
  /** Evaluator, and the pool unless the pool is the caller's. */
  readonly owned: AsyncDisposableStack;
}

/**
 * An open task: sandboxes, evaluator and baseline, shared by many episodes.
 *
 * Sandboxes are reused for later episodes and rewound in between. So use a workspace only for agents of a single trust
 * domain, such as agents of one policy.
 */
export class Workspace implements AsyncDisposable {
  readonly task: WorkspaceTask;
  readonly agent: AgentConfig;
  /** Files that an episode starts with and may change, by path in the workspace. */
  readonly starter: Submission;
  readonly #evaluator: Evaluator;
  readonly #pool: SessionPool;
  readonly #owned: AsyncDisposableStack;
  readonly #baseline: Baseline;

  private constructor({ task, agent, starter, evaluator, pool, owned }: WorkspaceParts) {
    this.task = task;
    this.agent = agent;
    this.starter = starter;
    this.#evaluator = evaluator;
    this.#pool = pool;
    this.#owned = owned;
    this.#baseline = new Baseline(task, evaluator);
  }

  /**
   * Reads the task's files and starts the sandboxes, unless a pool is given.
   *
   * @throws {RangeError} if the task cannot be played.
   * @throws {Deno.errors.NotFound} if a file of the task is missing.
   * @throws {SyntaxError} if two files have the same path in the workspace.
   */
  static async open(options: WorkspaceOptions): Promise<Workspace> {
    requireKnownOptions("open Workspace", options, {
      task: true,
      agent: true,
      evaluator: true,
      pool: true,
      sessions: true,
      cacheDir: true,
      onBuild: true,
      signal: true,
    });
    const { task, agent, evaluator, sessions: size = 1, cacheDir, onBuild, signal } = options;
    await using stack = new AsyncDisposableStack();
    stack.use(evaluator);
    requirePlayable(task);
    const starter = await readFiles(task, task.starter.filter(({ path }) => !task.readOnly.includes(path)));
    let { pool } = options;
    if (pool === undefined) {
      const profile = await profileOfTask(task);
      pool = stack.use(new SandboxPool({ profile, size, resetMode: "rewind", cacheDir, onBuild, signal }));
    }
    return new Workspace({ task, agent, starter, evaluator, pool, owned: stack.move() });
  }

  /** Leases a session, which serves a single episode at a time. */
  async acquire(options: { signal?: AbortSignal | undefined } = {}): Promise<SessionLease> {
    return await this.#pool.acquire(options);
  }

  /** Scores a submission, isolated from the sandbox in which the submission was written. */
  async evaluate(submission: Submission, options?: EvaluateOptions): Promise<EvaluationOutcome> {
    return await this.#evaluator.evaluate(submission, options);
  }

  /** Returns the task's baseline scores, or else the scores of the starter files; `null` if they have none. */
  async baseline(options?: { signal?: AbortSignal | undefined }): Promise<Scores | null> {
    return await this.#baseline.scores(options);
  }

  /** Closes the workspace's own sandboxes, which ends every episode in them, and disposes the evaluator. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
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

/** Maximum output of a command: more than a model can read. */
const OUTPUT_BYTES = 256 * 1024;
const MAX_CPU_SECONDS = 24 * 3_600;

/**
 * Returns the profile of an agent's sandbox: a shell, the agent's commands, and the task's data and read-only files as
 * mounts. The profile holds no file of the evaluation.
 *
 * @throws {SyntaxError} if two of the task's files have the same path, or a path is reserved.
 */
export async function profileOfTask(task: WorkspaceTask): Promise<Profile> {
  const base = await loadProfile("workspace");
  const cpuSeconds = Math.ceil(task.trainingTimeoutMs / 1000);
  return {
    ...base,
    name: `task ${task.id}`,
    home: AGENT_HOME,
    preload: COMMANDS_PRELOAD,
    mounts: parseProfile(JSON.stringify({ mounts: mountsOf(task) }), { source: `task ${task.id}` }).mounts,
    limits: {
      ...base.limits,
      outputBytes: OUTPUT_BYTES,
      cpuSeconds: Math.min(MAX_CPU_SECONDS, Math.max(base.limits.cpuSeconds, cpuSeconds)),
    },
  };
}

function mountsOf({ data, starter, readOnly }: WorkspaceTask): Record<string, string> {
  const readOnlyFiles = starter.filter(({ path }) => readOnly.includes(path));
  return Object.fromEntries(
    [...data, ...readOnlyFiles].map(({ path, hostPath }) => [`${WORKSPACE_FOLDER}/${path}`, hostPath]),
  );
}
