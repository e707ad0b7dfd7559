import { errorMessage } from "../errors.ts";
import { type Line, readLines } from "../read_lines.ts";
import { UsageError } from "./usage_error.ts";
import { writeText } from "./write_text.ts";

const MAX_LINE_BYTES = 256 * 1024 * 1024;

/** What the lines of a file of episodes are. */
export interface EpisodeKind<T> {
  /** How each line of ours begins: what does not may be somebody's notes, and is not thrown away. */
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
    const reason = errorMessage(cause);
    throw new UsageError(`Cannot resume as ${line.place} must be an episode: ${reason}`, { cause });
  }
}

function isTorn<T>(line: Line, { beginning }: EpisodeKind<T>): boolean {
  // Cut off within a character, a line is no UTF-8 and its text is not there to be looked at.
  return "fault" in line || line.text.startsWith(beginning) || beginning.startsWith(line.text);
}
