import { Command } from "commander";
import { mapConcurrently } from "../../async/map_concurrently.ts";
import type { Grader } from "../../rewards/grader.ts";
import { shortenTrajectory, toEpisodeRow } from "../../rollout/episode/episode_row.ts";
import { gradeTrajectory } from "../../rollout/grade_trajectory.ts";
import type { Trajectory } from "../../rollout/trajectory.ts";
import { Summary } from "../rollout/report/summary.ts";
import { SummaryTable } from "../rollout/report/summary_table.ts";
import { escapeJsonControls } from "../../terminal_text.ts";
import { EXIT, runCommand } from "../run_command.ts";
import { GRADERS } from "../../rewards/registry.ts";
import { chooseGraders, type GraderFlags, openGraders } from "../rollout/graders.ts";
import { requireReadable, toInputPath } from "../input.ts";
import { argumentsOf } from "../option_table.ts";
import { collectValues, formatNames, nameOption, parseWholeNumber } from "../options.ts";
import { ALLOW_HELP } from "../rollout/plugins.ts";
import { pythonProfileOption } from "../rollout/python_files.ts";
import { flagsOf, profileOption, resolveProfile, type SandboxFlags } from "../sandbox_options.ts";
import { recordGrade } from "../rollout/run_settings.ts";
import { readSavedEpisodes, TrajectoryFile } from "../rollout/trajectory_file.ts";
import { UsageError } from "../cli_errors.ts";
import { timeScaleOption, withTimeScale } from "../time_scale.ts";
import { ignoreBrokenPipe, writeText } from "../output.ts";
import { currentIo, type TextSink } from "../io.ts";

interface GradeFlags extends SandboxFlags, GraderFlags {
  /** Values of `--grader`, such as `gsm8k=0.8`. */
  grader?: readonly string[];
  out?: string;
  force?: boolean;
  json?: boolean;
  concurrency: number;
  /** Value of `--time-scale`. */
  timeScale?: string;
}

const NOTES = `
The score replaces the reward of an episode. Episodes that failed stay unscored.

Examples:
  paddock grade runs/a.jsonl --grader number_match --out runs/a.graded.jsonl
  paddock grade runs/a.jsonl --grader ./my_grader.py
  paddock grade runs/a.jsonl --grader ./my_grader.ts --grader-allow read=words.txt

Exit codes: 0 all episodes were graded, 1 an episode had failed, is damaged or could not be graded, 2 wrong usage or an
unreadable file, 74 cannot write the --out file, 125 the sandbox failed, 130 interrupted.`;

/** Returns the command `grade`, which scores saved episodes without playing them. */
export function gradeCommand(): Command {
  return new Command("grade")
    .description("Score saved episodes without playing them")
    .argument("<file>", "JSON lines written by rollout --out; - reads stdin")
    .addOption(
      nameOption(
        "--grader <name>",
        "grader, or a file like ./g.ts or ./g.py; needed, repeatable with weights, as in gsm8k=0.8",
        Object.keys(GRADERS),
      ).argParser(collectValues),
    )
    .option(
      "--grader-allow <permission>",
      `permission of that file in TypeScript: ${ALLOW_HELP}`,
      collectValues,
    )
    .option("--judge <policy>", "policy of the grader 'judge': openai:URL or sglang:URL")
    .option("--judge-model <name>", "model name sent to the server of --judge")
    .option("--out <file>", "write the episodes with their new rewards to this file")
    .option("--force", "overwrite the --out file")
    .option("--json", "print one JSON line per episode to stdout, the table to stderr")
    .option(
      "--concurrency <n>",
      "episodes graded at the same time",
      parseWholeNumber(1),
      Math.max(2, navigator.hardwareConcurrency),
    )
    .addOption(profileOption())
    .addOption(pythonProfileOption())
    .addOption(timeScaleOption())
    .addHelpText("after", formatNames("Graders", GRADERS) + NOTES)
    .action(async (file: string, _: object, command: Command) => {
      await runCommand((signal) =>
        runGrade(toInputPath(file), { ...flagsOf<GradeFlags>(command), args: argumentsOf(command) }, signal)
      );
    });
}

async function runGrade(
  file: string,
  { args, ...flags }: GradeFlags & { args: readonly string[] },
  signal: AbortSignal,
): Promise<number> {
  const { concurrency: size } = flags;
  if (flags.grader === undefined) {
    const names = Object.keys(GRADERS).join(", ");
    throw new UsageError(`Cannot grade as it needs a grader: give --grader NAME, one of ${names}`);
  }
  const graders = chooseGraders(flags.grader, flags);
  if (graders.length === 0) throw noGraderError();
  const profile = await withTimeScale(await resolveProfile(flags, signal), { ...flags, signal });
  await requireReadable(file);
  await using stack = new AsyncDisposableStack();
  const grader = await openGraders(graders, flags, { profile, size, stack, signal });
  if (grader === undefined) throw noGraderError();
  // Opening truncates the file, so the opening comes after everything else that can fail.
  using out = flags.out === undefined
    ? undefined
    : await TrajectoryFile.open(flags.out, { force: flags.force, source: file });
  const stdout = out === undefined ? currentIo().stdout : ignoreBrokenPipe(currentIo().stdout);
  if (flags.out !== undefined) await recordGrade(flags.out, { source: file, flags, args });
  const sinks = { out, stdout: flags.json ? stdout : undefined };
  const { timeScale } = profile;
  const { summary, table, damaged } = await gradeFile(file, {
    grader,
    timeScale,
    concurrency: size,
    signal,
    ...sinks,
  });
  if (summary.episodes === 0 && damaged === 0) {
    throw new UsageError(`Cannot grade '${file}' as it must have at least one episode: it has none`);
  }
  await writeText(flags.json ? currentIo().stderr : stdout, table.format() + summary.formatTable());
  return summary.failed + damaged > 0 ? EXIT.error : EXIT.ok;
}

function noGraderError(): UsageError {
  return new UsageError("Cannot grade with 'none': give --grader NAME");
}

async function gradeFile(
  file: string,
  options: {
    grader: Grader;
    timeScale: number | undefined;
    concurrency: number;
    out: TrajectoryFile | undefined;
    stdout: TextSink | undefined;
    signal: AbortSignal;
  },
): Promise<{ summary: Summary; table: SummaryTable; damaged: number }> {
  const { grader, timeScale, concurrency, out, stdout, signal } = options;
  const summary = new Summary();
  const table = new SummaryTable();
  const grade = (trajectory: Trajectory, signal: AbortSignal) =>
    gradeTrajectory(trajectory, grader, { timeScale, signal });
  let damaged = 0;
  const graded = mapConcurrently(readSavedEpisodes(file, { onDamage: () => damaged++ }), grade, {
    concurrency,
    ordered: true,
    signal,
  });
  for await (const trajectory of graded) {
    summary.add(trajectory);
    table.add(trajectory);
    await out?.write(trajectory);
    if (stdout !== undefined) {
      await writeText(
        stdout,
        `${escapeJsonControls(toEpisodeRow(trajectory, { shorten: shortenTrajectory }))}\n`,
      );
    }
  }
  return { summary, table, damaged };
}
