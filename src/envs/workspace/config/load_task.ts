import { basename, join } from "node:path";
import { errorMessage } from "../../../errors.ts";
import type { CommandFile } from "../agent_config.ts";
import { toCommandFile } from "../commands/commands.ts";
import type { TemplateValue, WorkspaceFile, WorkspaceTask } from "../task.ts";
import { CheckoutPaths } from "./checkout_paths.ts";
import { DEFAULT_TRAINING_SECONDS, toEvaluationPlan } from "./evaluation_plan.ts";
import { listStarterFiles } from "./starter_files.ts";
import { datasetSchema, type DatasetYaml, taskSchema, type TaskYaml } from "./task_schema.ts";
import { formatTemplate } from "./template.ts";
import { YamlFile } from "./yaml_file.ts";

/**
 * Reads a task: a YAML file with MLGym's or Paddock's keys, a folder with a `task.yaml`, or a short name, such as
 * `blotto`: `configs/tasks/blotto.yaml` or `examples/workspace/blotto` of the current folder, as the checkouts of
 * MLGym and Paddock have them.
 *
 * Files are searched in the YAML's folder, then in the parent folders up to the checkout. A task that names a missing
 * file, or needs something that a sandbox lacks, still loads. The task's `faults` say why the task cannot be played,
 * and {@linkcode requirePlayable} throws the first fault.
 *
 * @throws {Deno.errors.NotFound} if the file does not exist.
 * @throws {SyntaxError} if the file is not a valid task; the message has the file and the line.
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
  const evaluation = await toEvaluationPlan(yaml, { starter, secret, data, readOnly, find });
  const fault = findKindFault(yaml);
  if (fault !== undefined) faults.push(fault);
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
    datasets.push((await YamlFile.read(path, "dataset")).parse(datasetSchema));
  }
  return datasets;
}

async function startersOf(task: TaskFile): Promise<WorkspaceFile[]> {
  const files = new Map<string, WorkspaceFile>();
  for (const { path, key } of await task.findAll(task.yaml.starter_code, "starter_code")) {
    for (const each of await listStarterFiles(path)) {
      if (files.has(each.path)) {
        throw task.fault(key, `two files have the path '${each.path}' in the workspace`);
      }
      files.set(each.path, each);
    }
  }
  return [...files.values()];
}

function readOnlyOf(task: TaskFile, starter: readonly WorkspaceFile[]): string[] {
  const { read_only: paths, evaluation_read_only: scriptsReadOnly, evaluation_paths: scripts } = task.yaml;
  for (const [index, path] of paths.entries()) {
    if (starter.some((each) => isNamed(each, [path]))) continue;
    const names = starter.map((each) => each.path).join(", ") || "none";
    throw task.fault(
      ["read_only", index],
      `'read_only' must name starter files: '${path}' is none of ${names}`,
    );
  }
  const named = [...scriptsReadOnly ? scripts : [], ...paths];
  return starter.filter((each) => isNamed(each, named)).map((each) => each.path);
}

/** True if a name is the file's path in the workspace, a folder of that path, or the end of the host path. */
function isNamed({ path, hostPath }: WorkspaceFile, names: readonly string[]): boolean {
  return names.some((name) => {
    const plain = name.replace(/^\.\//, "").replace(/\/$/, "");
    return path === plain || path.startsWith(`${plain}/`) ||
      (plain.includes("/") && hostPath.endsWith(`/${plain}`));
  });
}

async function dataOf(task: TaskFile, datasets: readonly DatasetYaml[]): Promise<WorkspaceFile[]> {
  for (const { name } of datasets.filter((dataset) => !dataset.is_local)) {
    task.faults.push(`dataset '${name}' must be local: it would be fetched from the network`);
  }
  const local = datasets.filter((dataset) => dataset.is_local).map((dataset) => dataset.data_path);
  const found = await task.findAll(local, "dataset_configs");
  return await Promise.all(found.map(({ path }) => dataFile(path)));
}

/** Maps a folder named `data` to the workspace's `data`, and anything else to a path inside `data`. */
async function dataFile(hostPath: string): Promise<WorkspaceFile> {
  const name = basename(hostPath);
  const isDataFolder = name === "data" && (await Deno.stat(hostPath)).isDirectory;
  return { path: isDataFolder ? "data" : `data/${name}`, hostPath };
}

/** Returns all keys that a task may have, with `null` for missing ones. */
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
      files.push(toCommandFile(basename(path), await Deno.readTextFile(path)));
    } catch (cause) {
      throw task.fault(key, cause);
    }
  }
  return files;
}

/** Task YAML that is being read. */
class TaskFile {
  readonly yaml: TaskYaml;
  /** Reasons why the task cannot be played. */
  readonly faults: string[] = [];
  readonly #file: YamlFile;
  readonly #paths: CheckoutPaths;

  private constructor(file: YamlFile, paths: CheckoutPaths) {
    this.yaml = file.parse(taskSchema);
    this.#file = file;
    this.#paths = paths;
  }

  /**
   * Reads a YAML file, or the `task.yaml` of a folder.
   *
   * @throws {Deno.errors.NotFound} if the file does not exist. @throws {SyntaxError} if the file is not a valid task;
   * the message has the line.
   */
  static async read(path: string): Promise<TaskFile> {
    const found = await findTask(path);
    const yamlPath = await isFolder(found) ? join(found, "task.yaml") : found;
    return new TaskFile(await YamlFile.read(yamlPath, "task"), await CheckoutPaths.of(yamlPath));
  }

  /** Finds the file that a key names. Records a fault for a missing file and returns the path as given. */
  async find(path: string, key: readonly PropertyKey[]): Promise<string> {
    const found = await this.#paths.find(path);
    if (found !== undefined) return found;
    const name = key.filter((part) => typeof part === "string").join(".");
    const place = `${this.#file.path}, line ${this.#file.lineOf(key)}`;
    this.faults.push(`'${name}' must name an existing file: there is no '${path}' (${place})`);
    return path;
  }

  /** Finds the files that a list names, and leaves out the missing ones. */
  async findAll(
    paths: readonly string[],
    key: string,
  ): Promise<{ readonly path: string; readonly key: readonly PropertyKey[] }[]> {
    const found = [];
    for (const [index, named] of paths.entries()) {
      const before = this.faults.length;
      const path = await this.find(named, [key, index]);
      if (this.faults.length === before) found.push({ path, key: [key, index] });
    }
    return found;
  }

  /** Returns an error with the file and the line of a key. */
  fault(key: readonly PropertyKey[], reason: unknown): SyntaxError {
    const options = reason instanceof Error ? { cause: reason } : undefined;
    return this.#file.fault(key, errorMessage(reason), options);
  }
}

/** Places of tasks in the current folder, by a short name. */
const NAMED_TASKS = [
  (name: string) => `configs/tasks/${name}.yaml`,
  (name: string) => `examples/workspace/${name}`,
];

/** True if a path may also be the short name of a task. */
function isName(path: string): boolean {
  return /^\w[\w-]*$/.test(path);
}

/** Returns the path of a task that is named by path or by short name. */
async function findTask(path: string): Promise<string> {
  for (const candidate of isName(path) ? [path, ...NAMED_TASKS.map((pathOf) => pathOf(path))] : []) {
    if (await Deno.stat(candidate).then(() => true, () => false)) return candidate;
  }
  return path; // a missing file is reported by the later read
}

async function isFolder(path: string): Promise<boolean> {
  const found = await Deno.stat(path).catch((cause) => {
    if (!(cause instanceof Deno.errors.NotFound)) throw cause;
    const places = NAMED_TASKS.map((pathOf) => `'${pathOf(path)}'`).join(" or ");
    const named = isName(path) ? `, and none at ${places}` : "";
    const hint = path.startsWith("/") ? "" : ". Paths and names of tasks are relative to the current folder";
    throw new Deno.errors.NotFound(
      `Cannot read task at '${path}': there is no such file or folder${named}${hint}`,
      { cause },
    );
  });
  return found.isDirectory;
}

/** Requirements of MLGym's task kinds that no sandbox can meet. */
const UNSUPPORTED: Readonly<Record<string, string>> = {
  ModelSubmissionTasks: "a training of JAX or PyTorch models",
  LMSubmissionTasks: "GPUs and torchrun",
};
const KNOWN = ["PythonSubmissionTasks", "CSVSubmissionTasks", ...Object.keys(UNSUPPORTED)];

/** Returns the reason why a task of this kind cannot be scored; `undefined` if such a task can be scored. */
function findKindFault(yaml: TaskYaml): string | undefined {
  if (yaml.evaluation?.module) return undefined;
  const hasScript = yaml.evaluation_paths.length > 0;
  const kind = yaml.task_entrypoint ?? (hasScript ? "CSVSubmissionTasks" : undefined);
  if (kind === undefined) {
    return "it must have 'evaluation.module' or 'task_entrypoint': both are missing";
  }
  if (Object.hasOwn(UNSUPPORTED, kind)) {
    return `a task of the kind ${kind} needs ${UNSUPPORTED[kind]}, which a sandbox does not have`;
  }
  if (!KNOWN.includes(kind)) {
    return `'task_entrypoint' must be one of ${KNOWN.join(", ")}: current value is '${kind}'`;
  }
  return hasScript ? undefined : "'evaluation_paths' must name a script: it is empty";
}
