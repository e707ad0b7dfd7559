import { dirname } from "node:path";
import { errorMessage } from "../../errors.ts";
import { toWellFormedJson } from "../../json.ts";
import { type Line, readLines } from "../../read_lines.ts";
import type { Task } from "../../task.ts";
import { rethrowAsUsageError, toUsageError, UnwrittenError, UsageError } from "../errors.ts";
import { writeText } from "../output.ts";

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
 * Opens a file for episodes, and makes the folder that it is in.
 *
 * @throws {UsageError} when it cannot be written, holds something, is the source, is named as a compressed one, or cannot be resumed.
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
      const ways = mayResume ? "--resume to go on, or --force" : "--force to throw that away";
      throw new UsageError(`Cannot write '${path}' as it holds something: give ${ways}`);
    }
    if (holdsSomething && resume) await prepareResume(path, kind, options);
    return await Deno.open(path, { create: true, append: resume, write: true, truncate: !resume });
  }, { prefix: `Cannot write '${path}'` });
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

const MAX_LINE_BYTES = 256 * 1024 * 1024;

/** Format of the lines of a file of episodes. */
export interface EpisodeKind<T> {
  /** Prefix of each line that Paddock writes. Other lines may be a user's notes and are not discarded. */
  readonly beginning: string;
  /** Takes a line's value, or throws. */
  parse(value: unknown): T;
  /** False for an episode that failed, as it is to be played again. */
  keeps(episode: T): boolean;
}

/** Who is told of the episodes of a file before it is changed; what they throw keeps it as it is. */
export interface ResumeOptions<T> {
  /** Told of each that stays. */
  onKeep: (episode: T) => void;
  /** Told of each that goes. */
  onDrop?: ((episode: T) => void) | undefined;
  /** Called when all were read. */
  onRead?: (() => Promise<void>) | undefined;
}

interface ReadLine<T> {
  readonly text: string;
  readonly episode: T;
}

/**
 * Makes a file of episodes ready to be gone on with: a last line that was cut off goes, and so do episodes that
 * failed, for they are to be played again.
 *
 * @throws {UsageError} when a line is no episode; the file is then as it was.
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
    await Deno.remove(copy).catch(() => {}); // it took the file's place, or was never made
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

/** The episode of a line; `undefined` for one that was cut off. */
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
  // Cut off within a character, a line is no UTF-8 and its text is not there to be looked at.
  return "fault" in line || line.text.startsWith(beginning) || beginning.startsWith(line.text);
}
