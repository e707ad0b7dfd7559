import { requireKnownOptions } from "../../options.ts";
import { SandboxPool } from "../../sandbox/pool.ts";
import { loadProfile, type Profile } from "../../sandbox/profile/profile.ts";
import { MEMORY_RANGE_BYTES, WASM_PAGE_BYTES } from "../../sandbox/profile/schema.ts";
import { HARBOR_HOME, type HarborTask, requireRunnable } from "./task.ts";

/** Options of {@linkcode HarborTasks}. */
export interface HarborTasksOptions {
  readonly tasks: readonly HarborTask[];
  /**
   * Returns a profile that also has Python packages, by their requirements.
   *
   * @default refuses tasks that need packages
   */
  addPackages?: ((profile: Profile, requirements: readonly string[]) => Promise<Profile>) | undefined;
  /**
   * Maximum number of concurrent episodes, and of concurrent verifiers.
   *
   * @default 1
   */
  sessions?: number | undefined;
  /**
   * Reset of an agent's session between episodes. Sessions of verifiers are always fresh.
   *
   * @default "fresh"
   */
  resetMode?: "fresh" | "rewind" | undefined;
  /**
   * Folder of the cached base images.
   *
   * @default `.cache/paddock` in the user's home
   */
  cacheDir?: string | undefined;
  /** Called once before a base image is built, which takes a few seconds. */
  onBuild?: (() => void) | undefined;
}

/** Sandboxes of a task. Tasks with the same packages and memory share them. */
export interface HarborSandboxes {
  readonly agents: SandboxPool;
  /** Pool whose interpreters no agent has had. */
  readonly verifiers: SandboxPool;
}

const DAY_SECONDS = 24 * 3_600;
const FILE_BYTES = 256 * 1024 * 1024;

/** A set of Harbor tasks, and the sandboxes in which agents and verifiers work. Pools open at their first use. */
export class HarborTasks implements AsyncDisposable {
  readonly tasks: readonly HarborTask[];
  readonly #options: HarborTasksOptions;
  readonly #open = new Map<string, Promise<HarborSandboxes>>();
  readonly #stack = new AsyncDisposableStack();

  /** @throws {RangeError} if two tasks have the same id. */
  constructor(options: HarborTasksOptions) {
    requireKnownOptions("create HarborTasks", options, OPTIONS);
    const { tasks } = options;
    for (const { id } of tasks) {
      if (tasks.filter((other) => other.id === id).length === 1) continue;
      throw new RangeError(`Cannot open Harbor tasks as ids must be unique: two tasks have the id '${id}'`);
    }
    this.tasks = tasks;
    this.#options = options;
  }

  /**
   * Returns a task by its id.
   *
   * @throws {RangeError} if there is no such task, or the task does not run here.
   */
  task(id: string): HarborTask {
    const task = this.tasks.find((each) => each.id === id);
    if (task === undefined) throw new RangeError(`Cannot play Harbor task '${id}' as there is no such task`);
    requireRunnable(task);
    return task;
  }

  /** Returns the sandboxes of a task. */
  async sandboxes(task: HarborTask): Promise<HarborSandboxes> {
    const requirements = task.requirements.toSorted();
    const memoryBytes = memoryOf(task);
    const key = JSON.stringify([requirements, memoryBytes]);
    const opened = this.#open.get(key);
    if (opened !== undefined) return await opened;
    const opening = this.#start(requirements, memoryBytes);
    this.#open.set(key, opening);
    return await opening;
  }

  /** Closes all sandboxes. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }

  async #start(
    requirements: readonly string[],
    memoryBytes: number | undefined,
  ): Promise<HarborSandboxes> {
    const { addPackages, sessions: size = 1, resetMode = "fresh", cacheDir, onBuild } = this.#options;
    const base = await harborProfile(memoryBytes);
    if (requirements.length > 0 && addPackages === undefined) {
      throw new RangeError(
        `Cannot open Harbor tasks as they need packages: ${requirements.join(", ")}; give 'addPackages'`,
      );
    }
    const profile = await addPackages?.(base, requirements) ?? base;
    const shared = { profile, size, cacheDir, onBuild };
    return {
      agents: this.#stack.use(new SandboxPool({ ...shared, resetMode })),
      verifiers: this.#stack.use(new SandboxPool({ ...shared, resetMode: "fresh" })),
    };
  }
}

/** Returns the profile of agents and verifiers: a workspace with root's home. */
async function harborProfile(memoryBytes: number | undefined): Promise<Profile> {
  const base = await loadProfile("workspace");
  const limits = {
    ...base.limits,
    fileBytes: FILE_BYTES,
    cpuSeconds: DAY_SECONDS, // each command has a time limit of its own
    memoryBytes: memoryBytes ?? base.limits.memoryBytes,
  };
  return { ...base, name: "harbor", home: HARBOR_HOME, limits };
}

/** Returns the memory of a task as a profile has the memory: whole pages in the allowed range. */
function memoryOf({ memoryBytes }: HarborTask): number | undefined {
  if (memoryBytes === undefined) return undefined;
  const { min, max } = MEMORY_RANGE_BYTES;
  const pages = Math.ceil(Math.min(max, Math.max(4 * min, memoryBytes)) / WASM_PAGE_BYTES);
  return pages * WASM_PAGE_BYTES;
}

/** Names of the options. */
const OPTIONS: Readonly<Record<keyof HarborTasksOptions, true>> = {
  tasks: true,
  addPackages: true,
  sessions: true,
  resetMode: true,
  cacheDir: true,
  onBuild: true,
};
