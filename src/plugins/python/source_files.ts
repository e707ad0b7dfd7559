import { basename, dirname, join } from "node:path";

/** Source of a Python module. */
export interface PythonSource {
  /** Path as the user gave it, for tracebacks. */
  readonly path: string;
  readonly text: string;
  /** True for the `__init__.py` of a folder. */
  readonly isPackage: boolean;
}

/** Sources by the name of their module: `helpers` and `helpers.text`. */
export type PythonSources = ReadonlyMap<string, PythonSource>;

/** Maximum size of a file with all imported files, in bytes. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Returns the name of the module in a file: the file's name without the extension. */
export function moduleNameOf(path: string): string {
  return basename(path).replace(/\.py$/i, "");
}

/** Options of {@linkcode readSources}. */
export interface ReadSourcesOptions {
  /** Returns the names of the modules that a source imports. */
  readonly importsOf: (source: PythonSource) => Promise<readonly string[]>;
}

/**
 * Reads a Python file and all imported files and folders beside the file, also indirect imports.
 *
 * @throws {SyntaxError} if a file is not UTF-8.
 * @throws {RangeError} if they have more than 16 MiB together.
 */
export async function readSources(path: string, { importsOf }: ReadSourcesOptions): Promise<PythonSources> {
  const folder = dirname(path);
  const sources = new Map<string, PythonSource>();
  const waiting = [{ name: moduleNameOf(path), path }];
  const seen = new Set<string>();
  let bytes = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { name, path } = next;
    const contents = await Deno.readFile(path);
    bytes += contents.length;
    if (bytes > MAX_BYTES) {
      throw new RangeError(
        `it and the files that it imports must have at most ${MAX_BYTES} bytes: found more`,
      );
    }
    const source = { path, text: decode(contents, path), isPackage: basename(path) === "__init__.py" };
    sources.set(name, source);
    for (const imported of await importsOf(source)) {
      if (seen.has(imported)) continue;
      seen.add(imported);
      waiting.push(...(await findModules(folder, imported)).filter(({ name }) => !sources.has(name)));
    }
  }
  return sources;
}

/** Returns the files of a module beside the user's file: a single file, or all files of a folder. */
async function findModules(folder: string, name: string): Promise<{ name: string; path: string }[]> {
  const file = joinPath(folder, `${name}.py`);
  const root = joinPath(folder, name);
  if (await isFile(joinPath(root, "__init__.py"))) return await findPackage(root, name);
  return await isFile(file) ? [{ name, path: file }] : [];
}

async function findPackage(folder: string, name: string): Promise<{ name: string; path: string }[]> {
  const found: { name: string; path: string }[] = [];
  for await (const entry of Deno.readDir(folder)) {
    const path = joinPath(folder, entry.name);
    if (entry.isDirectory && await isFile(joinPath(path, "__init__.py"))) {
      found.push(...await findPackage(path, `${name}.${entry.name}`));
    } else if (entry.name.endsWith(".py") && await isFile(path)) {
      found.push({ name: entry.name === "__init__.py" ? name : `${name}.${moduleNameOf(entry.name)}`, path });
    }
  }
  return found;
}

/** Joins paths and keeps a `./` at the start. */
function joinPath(folder: string, name: string): string {
  const path = join(folder, name);
  return folder === "." || folder.startsWith("./") ? `./${path}` : path;
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch {
    return false; // the file does not exist, or the folder cannot be read
  }
}

function decode(contents: Uint8Array, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(contents);
  } catch (cause) {
    throw new SyntaxError(`'${path}' must be UTF-8: found an invalid byte`, { cause });
  }
}
