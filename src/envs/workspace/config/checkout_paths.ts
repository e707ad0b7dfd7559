import { basename, dirname, join, relative, resolve } from "node:path";

/** What lies in the top folder of a project, however it was copied. */
const PROJECT_MARKS = [".git", "deno.json", "pyproject.toml"];

/**
 * Finds the files that a YAML file names: from its own folder, then from each folder above it up to its checkout.
 *
 * The checkout is what holds the folder `configs` that the file is in, else the nearest folder with a `.git`, a
 * `deno.json` or a `pyproject.toml`, else the file's own folder. Nothing outside of it is found, wherever a link points.
 */
export class CheckoutPaths {
  readonly #folders: readonly string[];
  readonly #root: string;

  private constructor(folders: readonly string[], root: string) {
    this.#folders = folders;
    this.#root = root;
  }

  /** For the YAML file at this path, which must be there. */
  static async of(yamlPath: string): Promise<CheckoutPaths> {
    const folder = dirname(await Deno.realPath(resolve(yamlPath)));
    const folders = upward(folder);
    const configs = folders.findIndex((each) => basename(each) === "configs");
    const last = configs === -1 ? await projectIndex(folders) : configs + 1;
    const root = folders[last] ?? folder;
    return new CheckoutPaths(folders.slice(0, folders.indexOf(root) + 1), root);
  }

  /** The absolute path of what a relative path names, without links; `undefined` when nothing is there for us. */
  async find(path: string): Promise<string | undefined> {
    for (const folder of this.#folders) {
      const found = await realPath(join(folder, path));
      if (found !== undefined && isInside(this.#root, found)) return found;
    }
    return undefined;
  }
}

/** Whether a path is the folder, or in it. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way.split("/")[0] !== ".." && !way.startsWith("/"));
}

function upward(folder: string): string[] {
  const above = dirname(folder);
  return above === folder ? [] : [folder, ...upward(above)];
}

async function projectIndex(folders: readonly string[]): Promise<number> {
  for (const [index, folder] of folders.entries()) {
    const marks = await Promise.all(PROJECT_MARKS.map((mark) => realPath(join(folder, mark))));
    if (marks.some((mark) => mark !== undefined)) return index;
  }
  return 0;
}

async function realPath(path: string): Promise<string | undefined> {
  try {
    return await Deno.realPath(path);
  } catch {
    return undefined; // what cannot be looked at is not there for us
  }
}
