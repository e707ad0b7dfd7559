import { dirname } from "node:path";
import type { Trajectory } from "../rollout/trajectory.ts";
import type { Task } from "../task.ts";
import { prepareResume } from "./resume.ts";
import { UsageError } from "./usage_error.ts";
import { writeText } from "./write_text.ts";

/** What becomes of the episodes that a file holds already. */
export interface TrajectoryFileOptions {
  /** They stay, but for those that failed, and are not played again. */
  resume?: boolean | undefined;
  /** They are thrown away. Without this or `resume`, a file that holds something is refused. */
  force?: boolean | undefined;
  /** The file that is read while this one is written. */
  source?: string | undefined;
  /** Told of each episode that stays. */
  onKept?: ((trajectory: Trajectory) => void) | undefined;
}

/** A file that episodes are written to, one JSON line each. */
export class TrajectoryFile implements Disposable {
  readonly #file: Deno.FsFile;
  readonly #finished: Map<string, number>;
  /** Settled when what was to be written is. */
  #written: Promise<void> = Promise.resolve();

  private constructor(file: Deno.FsFile, finished: Map<string, number>) {
    this.#file = file;
    this.#finished = finished;
  }

  /**
   * Opens a file, and makes the folder that it is in.
   *
   * @throws {UsageError} when it cannot be written, holds something, is the source, or cannot be gone on with.
   */
  static async open(path: string, options: TrajectoryFileOptions = {}): Promise<TrajectoryFile> {
    const { resume = false, force = false, source, onKept } = options;
    const finished = new Map<string, number>();
    try {
      if (source !== undefined) await requireOther(path, source);
      await Deno.mkdir(dirname(path), { recursive: true });
      const holdsSomething = await sizeOf(path) > 0;
      if (holdsSomething && !resume && !force) {
        throw new UsageError(
          `Cannot write '${path}' as it holds something: give --resume to go on, or --force`,
        );
      }
      if (holdsSomething && resume) {
        await prepareResume(path, (trajectory) => {
          const key = keyOf(trajectory.task, trajectory.sample);
          finished.set(key, (finished.get(key) ?? 0) + 1);
          onKept?.(trajectory);
        });
      }
      const file = await Deno.open(path, { create: true, append: resume, write: true, truncate: !resume });
      return new TrajectoryFile(file, finished);
    } catch (cause) {
      if (cause instanceof UsageError) throw cause;
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new UsageError(`Cannot write '${path}': ${reason}`, { cause });
    }
  }

  /** Whether the file held this episode; where two tasks have one id, each is asked for on its own. */
  takeFinished(task: Task, sample: number): boolean {
    const key = keyOf(task, sample);
    const count = this.#finished.get(key) ?? 0;
    if (count > 1) this.#finished.set(key, count - 1);
    else this.#finished.delete(key);
    return count > 0;
  }

  /** Writes an episode behind the others. */
  write(trajectory: Trajectory): Promise<void> {
    const written = this.#written.then(() => writeText(this.#file, `${JSON.stringify(trajectory)}\n`));
    this.#written = written.catch(() => {}); // whoever wrote it is told
    return written;
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]();
  }
}

async function requireOther(path: string, source: string): Promise<void> {
  const real = await Deno.realPath(path).catch(() => undefined); // it need not be there
  if (real === undefined || real !== await Deno.realPath(source)) return;
  throw new UsageError(`Cannot write '${path}' as it must not be the file that is read`);
}

function keyOf({ id }: Task, sample: number): string {
  return `${sample} ${id}`;
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
