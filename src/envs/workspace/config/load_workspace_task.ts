import { basename } from "node:path";
import type { CommandFile } from "../agent_config.ts";
import { commandFile } from "../commands/command_file.ts";
import type { TemplateValue, WorkspaceFile, WorkspaceTask } from "../workspace_task.ts";
import { DEFAULT_TRAINING_SECONDS, evaluationPlan } from "./evaluation_plan.ts";
import { formatTemplate } from "./format_template.ts";
import { starterFiles } from "./starter_files.ts";
import { TaskFile } from "./task_file.ts";
import { kindFault } from "./task_kind.ts";
import { datasetSchema, type DatasetYaml, taskSchema, type TaskYaml } from "./task_schema.ts";
import { YamlFile } from "./yaml_file.ts";

/**
 * Reads a task: a YAML file with MLGym's keys or our own, or a folder with a `task.yaml`.
 *
 * Files are looked for from the YAML's folder, then from the folders above it up to its checkout. A task that names
 * what is not there, or needs what no sandbox has, is read all the same: its `faults` say why it cannot be played, and
 * {@linkcode requirePlayable} throws the first.
 *
 * @throws {Deno.errors.NotFound} when there is no such file.
 * @throws {SyntaxError} when it is no task, with the file and the line of what is wrong.
 */
export async function loadWorkspaceTask(path: string): Promise<WorkspaceTask> {
  const task = await TaskFile.read(path);
  const { yaml, faults } = task;
  const datasets = await readDatasets(task);
  const all = await startersOf(task);
  const secret = all.filter((each) => isNamed(each, yaml.secret_files));
  const starter = all.filter((each) => !secret.includes(each));
  const readOnly = readOnlyOf(task, starter);
  const data = await dataOf(task, datasets);
  const find = (named: string, key: readonly PropertyKey[]) => task.find(named, key);
  const evaluation = await evaluationPlan(yaml, { starter, secret, data, readOnly, find });
  const unscored = kindFault(yaml);
  if (unscored !== undefined) faults.push(unscored);
  const trainingSeconds = yaml.training_timeout ?? DEFAULT_TRAINING_SECONDS;
  const description = describe(task, datasets);
  const commandFiles = await commandFilesOf(task);
  return {
    id: yaml.id,
    name: yaml.name,
    description,
    starter,
    readOnly,
    data,
    evaluation,
    commandFiles,
    fields: { ...fieldsOf(yaml), description, training_timeout: trainingSeconds },
    trainingTimeoutMs: 1000 * trainingSeconds,
    ...(faults.length > 0 && { faults }),
  };
}

async function readDatasets(task: TaskFile): Promise<DatasetYaml[]> {
  const datasets: DatasetYaml[] = [];
  for (const { path } of await task.findAll(task.yaml.dataset_configs, "dataset_configs")) {
    datasets.push((await YamlFile.read(path, "dataset")).checked(datasetSchema));
  }
  return datasets;
}

async function startersOf(task: TaskFile): Promise<WorkspaceFile[]> {
  const files = new Map<string, WorkspaceFile>();
  for (const { path, key } of await task.findAll(task.yaml.starter_code, "starter_code")) {
    for (const each of await starterFiles(path)) {
      if (files.has(each.path)) throw task.fault(key, `two files would be '${each.path}' in the workspace`);
      files.set(each.path, each);
    }
  }
  return [...files.values()];
}

function readOnlyOf(task: TaskFile, starter: readonly WorkspaceFile[]): string[] {
  const { read_only: wanted, evaluation_read_only: closes, evaluation_paths: scripts } = task.yaml;
  for (const [index, path] of wanted.entries()) {
    if (starter.some((each) => isNamed(each, [path]))) continue;
    const known = starter.map((each) => each.path).join(", ") || "none";
    throw task.fault(
      ["read_only", index],
      `'read_only' must name starter files: '${path}' is none of ${known}`,
    );
  }
  const named = [...closes ? scripts : [], ...wanted];
  return starter.filter((each) => isNamed(each, named)).map((each) => each.path);
}

/** Whether a file is meant, by its place in the workspace, its folder's, or the path that it was taken from. */
function isNamed({ path, hostPath }: WorkspaceFile, names: readonly string[]): boolean {
  return names.some((name) => {
    const plain = name.replace(/^\.\//, "").replace(/\/$/, "");
    return path === plain || path.startsWith(`${plain}/`) ||
      (plain.includes("/") && hostPath.endsWith(`/${plain}`));
  });
}

async function dataOf(task: TaskFile, datasets: readonly DatasetYaml[]): Promise<WorkspaceFile[]> {
  for (const { name } of datasets.filter((dataset) => !dataset.is_local)) {
    task.faults.push(`dataset '${name}' must be local: it would have to be fetched from the network`);
  }
  const local = datasets.filter((dataset) => dataset.is_local).map((dataset) => dataset.data_path);
  const found = await task.findAll(local, "dataset_configs");
  return await Promise.all(found.map(({ path }) => dataFile(path)));
}

/** A folder named `data` is the workspace's own; anything else lies in it. */
async function dataFile(hostPath: string): Promise<WorkspaceFile> {
  const name = basename(hostPath);
  const isWhole = name === "data" && (await Deno.stat(hostPath)).isDirectory;
  return { path: isWhole ? "data" : `data/${name}`, hostPath };
}

/** Every key that a task may have; `null` for one that it has not. */
function fieldsOf(yaml: TaskYaml): Record<string, TemplateValue> {
  const keys = Object.keys(taskSchema.shape) as (keyof TaskYaml)[];
  return Object.fromEntries(keys.map((key) => [key, yaml[key] ?? null]));
}

function describe(task: TaskFile, datasets: readonly DatasetYaml[]): string {
  const docs = datasets.map(({ name, description }) => `${name.toUpperCase()}:\n${description}\n\n`).join("");
  try {
    return formatTemplate(task.yaml.description, { dataset_docs: docs });
  } catch (cause) {
    throw task.fault(["description"], cause);
  }
}

async function commandFilesOf(task: TaskFile): Promise<CommandFile[]> {
  const files: CommandFile[] = [];
  for (const { path, key } of await task.findAll(task.yaml.command_files, "command_files")) {
    try {
      files.push(commandFile(basename(path), await Deno.readTextFile(path)));
    } catch (cause) {
      throw task.fault(key, cause);
    }
  }
  return files;
}
