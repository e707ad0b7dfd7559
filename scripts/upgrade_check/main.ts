import { Command, CommanderError } from "commander";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { EXIT, runCommand } from "../../src/cli/command.ts";
import { UsageError } from "../../src/cli/errors.ts";
import { writeText } from "../../src/cli/output.ts";
import { formatReport, type Outcome } from "./report.ts";
import { SUBJECTS } from "./subjects.ts";
import { checkPublished, Trial } from "./trial.ts";
import { readVersions, type Versions } from "./versions.ts";

/**
 * Tries other versions of Pyodide and Deno in a copy of the clone, and prints what broke:
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
Exit codes: 0 nothing broke, 1 something broke, 2 wrong usage, 130 interrupted.`;

function upgradeCheckCommand(): Command {
  return new Command("upgrade-check")
    .description("Try other versions of Pyodide and Deno in a copy of the clone, and print what broke")
    .option("--pyodide <version>", "version of npm's pyodide (default: the present one)")
    .option("--deno <version>", "version of npm's deno (default: the present one)")
    .option("--only <subject...>", "run the tests of these subjects only")
    .option("--keep", "keep the copy")
    .addHelpText("after", NOTES)
    .exitOverride()
    .action((flags: Flags) => runCommand((signal) => check(flags, signal)));
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
