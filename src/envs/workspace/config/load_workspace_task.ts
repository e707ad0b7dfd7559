import { basename, join } from "node:path";
import type { TemplateValue, WorkspaceFile, WorkspaceTask } from "../workspace_task.ts";
import type { CommandFile } from "../agent_config.ts";
import { commandFile } from "../commands/command_file.ts";
import { CheckoutPaths } from "./checkout_paths.ts";
import { datasetSchema, type DatasetYaml, taskSchema, type TaskYaml } from "./task_schema.ts";
import { DEFAULT_TRAINING_SECONDS, evaluationPlan } from "./evaluation_plan.ts";
import { formatTemplate } from "./format_template.ts";
import { starterFiles } from "./starter_files.ts";
import { YamlFile } from "./yaml_file.ts";

/** What kinds of MLGym's tasks need that no sandbox has. */
const BEYOND: Readonly<Record<string, string>> = {
  ModelSubmissionTasks: "a training of JAX or PyTorch models",
  LMSubmissionTasks: "GPUs and torchrun",
};
const KNOWN = ["PythonSubmissionTasks", "CSVSubmissionTasks", ...Object.keys(BEYOND)];

/** A task while it is read. */
interface TaskFile {
  readonly yaml: TaskYaml;
  readonly file: YamlFile;
  readonly paths: CheckoutPaths;
  /** Why the task cannot be played. */
  readonly faults: string[];
}

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
  const yamlPath = await isFolder(path) ? join(path, "task.yaml") : path;
  const file = await YamlFile.read(yamlPath, "task");
  const yaml = file.checked(taskSchema);
  const task: TaskFile = { yaml, file, paths: await CheckoutPaths.of(yamlPath), faults: [] };
  const find = (named: string, key: readonly PropertyKey[]) => foundOrFault(task, named, key);
  const datasets = await readDatasets(task);
  const starter = await startersOf(task);
  const secret = starter.filter((each) => isNamed(each, yaml.secret_files));
  const open = starter.filter((each) => !secret.includes(each));
  const readOnly = readOnlyOf(task, open);
  const data = await dataOf(task, datasets);
  const evaluation = await evaluationPlan(yaml, { starter: open, secret, data, readOnly, find });
  requireKind(task);
  const trainingSeconds = yaml.training_timeout ?? DEFAULT_TRAINING_SECONDS;
  const description = describe(task, datasets);
  return {
    ...{ id: yaml.id, name: yaml.name, description, starter: open, readOnly, data, evaluation },
    fields: { ...fieldsOf(yaml), description, training_timeout: trainingSeconds },
    trainingTimeoutMs: 1000 * trainingSeconds,
    commandFiles: await commandFilesOf(task),
    ...(task.faults.length > 0 && { faults: task.faults }),
  };
}

async function isFolder(path: string): Promise<boolean> {
  const found = await Deno.stat(path).catch((cause) => {
    if (!(cause instanceof Deno.errors.NotFound)) throw cause;
    throw new Deno.errors.NotFound(`Cannot read task at '${path}': there is no such file or folder`, {
      cause,
    });
  });
  return found.isDirectory;
}

async function foundOrFault(task: TaskFile, path: string, key: readonly PropertyKey[]): Promise<string> {
  const { paths, file, faults } = task;
  const found = await paths.find(path);
  if (found !== undefined) return found;
  faults.push(
    `'${String(key[0])}' must name what is there: there is no '${path}' (${file.path}, line ${
      file.lineOf(key)
    })`,
  );
  return path;
}

/** Where what the YAML names is, and nothing where it is not. */
async function found(task: TaskFile, path: string, key: readonly PropertyKey[]): Promise<string[]> {
  const before = task.faults.length;
  const hostPath = await foundOrFault(task, path, key);
  return task.faults.length === before ? [hostPath] : [];
}

async function readDatasets(task: TaskFile): Promise<DatasetYaml[]> {
  const datasets: DatasetYaml[] = [];
  for (const [index, named] of task.yaml.dataset_configs.entries()) {
    for (const path of await found(task, named, ["dataset_configs", index])) {
      datasets.push((await YamlFile.read(path, "dataset")).checked(datasetSchema));
    }
  }
  return datasets;
}

async function startersOf(task: TaskFile): Promise<WorkspaceFile[]> {
  const files = new Map<string, WorkspaceFile>();
  for (const [index, named] of task.yaml.starter_code.entries()) {
    for (const path of await found(task, named, ["starter_code", index])) {
      for (const each of await starterFiles(path)) {
        if (files.has(each.path)) {
          throw task.file.fault(
            ["starter_code", index],
            `two files would be '${each.path}' in the workspace`,
          );
        }
        files.set(each.path, each);
      }
    }
  }
  return [...files.values()];
}

function readOnlyOf({ yaml, file }: TaskFile, starter: readonly WorkspaceFile[]): string[] {
  const scripts = yaml.evaluation_read_only ? yaml.evaluation_paths : [];
  for (const [index, path] of yaml.read_only.entries()) {
    if (starter.some((each) => isNamed(each, [path]))) continue;
    const known = starter.map((each) => each.path).join(", ") || "none";
    throw file.fault(
      ["read_only", index],
      `'read_only' must name starter files: '${path}' is none of ${known}`,
    );
  }
  return starter.filter((each) => isNamed(each, [...scripts, ...yaml.read_only])).map((each) => each.path);
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
  const data: WorkspaceFile[] = [];
  for (const [index, { data_path: path, is_local: isLocal, name }] of datasets.entries()) {
    const key = ["dataset_configs", index];
    if (!isLocal) {
      task.faults.push(`dataset '${name}' must be local: it would have to be fetched from the network`);
    } else for (const hostPath of await found(task, path, key)) data.push(await dataFile(hostPath));
  }
  return data;
}

/** A folder named `data` is the workspace's own; anything else lies in it. */
async function dataFile(hostPath: string): Promise<WorkspaceFile> {
  const name = basename(hostPath);
  const isWhole = name === "data" && (await Deno.stat(hostPath)).isDirectory;
  return { path: isWhole ? "data" : `data/${name}`, hostPath };
}

function requireKind({ yaml, faults }: TaskFile): void {
  if (yaml.evaluation?.module) return;
  const kind = yaml.task_entrypoint ?? (yaml.evaluation_paths.length > 0 ? "CSVSubmissionTasks" : undefined);
  if (kind === undefined) {
    faults.push("it must say how it is scored: it has neither 'evaluation.module' nor 'task_entrypoint'");
  } else if (Object.hasOwn(BEYOND, kind)) {
    faults.push(`a task of the kind ${kind} needs ${BEYOND[kind]}, which no sandbox has`);
  } else if (!KNOWN.includes(kind)) {
    faults.push(`'task_entrypoint' must be one of ${KNOWN.join(", ")}: current value is '${kind}'`);
  } else if (yaml.evaluation_paths.length === 0) {
    faults.push("'evaluation_paths' must name a script: it names none");
  }
}

/** Every key that a task may have; `null` for one that it has not. */
function fieldsOf(yaml: TaskYaml): Record<string, TemplateValue> {
  const keys = Object.keys(taskSchema.shape) as (keyof TaskYaml)[];
  return Object.fromEntries(keys.map((key) => [key, yaml[key] ?? null]));
}

function describe({ yaml, file }: TaskFile, datasets: readonly DatasetYaml[]): string {
  const docs = datasets.map(({ name, description }) => `${name.toUpperCase()}:\n${description}\n\n`).join("");
  try {
    return formatTemplate(yaml.description, { dataset_docs: docs });
  } catch (cause) {
    throw file.fault(["description"], cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

async function commandFilesOf(task: TaskFile): Promise<CommandFile[]> {
  const files: CommandFile[] = [];
  for (const [index, named] of task.yaml.command_files.entries()) {
    const key = ["command_files", index];
    for (const path of await found(task, named, key)) {
      try {
        files.push(commandFile(basename(path), await Deno.readTextFile(path)));
      } catch (cause) {
        throw task.file.fault(key, cause instanceof Error ? cause.message : String(cause), { cause });
      }
    }
  }
  return files;
}
