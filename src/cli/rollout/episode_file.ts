import { dirname } from "node:path";
import { errorMessage } from "../../errors.ts";
import { toWellFormedJson } from "../../json.ts";
import { type Line, readLines } from "../../read_lines.ts";
import type { Task } from "../../task.ts";
import { rethrowAsUsageError, toUsageError, UnwrittenError, UsageError } from "../errors.ts";
import { writeText } from "../output.ts";

/** Options of {@linkcode openEpisodeFile}. */
export interface EpisodeFileOptions<T> {
  /** Keeps existing episodes, except failed ones, and does not play them again. */
  resume?: boolean | undefined;
  /** Discards existing episodes. Without `force` or `resume`, a file with content is refused. */
  force?: boolean | undefined;
  /** True if the command has a flag `--resume`, for messages. */
  mayResume?: boolean | undefined;
  /** File that is read while this one is written. */
  source?: string | undefined;
  /** Called with each episode that is kept. */
  onKeep?: ((episode: T) => void) | undefined;
}

/** File of episodes, one JSON line each. */
export abstract class EpisodeFile<T> implements Disposable {
  readonly #path: string;
  readonly #file: Deno.FsFile;
  /** Resolves after the last write. */
  #written: Promise<void> = Promise.resolve();

  constructor(path: string, file: Deno.FsFile) {
    this.#path = path;
    this.#file = file;
  }

  /** Returns true if the file had this episode, and counts it. Equal tasks are counted separately. */
  abstract takeFinished(task: Task, sample: number): boolean;

  /**
   * Appends an episode.
   *
   * @throws {UnwrittenError} if it cannot be written, for example on a full disk.
   */
  write(episode: T): Promise<void> {
    const written = this.#written.then(() => this.#writeLine(`${toWellFormedJson(episode)}\n`));
    this.#written = written.catch(() => {}); // the writer receives the error
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
 * Opens a file for episodes and creates its folder.
 *
 * @throws {UsageError} if the file cannot be written or resumed, has content, is the source, or has the name of a
 * compressed file.
 */
export async function openEpisodeFile<T>(
  path: string,
  kind: EpisodeKind<T>,
  options: Omit<EpisodeFileOptions<T>, "onKept"> & ResumeOptions<T>,
): Promise<Deno.FsFile> {
  const { resume = false, force = false, mayResume = false, source } = options;
  return await rethrowAsUsageError(async () => {
    requirePlain(path);
    if (source !== undefined) await requireOther(path, source);
    await Deno.mkdir(dirname(path), { recursive: true });
    const holdsSomething = await sizeOf(path) > 0;
    if (holdsSomething && !resume && !force) {
      const remedy = mayResume ? "--resume to continue it, or --force" : "--force to discard its contents";
      throw new UsageError(`Cannot write '${path}' as it is not empty: give ${remedy}`);
    }
    if (holdsSomething && resume) await prepareResume(path, kind, options);
    return await Deno.open(path, { create: true, append: resume, write: true, truncate: !resume });
  }, { prefix: `Cannot write '${path}'` });
}

/** Refuses names that readers take for compressed files. */
function requirePlain(path: string): void {
  if (!path.endsWith(".gz")) return;
  throw new UsageError(`Cannot write '${path}' as files are not compressed: give a name without '.gz'`);
}

async function requireOther(path: string, source: string): Promise<void> {
  const real = await Deno.realPath(path).catch(() => undefined); // the file may not exist
  const read = await Deno.realPath(source).catch(() => undefined); // a pipe has no path
  if (real === undefined || real !== read) return;
  throw new UsageError(`Cannot write '${path}' as it must not be the file that is read`);
}

/** Returns the size of a file in bytes; 0 if it is not a regular file, for example a pipe. */
async function sizeOf(path: string): Promise<number> {
  try {
    const { isFile, size } = await Deno.stat(path);
    return isFile ? size : 0;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return 0;
    throw error;
  }
}

const MAX_LINE_BYTES = 256 * 1024 * 1024;

/** Format of the lines of a file of episodes. */
export interface EpisodeKind<T> {
  /** Prefix of each line that Paddock writes. Other lines may be a user's notes and are not discarded. */
  readonly beginning: string;
  /** Parses the value of a line. */
  parse(value: unknown): T;
  /** Returns false for a failed episode, which is played again. */
  keeps(episode: T): boolean;
}

/** Callbacks that receive the episodes of a file before it is changed. If one throws, the file is unchanged. */
export interface ResumeOptions<T> {
  /** Called with each episode that is kept. */
  onKeep: (episode: T) => void;
  /** Called with each episode that is dropped. */
  onDrop?: ((episode: T) => void) | undefined;
  /** Called after the last episode. */
  onRead?: (() => Promise<void>) | undefined;
}

interface ReadLine<T> {
  readonly text: string;
  readonly episode: T;
}

/**
 * Prepares a file of episodes for `--resume`: removes a partial last line and failed episodes, which are played
 * again.
 *
 * @throws {UsageError} if a line is not an episode; the file is then unchanged.
 */
export async function prepareResume<T>(
  path: string,
  kind: EpisodeKind<T>,
  { onKeep: onKept, onDrop: onDropped, onRead }: ResumeOptions<T>,
): Promise<void> {
  let isWhole = true;
  for await (const line of linesOf(path)) {
    const read = readLine(line, kind);
    const isKept = read !== undefined && kind.keeps(read.episode);
    if (!isKept || line.unended) isWhole = false;
    if (read !== undefined) (isKept ? onKept : onDropped)?.(read.episode);
  }
  await onRead?.();
  if (isWhole) return;
  const copy = `${path}.resume`;
  try {
    using target = await Deno.create(copy);
    for await (const line of linesOf(path)) {
      const read = readLine(line, kind);
      if (read !== undefined && kind.keeps(read.episode)) await writeText(target, `${read.text}\n`);
    }
    await Deno.rename(copy, path);
  } finally {
    await Deno.remove(copy).catch(() => {}); // it was renamed to the file, or never created
  }
}

async function* linesOf(path: string): AsyncGenerator<Line & { place: string }> {
  using file = await Deno.open(path);
  let number = 0;
  for await (const line of readLines(file.readable, { maxBytes: MAX_LINE_BYTES })) {
    number++;
    if ("fault" in line || line.text.trim() !== "") yield { ...line, place: `${path}:${number}` };
  }
}

/** Returns the episode of a line, or `undefined` if the line was cut off. */
function readLine<T>(line: Line & { place: string }, kind: EpisodeKind<T>): ReadLine<T> | undefined {
  try {
    if ("fault" in line) throw new SyntaxError(line.fault);
    return { text: line.text, episode: kind.parse(JSON.parse(line.text)) };
  } catch (cause) {
    if (line.unended && isTorn(line, kind)) return undefined;
    throw toUsageError(cause, { prefix: `Cannot resume as ${line.place} must be an episode` });
  }
}

function isTorn<T>(line: Line, { beginning }: EpisodeKind<T>): boolean {
  // a line that was cut within a character is not UTF-8 and has no text
  return "fault" in line || line.text.startsWith(beginning) || beginning.startsWith(line.text);
}
