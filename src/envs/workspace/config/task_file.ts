import { join } from "node:path";
import { errorMessage } from "../../../errors.ts";
import { CheckoutPaths } from "./checkout_paths.ts";
import { taskSchema, type TaskYaml } from "./task_schema.ts";
import { YamlFile } from "./yaml_file.ts";

/** A task YAML while it is read. */
export class TaskFile {
  readonly yaml: TaskYaml;
  /** Why the task cannot be played. */
  readonly faults: string[] = [];
  readonly #file: YamlFile;
  readonly #paths: CheckoutPaths;

  private constructor(file: YamlFile, paths: CheckoutPaths) {
    this.yaml = file.checked(taskSchema);
    this.#file = file;
    this.#paths = paths;
  }

  /**
   * Reads a YAML file, or the `task.yaml` of a folder.
   *
   * @throws {Deno.errors.NotFound} when there is none.
   * @throws {SyntaxError} when it is no task, with the line of what is wrong.
   */
  static async read(path: string): Promise<TaskFile> {
    const yamlPath = await isFolder(path) ? join(path, "task.yaml") : path;
    return new TaskFile(await YamlFile.read(yamlPath, "task"), await CheckoutPaths.of(yamlPath));
  }

  /** Where what a key names is; a fault, and a path at which nothing is, when it is not there. */
  async find(path: string, key: readonly PropertyKey[]): Promise<string> {
    const found = await this.#paths.find(path);
    if (found !== undefined) return found;
    const name = key.filter((part) => typeof part === "string").join(".");
    const place = `${this.#file.path}, line ${this.#file.lineOf(key)}`;
    this.faults.push(`'${name}' must name what is there: there is no '${path}' (${place})`);
    return path;
  }

  /** The places of what a list names, of those that are there. */
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

  /** An error that names the file and the line of a key. */
  fault(key: readonly PropertyKey[], what: unknown): SyntaxError {
    const options = what instanceof Error ? { cause: what } : undefined;
    return this.#file.fault(key, errorMessage(what), options);
  }
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
