import { Command, Option } from "commander";
import { resolve } from "node:path";
import { checkHarborTasks, type HarborCheck } from "../../envs/harbor/check.ts";
import { planFolder } from "../../envs/harbor/config/image_plan.ts";
import { preparationSteps } from "../../envs/harbor/session/prepare.ts";
import { currentIo } from "../io.ts";
import { toSinkText, writeText } from "../output.ts";
import { openHarborTasks } from "../rollout/envs/harbor.ts";
import { EXIT, runCommand } from "../run_command.ts";
import { flagsOf } from "../sandbox_options.ts";

interface CheckFlags {
  json?: boolean;
  cacheDir?: string;
  yes?: boolean;
}

const NOTES = `
Examples:
  paddock harbor check ~/tasks
  paddock rollout --harbor ~/tasks --policy scripted
  paddock harbor image ~/tasks/one/environment

A folder has a task.toml, or folders with a task.toml. A check reads the settings, the Dockerfile and the scripts of a
task, resolves its packages, looks for the commands of its scripts, and makes the image.

Exit codes: 0 all tasks run here, 1 a task does not, 2 wrong usage, 125 the sandbox failed, 130 interrupted.`;

/** Returns the command `harbor`, which reads tasks in Harbor's format. */
export function harborCommand(): Command {
  const command = new Command("harbor")
    .description("Check whether tasks in Harbor's format run in the sandbox")
    .addHelpText("after", NOTES);
  command.addCommand(
    new Command("check").description("print for each task whether it runs here, and why not")
      .argument("<dir>", "folder of a task, or of tasks")
      .addOption(new Option("--json", "print one JSON line per task"))
      .action((folder: string, _: object, self: Command) =>
        runCommand((signal) => runCheck(folder, flagsOf(self), signal))
      ),
  );
  command.addCommand(
    new Command("image").description("print what a folder with a Dockerfile means for a session, as JSON")
      .argument("<dir>", "folder of the Dockerfile")
      .addOption(new Option("--image <name>", "image of a folder without a Dockerfile"))
      .action((folder: string, _: object, self: Command) =>
        runCommand(() => runImage(folder, self.opts<{ image?: string }>()))
      ),
  );
  return command;
}

/** Prints the steps that bring a session to the state of an image. Environments of other programs run them. */
async function runImage(folder: string, { image }: { image?: string }): Promise<number> {
  const { plan, faults, notes } = await planFolder(resolve(folder), image);
  const { workdir, requirements } = plan;
  const { stdout } = currentIo();
  const steps = preparationSteps(plan);
  await writeText(stdout, `${JSON.stringify({ workdir, requirements, faults, notes, steps })}\n`);
  return EXIT.ok;
}

async function runCheck(folder: string, flags: CheckFlags, signal: AbortSignal): Promise<number> {
  await using tasks = await openHarborTasks(folder, { ...flags, reset: "rewind" }, { sessions: 1, signal });
  const checks = await checkHarborTasks(tasks, { signal });
  const lines = checks.flatMap((check) => flags.json ? [JSON.stringify(check)] : linesOf(check));
  const running = checks.filter(({ runs }) => runs).length;
  const total = flags.json ? [] : [`${running} of ${checks.length} tasks run here`];
  const { stdout } = currentIo();
  await writeText(stdout, toSinkText(stdout, `${[...lines, ...total].join("\n")}\n`));
  return running === checks.length ? EXIT.ok : EXIT.error;
}

function linesOf({ id, runs, reasons, notes }: HarborCheck): string[] {
  const details = [...reasons, ...notes.map((note) => `note: ${note}`)];
  return [`${runs ? "runs" : "does not run"}  ${id}`, ...details.map((detail) => `  ${detail}`)];
}
