import { dirname } from "node:path";
import type { Trajectory } from "../rollout/trajectory.ts";
import type { Task } from "../task.ts";
import { FinishedEpisodes } from "./finished_episodes.ts";
import { prepareResume } from "./resume.ts";
import { UsageError } from "./usage_error.ts";
import { writeText } from "./write_text.ts";

/** What becomes of the episodes that a file holds already. */
export interface TrajectoryFileOptions {
  /** They stay, but for those that failed, and are not played again. */
  resume?: boolean | undefined;
  /** They are thrown away. Without this or `resume`, a file that holds something is refused. */
  force?: boolean | undefined;
  /** Whether its command has a `--resume`, for messages. */
  mayResume?: boolean | undefined;
  /** The file that is read while this one is written. */
  source?: string | undefined;
  /** The tasks that are to be played: those of episodes that stay must be among them, where they have their ids. */
  tasks?: AsyncIterable<Task> | undefined;
  /** Told of each episode that stays. */
  onKept?: ((trajectory: Trajectory) => void) | undefined;
}

/** An episode could not be written: what was played is not to be played for nothing, so the run ends. */
export class UnwrittenError extends Error {
  override readonly name = "UnwrittenError";
}

/** A file that episodes are written to, one JSON line each. */
export class TrajectoryFile implements Disposable {
  readonly #path: string;
  readonly #file: Deno.FsFile;
  readonly #finished: FinishedEpisodes;
  /** Settled when what was to be written is. */
  #written: Promise<void> = Promise.resolve();

  private constructor(path: string, file: Deno.FsFile, finished: FinishedEpisodes) {
    this.#path = path;
    this.#file = file;
    this.#finished = finished;
  }

  /**
   * Opens a file, and makes the folder that it is in.
   *
   * @throws {UsageError} when it cannot be written, holds something, is the source, or cannot be gone on with.
   */
  static async open(path: string, options: TrajectoryFileOptions = {}): Promise<TrajectoryFile> {
    const { resume = false, force = false, mayResume = false, source } = options;
    const finished = new FinishedEpisodes();
    try {
      if (source !== undefined) await requireOther(path, source);
      await Deno.mkdir(dirname(path), { recursive: true });
      const holdsSomething = await sizeOf(path) > 0;
      if (holdsSomething && !resume && !force) {
        const ways = mayResume ? "--resume to go on, or --force" : "--force to throw that away";
        throw new UsageError(`Cannot write '${path}' as it holds something: give ${ways}`);
      }
      if (holdsSomething && resume) await goOn(path, finished, options);
      const file = await Deno.open(path, { create: true, append: resume, write: true, truncate: !resume });
      return new TrajectoryFile(path, file, finished);
    } catch (cause) {
      if (cause instanceof UsageError) throw cause;
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new UsageError(`Cannot write '${path}': ${reason}`, { cause });
    }
  }

  /** Whether the file held this episode; where two tasks are the same, each is asked for on its own. */
  takeFinished(task: Task, sample: number): boolean {
    return this.#finished.take(task, sample);
  }

  /**
   * Writes an episode behind the others.
   *
   * @throws {UnwrittenError} when it cannot, as on a disk that is full.
   */
  write(trajectory: Trajectory): Promise<void> {
    const written = this.#written.then(() => this.#writeLine(`${JSON.stringify(trajectory)}\n`));
    this.#written = written.catch(() => {}); // whoever wrote it is told
    return written;
  }

  async #writeLine(line: string): Promise<void> {
    try {
      await writeText(this.#file, line);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new UnwrittenError(`Cannot write '${this.#path}': ${reason}`, { cause });
    }
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]();
  }
}

async function requireOther(path: string, source: string): Promise<void> {
  const real = await Deno.realPath(path).catch(() => undefined); // it need not be there
  const read = await Deno.realPath(source).catch(() => undefined); // a pipe has no path
  if (real === undefined || real !== read) return;
  throw new UsageError(`Cannot write '${path}' as it must not be the file that is read`);
}

async function goOn(
  path: string,
  finished: FinishedEpisodes,
  { tasks, onKept }: TrajectoryFileOptions,
): Promise<void> {
  await prepareResume(path, {
    onKept(trajectory) {
      finished.add(trajectory);
      onKept?.(trajectory);
    },
    onRead: async () => tasks && await finished.requireSame(tasks),
  });
}

/** The bytes of a file; 0 for what is none, such as a pipe. */
async function sizeOf(path: string): Promise<number> {
  try {
    const { isFile, size } = await Deno.stat(path);
    return isFile ? size : 0;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return 0;
    throw error;
  }
}
