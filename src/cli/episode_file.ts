import { dirname } from "node:path";
import type { Task } from "../task.ts";
import { type EpisodeKind, prepareResume, type ResumeOptions } from "./resume.ts";
import { UsageError } from "./usage_error.ts";
import { writeText } from "./write_text.ts";

/** What becomes of the episodes that a file holds already. */
export interface EpisodeFileOptions<T> {
  /** They stay, but for those that failed, and are not played again. */
  resume?: boolean | undefined;
  /** They are thrown away. Without this or `resume`, a file that holds something is refused. */
  force?: boolean | undefined;
  /** The file that is read while this one is written. */
  source?: string | undefined;
  /** Told of each episode that stays. */
  onKept?: ((episode: T) => void) | undefined;
}

/** The episodes that a file holds, by what names them: their sample and their task's id. */
export type Finished = Map<string, number>;

/** A file that episodes are written to, one JSON line each. */
export abstract class EpisodeFile<T> implements Disposable {
  readonly #file: Deno.FsFile;
  readonly #finished: Finished;

  constructor(file: Deno.FsFile, finished: Finished) {
    this.#file = file;
    this.#finished = finished;
  }

  /** Whether the file held this episode; where two tasks have one id, each is asked for on its own. */
  takeFinished(task: Task, sample: number): boolean {
    const key = episodeKey(task.id, sample);
    const count = this.#finished.get(key) ?? 0;
    if (count > 1) this.#finished.set(key, count - 1);
    else this.#finished.delete(key);
    return count > 0;
  }

  /** Writes an episode behind the others. */
  async write(episode: T): Promise<void> {
    await writeText(this.#file, `${JSON.stringify(episode)}\n`);
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]();
  }
}

/** What names an episode in a run. */
export function episodeKey(id: string, sample: number): string {
  return `${sample} ${id}`;
}

/**
 * Opens a file for episodes, and makes the folder that it is in.
 *
 * @throws {UsageError} when it cannot be written, holds something, is the source, or cannot be gone on with.
 */
export async function openEpisodeFile<T>(
  path: string,
  kind: EpisodeKind<T>,
  options: Omit<EpisodeFileOptions<T>, "onKept"> & ResumeOptions<T>,
): Promise<Deno.FsFile> {
  const { resume = false, force = false, source } = options;
  try {
    if (source !== undefined) await requireOther(path, source);
    await Deno.mkdir(dirname(path), { recursive: true });
    const holdsSomething = await sizeOf(path) > 0;
    if (holdsSomething && !resume && !force) {
      throw new UsageError(
        `Cannot write '${path}' as it holds something: give --resume to go on, or --force`,
      );
    }
    if (holdsSomething && resume) await prepareResume(path, kind, options);
    return await Deno.open(path, { create: true, append: resume, write: true, truncate: !resume });
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`Cannot write '${path}': ${reason}`, { cause });
  }
}

async function requireOther(path: string, source: string): Promise<void> {
  const real = await Deno.realPath(path).catch(() => undefined); // it need not be there
  if (real === undefined || real !== await Deno.realPath(source)) return;
  throw new UsageError(`Cannot write '${path}' as it must not be the file that is read`);
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
