import { requireKnownOptions } from "../options.ts";
import { errorMessage } from "../errors.ts";
import { type Line, readLines } from "../read_lines.ts";
import type { Trajectory } from "./trajectory.ts";
import { MAX_ROW_BYTES } from "./episode/episode_row.ts";
import { parseTrajectory } from "./trajectory_schema.ts";

/** Options of {@linkcode readTrajectories}. */
export interface ReadTrajectoriesOptions {
  /** Called with a warning if the last line is incomplete and was dropped. */
  onWarning?: ((warning: string) => void) | undefined;
  /** Called with the error of each complete line that is not an episode. The line is then skipped. */
  onDamage?: ((error: SyntaxError) => void) | undefined;
}

/**
 * Reads a file of episodes, a JSON line each, in the form of `paddock rollout --out`. Empty lines are skipped. An
 * incomplete last line, which a killed run may leave, is dropped with a warning.
 *
 * @throws {SyntaxError} at a complete line that is not an episode, without `onDamage`; the message has the file and the
 * line number.
 */
export async function* readTrajectories(
  path: string,
  options: ReadTrajectoriesOptions = {},
): AsyncGenerator<Trajectory> {
  requireKnownOptions("call readTrajectories", options, { onWarning: true, onDamage: true });
  using file = await Deno.open(path);
  let number = 0;
  for await (const line of readLines(file.readable, { maxBytes: MAX_ROW_BYTES })) {
    number++;
    if ("text" in line && line.text.trim() === "") continue;
    const parsed = parseLine(line);
    if ("trajectory" in parsed) yield parsed.trajectory;
    else if (!line.unended) {
      const error = new SyntaxError(`Cannot read episode at ${path}:${number}: ${parsed.fault}`);
      if (options.onDamage === undefined) throw error;
      options.onDamage(error);
    } else options.onWarning?.(`The last line of ${path} was cut off: line ${number} is left out`);
  }
}

/** Parses the episode of a line, or returns the reason why the line is invalid. */
function parseLine(line: Line): { readonly trajectory: Trajectory } | { readonly fault: string } {
  if ("fault" in line) return line;
  try {
    return { trajectory: parseTrajectory(JSON.parse(line.text)) };
  } catch (error) {
    return { fault: errorMessage(error) };
  }
}
