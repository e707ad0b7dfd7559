import { errorMessage } from "../errors.ts";
import { type Line, readLines } from "../read_lines.ts";
import type { Trajectory } from "./trajectory.ts";
import { parseTrajectory } from "./trajectory_schema.ts";

/** How {@linkcode readTrajectories} reads. */
export interface ReadTrajectoriesOptions {
  /** Told of a last line that was cut off, and dropped. */
  onWarning?: ((warning: string) => void) | undefined;
}

const MAX_LINE_BYTES = 256 * 1024 * 1024;

/**
 * Reads a file of episodes, one JSON line each, as `paddock rollout --out` writes them. Empty lines are passed
 * over. A last line that a killed run left half written is dropped with a warning.
 *
 * @throws {SyntaxError} at a whole line that is no episode, with the file and the line's number.
 */
export async function* readTrajectories(
  path: string,
  options: ReadTrajectoriesOptions = {},
): AsyncGenerator<Trajectory> {
  using file = await Deno.open(path);
  let number = 0;
  for await (const line of readLines(file.readable, { maxBytes: MAX_LINE_BYTES })) {
    number++;
    if ("text" in line && line.text.trim() === "") continue;
    const parsed = parseLine(line);
    if ("trajectory" in parsed) yield parsed.trajectory;
    else if (!line.unended) {
      throw new SyntaxError(`Cannot read episode at ${path}:${number}: ${parsed.fault}`);
    } else options.onWarning?.(`The last line of ${path} was cut off: line ${number} is left out`);
  }
}

/** The episode of a line, or why it is none. */
function parseLine(line: Line): { readonly trajectory: Trajectory } | { readonly fault: string } {
  if ("fault" in line) return line;
  try {
    return { trajectory: parseTrajectory(JSON.parse(line.text)) };
  } catch (error) {
    return { fault: errorMessage(error) };
  }
}
