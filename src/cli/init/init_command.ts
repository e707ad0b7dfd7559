import { Command } from "commander";
import { join } from "node:path";
import { escapeControls } from "../../terminal_text.ts";
import { EXIT, runCommand } from "../run_command.ts";
import { rethrowAsUsageError, UsageError } from "../cli_errors.ts";
import { ioErrorText } from "../input.ts";
import { DENO_VERSION } from "../../version.ts";
import { currentIo } from "../io.ts";
import { writeText } from "../output.ts";
import { projectFiles, type ProjectLanguage } from "./templates.ts";

const NOTES = `
It writes a task file, an environment with its reward, a test that runs without a model, and a README. The task rollout
of the project plays the tasks in that environment. It changes no file that exists.

Examples:
  paddock init my-env
  paddock init --python my-env

Exit codes: 0 ok, 2 a file exists, or the folder cannot be written.`;

/** Returns the command `init`, which writes a small project. */
export function initCommand(): Command {
  return new Command("init")
    .description("Write a small project: tasks, an environment, a test")
    .argument("[dir]", "folder, which is created if it does not exist", ".")
    .option("--python", "write the environment and its test in Python")
    .addHelpText("after", NOTES)
    .action(async (folder: string, { python = false }: { python?: boolean }) => {
      await runCommand(() => runInit(folder, python ? "python" : "typescript"));
    });
}

async function runInit(folder: string, language: ProjectLanguage): Promise<number> {
  const files = projectFiles(language);
  for (const name of Object.keys(files)) {
    if (!await exists(join(folder, name))) continue;
    throw new UsageError(`Cannot write a project into '${folder}' as '${name}' exists: give another folder`);
  }
  await rethrowAsUsageError(async () => {
    await Deno.mkdir(folder, { recursive: true });
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(join(folder, name), text, { createNew: true });
    }
  }, { prefix: `Cannot write a project into '${folder}'`, describe: ioErrorText });
  const start = folder === "." ? "" : `cd ${folder} && `;
  const lines = [
    `Wrote ${Object.keys(files).join(", ")} into '${folder}'`,
    `Next: ${start}deno task test    (without Deno: ${start}npx -y deno@${DENO_VERSION} task test)`,
  ];
  await writeText(currentIo().stdout, `${escapeControls(lines.join("\n"))}\n`);
  return EXIT.ok;
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return false;
    throw new UsageError(`Cannot write '${path}': ${ioErrorText(error)}`, { cause: error });
  }
}
