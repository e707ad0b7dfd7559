import { Command } from "commander";
import type { Trajectory } from "../rollout/trajectory.ts";
import { EXIT, runCommand } from "./command.ts";
import { requireReadable, toInputPath } from "./input.ts";
import { flagsOf } from "./sandbox_options.ts";
import { readSavedEpisodes } from "./rollout/trajectory_file.ts";
import { wantsColour, writeText } from "./output.ts";
import { formatTranscript } from "./transcript.ts";
import { parseWholeNumber } from "./options.ts";
import { currentIo } from "./io.ts";

interface ViewFlags {
  id?: string;
  failed?: boolean;
  wrong?: boolean;
  n?: number;
}

const NOTES = `
Examples:
  paddock view runs/a.jsonl --wrong --n 3
  paddock view runs/a.jsonl --id paint | less

Exit codes: 0 something was shown, 1 no episode fits, 2 wrong usage or a file that cannot be read.`;

/** The command `view`: shows saved episodes to a person. */
export function viewCommand(): Command {
  return new Command("view")
    .description("Show the episodes of a file")
    .argument("<file>", "the JSON lines that rollout --out has written; - is the standard input")
    .option("--id <id>", "only the episodes of this task")
    .option("--failed", "only episodes that failed at a boundary")
    .option("--wrong", "only episodes whose reward is below 1")
    .option("--n <n>", "no more than n of them", parseWholeNumber(1))
    .addHelpText("after", NOTES)
    .action(async (file: string, _: object, command: Command) => {
      await runCommand((signal) => runView(toInputPath(file), flagsOf(command), signal));
    });
}

async function runView(file: string, flags: ViewFlags, signal: AbortSignal): Promise<number> {
  await requireReadable(file);
  const { n: most = Infinity } = flags;
  let shown = 0;
  for await (const trajectory of readSavedEpisodes(file)) {
    signal.throwIfAborted();
    if (!isWanted(trajectory, flags)) continue;
    await writeText(currentIo().stdout, formatTranscript(trajectory, { colour: wantsColour() }));
    if (++shown >= most) break;
  }
  if (shown === 0) await writeText(currentIo().stderr, "No episode fits\n");
  return shown === 0 ? EXIT.error : EXIT.ok;
}

function isWanted({ task, error, reward }: Trajectory, { id, failed, wrong }: ViewFlags): boolean {
  if (id !== undefined && task.id !== id) return false;
  if (failed && error === undefined) return false;
  return !wrong || (reward !== null && reward < 1);
}
