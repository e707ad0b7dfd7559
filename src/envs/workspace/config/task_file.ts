import { join } from "node:path";
import { errorMessage } from "../../../errors.ts";
import { CheckoutPaths } from "./checkout_paths.ts";
import { taskSchema, type TaskYaml } from "./task_schema.ts";
import { YamlFile } from "./yaml_file.ts";

/** Task YAML that is being read. */
export class TaskFile {
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
   * @throws {Deno.errors.NotFound} if it does not exist.
   * @throws {SyntaxError} if it is not a valid task; the message has the line.
   */
  static async read(path: string): Promise<TaskFile> {
    const yamlPath = await isFolder(path) ? join(path, "task.yaml") : path;
    return new TaskFile(await YamlFile.read(yamlPath, "task"), await CheckoutPaths.of(yamlPath));
  }

  /** Finds the file that a key names. If it is missing, it records a fault and returns the path as given. */
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

async function isFolder(path: string): Promise<boolean> {
  const found = await Deno.stat(path).catch((cause) => {
    if (!(cause instanceof Deno.errors.NotFound)) throw cause;
    throw new Deno.errors.NotFound(`Cannot read task at '${path}': there is no such file or folder`, {
      cause,
    });
  });
  return found.isDirectory;
}
