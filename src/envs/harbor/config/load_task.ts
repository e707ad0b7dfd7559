import { basename, join, resolve } from "node:path";
import { errorMessage } from "../../../errors.ts";
import {
  type CarriedPaths,
  type HarborSolution,
  type HarborTask,
  type RewardFileName,
  TESTS_FOLDER,
  type VerifierPlan,
} from "../task.ts";
import { carriedPaths } from "./carried_paths.ts";
import { type FolderFiles, listFolder, placeFiles, readFolder, readOptionalText } from "./folder_files.ts";
import { planFolder, type PlannedImage } from "./image_plan.ts";
import { type ScriptNeeds, scriptNeeds } from "./installs.ts";
import { scriptCommands } from "./script_commands.ts";
import {
  DEFAULT_ENVIRONMENT,
  type EnvironmentSettings,
  faultsOfSettings,
  memoryBytesOf,
  notesOfSettings,
  parseTaskSettings,
  type TaskSettings,
  withDefaults,
} from "./task_toml.ts";

/** Name of the file that makes a folder a task. */
const TASK_FILE = "task.toml";
/** Maximum size of a file that is searched for paths. */
const MAX_SEARCHED_BYTES = 256 * 1024;
const REWARD_FILES: readonly RewardFileName[] = ["reward.json", "reward.txt"];
const ARTIFACTS = "/logs/artifacts";

/**
 * Finds the folders of tasks: the folder itself, or the folders in the folder that have a `task.toml`.
 *
 * @throws {Deno.errors.NotFound} if there is no task.
 */
export async function findHarborTasks(folder: string): Promise<string[]> {
  if (await readOptionalText(join(folder, TASK_FILE)) !== undefined) return [resolve(folder)];
  const found: string[] = [];
  for (const { name, isDirectory } of await readFolder(folder)) {
    const path = join(folder, name);
    if (isDirectory && await readOptionalText(join(path, TASK_FILE)) !== undefined) found.push(resolve(path));
  }
  if (found.length > 0) return found.sort();
  throw new Deno.errors.NotFound(
    `Cannot find Harbor tasks in '${folder}' as the folder, or a folder in the folder, must have a ${TASK_FILE}: none has`,
  );
}

/**
 * Reads a task in Harbor's format. What does not run here is a fault of the task, and no error.
 *
 * @throws {Deno.errors.NotFound} if the folder has no `task.toml`.
 */
export async function loadHarborTask(folder: string): Promise<HarborTask> {
  const id = basename(resolve(folder));
  const text = await Deno.readTextFile(join(folder, TASK_FILE));
  try {
    return await readTask(folder, { id, settings: parseTaskSettings(text) });
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
    return unreadableTask(id, errorMessage(error));
  }
}

async function readTask(
  folder: string,
  { id, settings }: { id: string; settings: TaskSettings },
): Promise<HarborTask> {
  const parts = new TaskParts();
  parts.faults.push(...faultsOfSettings(settings));
  parts.notes.push(...notesOfSettings(settings));
  const instruction = await readOptionalText(join(folder, "instruction.md"));
  if (instruction === undefined) parts.faults.push("the folder has no instruction.md");
  const image = await parts.readImage(join(folder, "environment"), settings.environment);
  const tests = await parts.readFolder(join(folder, "tests"));
  const texts = await textsOf(tests);
  const isSeparate = settings.verifier.environment_mode === "separate" ||
    (settings.verifier.environment_mode !== "shared" && Boolean(settings.verifier.environment));
  const verifier: VerifierPlan = {
    isSeparate,
    image: isSeparate
      ? (await parts.readImage(join(folder, "tests"), settings.verifier.environment ?? DEFAULT_ENVIRONMENT))
        .plan
      : image.plan,
    tests: placeFiles(tests, TESTS_FOLDER),
    timeoutMs: Math.ceil(settings.verifier.timeout_sec * 1000),
    variables: withDefaults(settings.verifier.env),
    rewardFiles: REWARD_FILES.filter((name) => texts.some((text) => text.includes(name))),
  };
  const script = tests.files.find(({ path }) => path === "test.sh");
  if (script === undefined) parts.faults.push("the folder has no tests/test.sh");
  else await parts.readScript(await Deno.readTextFile(script.hostPath), "tests/test.sh");
  if (script !== undefined && verifier.rewardFiles.length === 0) {
    parts.faults.push("no file of tests/ names reward.txt or reward.json");
  }
  const solution = await parts.readSolution(join(folder, "solution"), settings.solution.env);
  const seconds = settings.agent.timeout_sec;
  return {
    id,
    instruction: instruction ?? "",
    image: image.plan,
    verifier,
    carried: isSeparate
      ? artifactPaths(settings)
      : carriedPaths({ instruction: instruction ?? "", tests: texts, image: image.plan }),
    requirements: [...new Set(parts.requirements)],
    agentTimeoutMs: typeof seconds === "number" && seconds > 0 ? Math.ceil(seconds * 1000) : undefined,
    memoryBytes: memoryBytesOf(settings.environment),
    solution,
    commands: [...new Set(parts.commands)],
    faults: [...new Set(parts.faults)],
    notes: [...new Set(parts.notes)],
  };
}

/** Collects what the parts of a task need. */
class TaskParts {
  readonly faults: string[] = [];
  readonly notes: string[] = [];
  readonly requirements: string[] = [];
  readonly commands: string[] = [];

  async readImage(folder: string, settings: EnvironmentSettings): Promise<PlannedImage> {
    const image = await this.#planned(folder, settings.docker_image ?? undefined);
    this.faults.push(...image.faults);
    this.notes.push(...image.notes);
    this.requirements.push(...image.plan.requirements);
    this.commands.push(...image.commands);
    const workdir = settings.workdir ?? image.plan.workdir;
    const variables = Object.entries(withDefaults(settings.env)).map(([name, value]) =>
      ({ kind: "variable", name, value }) as const
    );
    return { ...image, plan: { ...image.plan, workdir, steps: [...image.plan.steps, ...variables] } };
  }

  async #planned(folder: string, name: string | undefined): Promise<PlannedImage> {
    const { files } = await listFolder(folder);
    if (files.some(({ path }) => /^(?:docker-)?compose\.ya?ml$/.test(path))) {
      this.faults.push("the environment is of Docker Compose");
    }
    return await planFolder(folder, name);
  }

  async readFolder(folder: string): Promise<FolderFiles> {
    const found = await listFolder(folder);
    for (const link of found.links) this.faults.push(`'${link}' of ${basename(folder)}/ is a symbolic link`);
    if (found.files.some(({ path }) => path.endsWith(".harborignore"))) {
      this.faults.push(`${basename(folder)}/ has a .harborignore`);
    }
    return found;
  }

  async readScript(script: string, name: string): Promise<void> {
    const { commands, functions, fault } = await scriptCommands(script);
    if (fault !== undefined) this.faults.push(`${name} is not read as bash: ${fault}`);
    const needs: ScriptNeeds = scriptNeeds(commands, { readText: () => undefined });
    this.faults.push(...needs.faults);
    this.requirements.push(...needs.requirements);
    this.commands.push(...needs.commands.filter((each) => !functions.has(each)));
  }

  async readSolution(
    folder: string,
    variables: Readonly<Record<string, string>>,
  ): Promise<HarborSolution | undefined> {
    const found = await this.readFolder(folder);
    const script = found.files.find(({ path }) => path === "solve.sh");
    if (script === undefined) return void this.notes.push("there is no solution/solve.sh for an oracle");
    await this.readScript(await Deno.readTextFile(script.hostPath), "solution/solve.sh");
    return { files: placeFiles(found, "/solution"), variables: withDefaults(variables) };
  }
}

/** Returns the texts of small files. */
async function textsOf({ files }: FolderFiles): Promise<string[]> {
  const texts: string[] = [];
  for (const { hostPath } of files) {
    if ((await Deno.stat(hostPath)).size <= MAX_SEARCHED_BYTES) texts.push(await Deno.readTextFile(hostPath));
  }
  return texts;
}

/** Returns the paths that a verifier with an image of its own gets. */
function artifactPaths({ artifacts }: TaskSettings): CarriedPaths {
  const sources = artifacts.map(({ source }) => source.replace(/\/+$/, ""));
  const roots = [...new Set([ARTIFACTS, ...sources])].sort();
  return { roots, named: sources, namedFiles: sources.map((path) => basename(path)) };
}

/** Returns a task that only has the reason why the task is not read. */
function unreadableTask(id: string, fault: string): HarborTask {
  const image = { workdir: "/", steps: [], requirements: [] };
  const verifier = { isSeparate: false, image, tests: [], timeoutMs: 1, variables: {}, rewardFiles: [] };
  const carried = { roots: [], named: [], namedFiles: [] };
  const lists = { requirements: [], commands: [], faults: [fault], notes: [] };
  return { id, instruction: "", image, verifier, carried, ...lists };
}
