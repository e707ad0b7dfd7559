import { dirname } from "node:path";
import { errorMessage } from "../errors.ts";
import type { Task } from "../task.ts";
import { toWellFormedJson } from "../json.ts";
import { type EpisodeKind, prepareResume, type ResumeOptions } from "./resume.ts";
import { UsageError } from "./usage_error.ts";
import { writeText } from "./write_text.ts";

/** What becomes of the episodes that a file holds already. */
export interface EpisodeFileOptions<T> {
  /** They stay, but for those that failed, and are not played again. */
  resume?: boolean | undefined;
  /** They are thrown away. Without this or `resume`, a file that holds something is refused. */
  force?: boolean | undefined;
  /** Whether its command has a `--resume`, for messages. */
  mayResume?: boolean | undefined;
  /** The file that is read while this one is written. */
  source?: string | undefined;
  /** Told of each episode that stays. */
  onKeep?: ((episode: T) => void) | undefined;
}

/** An episode could not be written: what was played is not to be played for nothing, so the run ends. */
export class UnwrittenError extends Error {
  override readonly name = "UnwrittenError";
}

/** A file that episodes are written to, one JSON line each. */
export abstract class EpisodeFile<T> implements Disposable {
  readonly #path: string;
  readonly #file: Deno.FsFile;
  /** Settled when what was to be written is. */
  #written: Promise<void> = Promise.resolve();

  constructor(path: string, file: Deno.FsFile) {
    this.#path = path;
    this.#file = file;
  }

  /** Whether the file held this episode; where two tasks are the same, each is asked for on its own. */
  abstract takeFinished(task: Task, sample: number): boolean;

  /**
   * Writes an episode behind the others.
   *
   * @throws {UnwrittenError} when it cannot, as on a disk that is full.
   */
  write(episode: T): Promise<void> {
    const written = this.#written.then(() => this.#writeLine(`${toWellFormedJson(episode)}\n`));
    this.#written = written.catch(() => {}); // whoever wrote it is told
    return written;
  }

  async #writeLine(line: string): Promise<void> {
    try {
      await writeText(this.#file, line);
    } catch (cause) {
      const reason = errorMessage(cause);
      throw new UnwrittenError(`Cannot write '${this.#path}': ${reason}`, { cause });
    }
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]();
  }
}

/**
 * Opens a file for episodes, and makes the folder that it is in.
 *
 * @throws {UsageError} when it cannot be written, holds something, is the source, is named as a compressed one, or cannot be gone on with.
 */
export async function openEpisodeFile<T>(
  path: string,
  kind: EpisodeKind<T>,
  options: Omit<EpisodeFileOptions<T>, "onKept"> & ResumeOptions<T>,
): Promise<Deno.FsFile> {
  const { resume = false, force = false, mayResume = false, source } = options;
  try {
    requirePlain(path);
    if (source !== undefined) await requireOther(path, source);
    await Deno.mkdir(dirname(path), { recursive: true });
    const holdsSomething = await sizeOf(path) > 0;
    if (holdsSomething && !resume && !force) {
      const ways = mayResume ? "--resume to go on, or --force" : "--force to throw that away";
      throw new UsageError(`Cannot write '${path}' as it holds something: give ${ways}`);
    }
    if (holdsSomething && resume) await prepareResume(path, kind, options);
    return await Deno.open(path, { create: true, append: resume, write: true, truncate: !resume });
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    const reason = errorMessage(cause);
    throw new UsageError(`Cannot write '${path}': ${reason}`, { cause });
  }
}

/** Whoever reads a file of that name takes it for a compressed one. */
function requirePlain(path: string): void {
  if (!path.endsWith(".gz")) return;
  throw new UsageError(`Cannot write '${path}' as lines are written as they are: give a name without '.gz'`);
}

async function requireOther(path: string, source: string): Promise<void> {
  const real = await Deno.realPath(path).catch(() => undefined); // it need not be there
  const read = await Deno.realPath(source).catch(() => undefined); // a pipe has no path
  if (real === undefined || real !== read) return;
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
