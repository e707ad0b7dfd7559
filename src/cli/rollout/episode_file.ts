import { dirname } from "node:path";
import { errorMessage } from "../../errors.ts";
import { type Line, readLines } from "../../read_lines.ts";
import { type EpisodeRowOptions, MAX_ROW_BYTES, toEpisodeRow } from "../../rollout/episode/episode_row.ts";
import type { Task } from "../../task.ts";
import { rethrowAsUsageError, toUsageError, UnwrittenError, UsageError } from "../cli_errors.ts";
import { currentIo } from "../io.ts";
import { escapeLine } from "../../terminal_text.ts";
import { writeText } from "../output.ts";

/** Options of {@linkcode openEpisodeFile}. */
export interface EpisodeFileOptions<T> {
  /** Keeps existing episodes, except failed ones, and does not play them again. */
  resume?: boolean | undefined;
  /** Discards existing episodes. Without `force` or `resume`, a file with content is refused. */
  force?: boolean | undefined;
  /** True if the command has a flag `--resume`, for messages. */
  mayResume?: boolean | undefined;
  /** File that is read while this file is written. */
  source?: string | undefined;
  /** Called with each episode that is kept. */
  onKeep?: ((episode: T) => void) | undefined;
}

/** File of episodes, a JSON line each. */
export abstract class EpisodeFile<T> implements Disposable {
  readonly #path: string;
  readonly #file: Deno.FsFile;
  readonly #kind: EpisodeKind<T>;
  /** Resolves after the last write. */
  #written: Promise<void> = Promise.resolve();

  constructor(path: string, { file, kind }: { file: Deno.FsFile; kind: EpisodeKind<T> }) {
    this.#path = path;
    this.#file = file;
    this.#kind = kind;
  }

  /** Returns true if the file had this episode, and counts the episode. Equal tasks are counted separately. */
  abstract takeFinished(task: Task, sample: number): boolean;

  /**
   * Appends an episode.
   *
   * @throws {UnwrittenError} if the episode cannot be written, for example on a full disk.
   */
  write(episode: T): Promise<void> {
    const written = this.#written.then(() => this.#writeLine(`${toEpisodeRow(episode, this.#kind)}\n`));
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
 * Opens a file for episodes and creates the folder.
 *
 * @throws {UsageError} if the file cannot be written or resumed, has content, is the source, or has the name of a
 * compressed file.
 */
export async function openEpisodeFile<T>(
  path: string,
  kind: EpisodeKind<T>,
  options: EpisodeFileOptions<T> & ResumeCallbacks<T>,
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

/** Returns the size of a file in bytes; 0 for anything but a regular file, for example a pipe. */
async function sizeOf(path: string): Promise<number> {
  try {
    const { isFile, size } = await Deno.stat(path);
    return isFile ? size : 0;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return 0;
    throw error;
  }
}

/** Format of the lines of a file of episodes. */
export interface EpisodeKind<T> extends EpisodeRowOptions<T> {
  /** Prefix of each line that Paddock writes. */
  readonly beginning: string;
  /** Newest version of the format that {@linkcode parse} accepts. */
  readonly format: number;
  /** Parses the value of a line. */
  parse(value: unknown): T;
  /** Returns false for a failed episode, which is played again. */
  keeps(episode: T): boolean;
}

/** Callbacks that receive the episodes of a file before a change. If a callback throws, the file is unchanged. */
export interface ResumeCallbacks<T> {
  /** Called with each episode that is kept. */
  onKeep: (episode: T) => void;
  /** Called with each episode that is dropped. */
  onDrop?: ((episode: T) => void) | undefined;
  /** Called after the last episode. */
  onRead?: (() => Promise<void>) | undefined;
}

type ReadLine<T> =
  | { readonly text: string; readonly episode: T }
  /** The line was cut off during the write. */
  | { readonly isTorn: true }
  | { readonly damage: unknown };

/** Maximum number of damaged lines that are described. */
const MAX_DESCRIBED = 10;

/**
 * Prepares a file of episodes for `--resume`: removes a partial last line, failed episodes and damaged lines, which are
 * played again. A file with damaged lines is kept as `FILE.damaged`, and stderr names them.
 *
 * @throws {UsageError} if the file has another format, or a newer version of the format; the file is then unchanged.
 */
export async function prepareResume<T>(
  path: string,
  kind: EpisodeKind<T>,
  { onKeep, onDrop, onRead }: ResumeCallbacks<T>,
): Promise<void> {
  let isWhole = true;
  let isKnown = false;
  const damages: unknown[] = [];
  for await (const line of linesOf(path)) {
    const read = readLine(line, kind);
    const isKept = "episode" in read && kind.keeps(read.episode);
    if (!isKept || line.unended) isWhole = false;
    if ("episode" in read) (isKept ? onKeep : onDrop)?.(read.episode);
    if ("damage" in read) damages.push(read.damage);
    isKnown ||= "episode" in read ||
      "damage" in read && ("fault" in line || line.text.startsWith(kind.beginning));
  }
  if (damages.length > 0 && !isKnown) throw damages[0];
  await onRead?.();
  if (isWhole) return;
  const copy = `${path}.resume`;
  try {
    using target = await Deno.create(copy);
    for await (const line of linesOf(path)) {
      const read = readLine(line, kind);
      if ("episode" in read && kind.keeps(read.episode)) await writeText(target, `${read.text}\n`);
    }
    if (damages.length > 0) await keepDamaged(path, damages);
    await Deno.rename(copy, path);
  } finally {
    await Deno.remove(copy).catch(() => {}); // the draft was renamed to the file, or never created
  }
}

/** Renames a damaged file and describes the damages on stderr. */
async function keepDamaged(path: string, damages: readonly unknown[]): Promise<void> {
  await Deno.rename(path, `${path}.damaged`);
  const described = damages.slice(0, MAX_DESCRIBED).map((damage) =>
    `warning: ${escapeLine(errorMessage(damage))}\n`
  );
  const text = `${described.join("")}warning: ${damages.length} damaged ${
    damages.length === 1 ? "row is" : "rows are"
  } left out and played again. The file is kept as ${escapeLine(path)}.damaged\n`;
  await writeText(currentIo().stderr, text).catch(() => {}); // stderr is closed
}

async function* linesOf(path: string): AsyncGenerator<Line & { place: string }> {
  using file = await Deno.open(path);
  let number = 0;
  for await (const line of readLines(file.readable, { maxBytes: MAX_ROW_BYTES })) {
    number++;
    if ("fault" in line || line.text.trim() !== "") yield { ...line, place: `${path}:${number}` };
  }
}

/** @throws {UsageError} at an episode of a newer version of the format. */
function readLine<T>(line: Line & { place: string }, kind: EpisodeKind<T>): ReadLine<T> {
  let value: unknown;
  try {
    if ("fault" in line) throw new SyntaxError(line.fault);
    value = JSON.parse(line.text);
    return { text: line.text, episode: kind.parse(value) };
  } catch (cause) {
    if (line.unended && isTorn(line, kind)) return { isTorn: true };
    const damage = toUsageError(cause, { prefix: `Cannot resume as ${line.place} must be an episode` });
    if (Object(value).format > kind.format) throw damage;
    return { damage };
  }
}

function isTorn<T>(line: Line, { beginning }: EpisodeKind<T>): boolean {
  // a line that was cut within a character is not UTF-8 and has no text
  return "fault" in line || line.text.startsWith(beginning) || beginning.startsWith(line.text);
}
