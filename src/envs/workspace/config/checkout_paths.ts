import { basename, dirname, join, relative, resolve } from "node:path";

/** Files that mark the top folder of a project. */
const PROJECT_MARKERS = [".git", "deno.json", "pyproject.toml"];

/**
 * Finds the files that a YAML file names: first in the folder of the YAML file, then in each parent folder up to the
 * checkout.
 *
 * The checkout is the parent of the folder `configs` that contains the file, or else the nearest folder with a `.git`,
 * a `deno.json` or a `pyproject.toml`, or else the file's own folder. Files outside of the checkout are never found,
 * also not through links.
 */
export class CheckoutPaths {
  readonly #folders: readonly string[];
  readonly #root: string;

  private constructor(folders: readonly string[], root: string) {
    this.#folders = folders;
    this.#root = root;
  }

  /** Creates the paths of a YAML file, which must exist. */
  static async of(yamlPath: string): Promise<CheckoutPaths> {
    const folder = dirname(await Deno.realPath(resolve(yamlPath)));
    const folders = withParents(folder);
    const configs = folders.findIndex((each) => basename(each) === "configs");
    const last = configs === -1 ? await projectIndex(folders) : configs + 1;
    const root = folders[last] ?? folder;
    return new CheckoutPaths(folders.slice(0, folders.indexOf(root) + 1), root);
  }

  /** Resolves a relative path to an absolute path without links; `undefined` if no readable file exists. */
  async find(path: string): Promise<string | undefined> {
    for (const folder of this.#folders) {
      const found = await realPath(join(folder, path));
      if (found !== undefined && isInside(this.#root, found)) return found;
    }
    return undefined;
  }
}

/** True if a path is the folder itself or inside the folder. */
function isInside(folder: string, path: string): boolean {
  const relativePath = relative(folder, path);
  return relativePath === "" || (relativePath.split("/")[0] !== ".." && !relativePath.startsWith("/"));
}

function withParents(folder: string): string[] {
  const parent = dirname(folder);
  return parent === folder ? [] : [folder, ...withParents(parent)];
}

async function projectIndex(folders: readonly string[]): Promise<number> {
  for (const [index, folder] of folders.entries()) {
    const found = await Promise.all(PROJECT_MARKERS.map((name) => realPath(join(folder, name))));
    if (found.some((path) => path !== undefined)) return index;
  }
  return 0;
}

async function realPath(path: string): Promise<string | undefined> {
  try {
    return await Deno.realPath(path);
  } catch {
    return undefined; // an unreadable path counts as missing
  }
}
