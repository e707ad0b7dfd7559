import { join, relative, sep } from "node:path";

/** Depth of folders that are searched. */
const MAX_DEPTH = 4;
/** Files of a folder that are listed. */
const MAX_FILES = 2_000;
/** Names of files that a rollout writes. `.stopped` holds the partial episodes of a running rollout. */
const RUN_NAME = /\.(?:jsonl|ndjson)(?:\.stopped|\.damaged)?$/;

/** A file of episodes in a folder. */
export interface RunFile {
  /** Path relative to the folder, with slashes. The path names the run in addresses. */
  readonly name: string;
  readonly path: string;
  readonly size: number;
  readonly changedAt: Date;
}

/** A folder of runs. Files outside of the folder cannot be reached, not even through a symbolic link. */
export class RunFolder {
  /** Real path. */
  readonly path: string;
  /** The only run, if a file was opened. */
  readonly #only: string | undefined;

  private constructor(path: string, only?: string) {
    this.path = path;
    this.#only = only;
  }

  /** Opens a folder, or the folder of a file, which is then the only run. */
  static async open(path: string): Promise<RunFolder> {
    const real = await Deno.realPath(path);
    const { isDirectory } = await Deno.stat(real);
    if (isDirectory) return new RunFolder(real);
    const folder = join(real, "..");
    return new RunFolder(folder, relative(folder, real));
  }

  /** Lists the runs, the last changed run first. */
  async list(): Promise<{ readonly runs: RunFile[]; readonly isComplete: boolean }> {
    const names = this.#only === undefined ? await this.#namesBelow("", MAX_DEPTH) : [this.#only];
    const found = await Promise.all(names.slice(0, MAX_FILES).map((name) => this.find(name)));
    const runs = found.filter((run) => run !== undefined);
    runs.sort((one, other) => other.changedAt.getTime() - one.changedAt.getTime());
    return { runs, isComplete: names.length <= MAX_FILES };
  }

  /** Returns a run of the folder, or `undefined` if the folder has no such file. */
  async find(name: string): Promise<RunFile | undefined> {
    if (this.#only !== undefined ? name !== this.#only : !isRunName(name)) return undefined;
    const path = join(this.path, name);
    const real = await Deno.realPath(path).catch(() => undefined); // there is no such file
    if (real === undefined || !real.startsWith(this.path.endsWith(sep) ? this.path : this.path + sep)) {
      return undefined;
    }
    const { isFile, size, mtime } = await Deno.stat(real);
    return isFile ? { name, path: real, size, changedAt: mtime ?? new Date(0) } : undefined;
  }

  async #namesBelow(folder: string, depth: number): Promise<string[]> {
    const names: string[] = [];
    try {
      for await (const { name, isDirectory, isFile, isSymlink } of Deno.readDir(join(this.path, folder))) {
        if (name.startsWith(".")) continue;
        const path = folder === "" ? name : `${folder}/${name}`;
        if (isDirectory && depth > 0) names.push(...await this.#namesBelow(path, depth - 1));
        else if ((isFile || isSymlink) && RUN_NAME.test(name)) names.push(path);
        if (names.length > MAX_FILES) break;
      }
    } catch (error) {
      if (!(error instanceof Deno.errors.PermissionDenied || error instanceof Deno.errors.NotFound)) {
        throw error;
      }
    }
    return names;
  }
}

/** True for a relative path without `..`, whose parts are not hidden, and that has the ending of a run. */
function isRunName(name: string): boolean {
  const parts = name.split("/");
  return RUN_NAME.test(name) && !/[\\\0]/.test(name) && parts.length <= MAX_DEPTH + 1 &&
    parts.every((part) => part !== "" && !part.startsWith("."));
}
