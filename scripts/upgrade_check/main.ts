import { Command, CommanderError } from "commander";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { EXIT, runCommand } from "../../src/cli/run_command.ts";
import { UsageError } from "../../src/cli/cli_errors.ts";
import { writeText } from "../../src/cli/output.ts";
import pyodide from "pyodide/pyodide-lock.json" with { type: "json" };
import { checkPins, formatBehind, readPins, RegistryError } from "./behind.ts";
import { formatReport, type Outcome } from "./report.ts";
import { SUBJECTS } from "./subjects.ts";
import { checkPublished, Trial } from "./trial.ts";
import { readVersions, type Versions } from "./versions.ts";

/**
 * Prints which versions of the clone are behind those of npm and PyPI. With a version, tries it in a copy of the clone,
 * and prints what broke:
 *
 *     deno task upgrade-check [--pyodide X] [--deno Y] [--only SUBJECT…] [--keep]
 */

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

interface Flags {
  readonly pyodide?: string;
  readonly deno?: string;
  readonly only?: readonly string[];
  readonly keep?: boolean;
}

const NOTES = `
Subjects: ${Object.keys(SUBJECTS).join(", ")}.
Without options it compares the versions of the clone with the newest of npm and PyPI, and runs no test.
Exit codes: 0 nothing is behind or broke, 1 something is or did, 2 wrong usage, 3 a registry does not answer,
130 interrupted.`;

function upgradeCheckCommand(): Command {
  return new Command("upgrade-check")
    .description(
      "Print the versions that are behind, or try others in a copy of the clone and print what broke",
    )
    .option("--pyodide <version>", "version of npm's pyodide (default: the present one)")
    .option("--deno <version>", "version of npm's deno (default: the present one)")
    .option("--only <subject...>", "run the tests of these subjects only")
    .option("--keep", "keep the copy")
    .addHelpText("after", NOTES)
    .exitOverride()
    .action((flags: Flags) =>
      runCommand((signal) => Object.keys(flags).length === 0 ? printBehind(signal) : check(flags, signal))
    );
}

/** Exit code if a registry does not answer, so that nothing is known about versions. */
const UNANSWERED = 3;

async function printBehind(signal: AbortSignal): Promise<number> {
  try {
    const pins = await checkPins(await readPins(ROOT), { signal });
    await writeText(Deno.stdout, formatBehind(pins, pyodide.info));
    return pins.some(({ version, newest }) => version !== newest) ? EXIT.error : EXIT.ok;
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    await print(`error: ${error.message}\n`);
    return UNANSWERED;
  }
}

async function check(flags: Flags, signal: AbortSignal): Promise<number> {
  const present = await readVersions(ROOT);
  const versions = { deno: flags.deno ?? present.deno, pyodide: flags.pyodide ?? present.pyodide };
  const subjects = selectSubjects(flags.only);
  await checkPublished("deno", versions.deno, signal);
  await checkPublished("pyodide", versions.pyodide, signal);
  await print(`Deno ${change(present, versions, "deno")}, Pyodide ${change(present, versions, "pyodide")}\n`);
  const folder = join(ROOT, ".paddock", "upgrade-check", `deno-${versions.deno}-pyodide-${versions.pyodide}`);
  await using trial = await Trial.create({ root: ROOT, folder, versions, keep: flags.keep ?? false, signal });
  const outcomes: Outcome[] = [];
  try {
    for (const step of trial.steps(subjects)) {
      await print(`${step.name} …\n`);
      const outcome = await step.run();
      outcomes.push(outcome);
      if (outcome.failed > 0 && step.isNeeded) break;
    }
  } finally {
    if (outcomes.length > 0) await writeText(Deno.stdout, `\n${formatReport(outcomes)}`);
    await print(`Output of each step: ${trial.logs}\n`);
  }
  return outcomes.some(({ failed }) => failed > 0) ? EXIT.error : EXIT.ok;
}

function selectSubjects(only: readonly string[] | undefined): Readonly<Record<string, readonly string[]>> {
  if (only === undefined) return SUBJECTS;
  for (const name of only) {
    if (Object.hasOwn(SUBJECTS, name)) continue;
    const names = Object.keys(SUBJECTS).join(", ");
    throw new UsageError(`Cannot check '${name}' as '--only' must be one of ${names}`);
  }
  return Object.fromEntries(Object.entries(SUBJECTS).filter(([name]) => only.includes(name)));
}

function change(present: Versions, next: Versions, of: keyof Versions): string {
  return present[of] === next[of] ? `${next[of]} (present)` : `${present[of]} → ${next[of]}`;
}

async function print(text: string): Promise<void> {
  await writeText(Deno.stderr, text);
}

try {
  await upgradeCheckCommand().parseAsync(Deno.args, { from: "user" });
} catch (error) {
  if (error instanceof CommanderError) Deno.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  else throw error;
}
