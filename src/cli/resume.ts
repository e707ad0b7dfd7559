import { type Line, readLines } from "../read_lines.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { parseTrajectory } from "../rollout/trajectory_schema.ts";
import { UsageError } from "./usage_error.ts";
import { writeText } from "./write_text.ts";

const MAX_LINE_BYTES = 256 * 1024 * 1024;
/** How each line of ours begins: what does not may be somebody's notes, and is not thrown away. */
const BEGINNING = '{"task":';

interface Kept {
  readonly text: string;
  readonly trajectory: Trajectory;
}

/** Who is asked before {@linkcode prepareResume} changes anything; what they throw keeps it from doing so. */
export interface PrepareResumeOptions {
  /** Told of each episode that stays. */
  onKept: (trajectory: Trajectory) => void;
  /** Called when all were read. */
  onRead?: (() => Promise<void>) | undefined;
}

/**
 * Makes a file of episodes ready to be gone on with: a last line that was cut off goes, and so do episodes that
 * failed, for they are to be played again.
 *
 * @throws {UsageError} when a line is no episode; the file is then as it was.
 */
export async function prepareResume(path: string, options: PrepareResumeOptions): Promise<void> {
  const { onKept, onRead } = options;
  let isWhole = true;
  for await (const line of linesOf(path)) {
    const kept = keptOf(line);
    if (kept === undefined || line.unended) isWhole = false;
    if (kept !== undefined) onKept(kept.trajectory);
  }
  await onRead?.();
  if (isWhole) return;
  const copy = `${path}.resume`;
  try {
    using target = await Deno.create(copy);
    for await (const line of linesOf(path)) {
      const kept = keptOf(line);
      if (kept !== undefined) await writeText(target, `${kept.text}\n`);
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

/** What stays of a line; `undefined` when nothing does. */
function keptOf(line: Line & { place: string }): Kept | undefined {
  try {
    if ("fault" in line) throw new SyntaxError(line.fault);
    const trajectory = parseTrajectory(JSON.parse(line.text));
    return trajectory.error === undefined ? { text: line.text, trajectory } : undefined;
  } catch (cause) {
    if (line.unended && isTorn(line)) return undefined;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`Cannot resume as ${line.place} must be an episode: ${reason}`, { cause });
  }
}

function isTorn(line: Line): boolean {
  // Cut off within a character, a line is no UTF-8 and its text is not there to be looked at.
  return "fault" in line || line.text.startsWith(BEGINNING) || BEGINNING.startsWith(line.text);
}
