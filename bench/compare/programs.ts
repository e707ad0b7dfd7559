import { join, relative } from "node:path";

/** A program with one of its inputs. */
export interface ProgramCase {
  /** Path of the program's folder, and the name of the input if it has several. */
  readonly name: string;
  /** First folder of the name: programs of one origin. */
  readonly corpus: string;
  readonly code: string;
  readonly stdin: string;
  /** Contents of the other files of the folder, by path. */
  readonly files: Readonly<Record<string, Uint8Array>>;
}

const MAIN = "main.py";
/** Ending of the names of files with input. */
const INPUT = ".in";

/**
 * Yields the programs under a folder in the order of their names: each folder with a file `main.py`, once for each
 * file `*.in` beside it, or once without input.
 */
export async function* readPrograms(root: string, folder = root): AsyncGenerator<ProgramCase> {
  const entries = await Array.fromAsync(Deno.readDir(folder));
  if (entries.some(({ name, isFile }) => isFile && name === MAIN)) {
    yield* await readFolder(root, folder);
    return;
  }
  const folders = entries.filter(({ isDirectory }) => isDirectory).map(({ name }) => name).sort();
  for (const name of folders) yield* readPrograms(root, join(folder, name));
}

async function readFolder(root: string, folder: string): Promise<ProgramCase[]> {
  const files = await readFiles(folder);
  const decode = (path: string) => new TextDecoder().decode(files[path]);
  const name = relative(root, folder) || ".";
  const [corpus = name] = name.split("/");
  const inputs = Object.keys(files).filter((path) => path.endsWith(INPUT)).sort();
  const others = Object.entries(files).filter(([path]) => path !== MAIN && !path.endsWith(INPUT));
  const program = { corpus, code: decode(MAIN), files: Object.fromEntries(others) };
  if (inputs.length === 0) return [{ ...program, name, stdin: "" }];
  return inputs.map((input) => ({ ...program, name: `${name}/${input}`, stdin: decode(input) }));
}

async function readFiles(folder: string, under = ""): Promise<Record<string, Uint8Array>> {
  const files: Record<string, Uint8Array> = {};
  for await (const { name, isFile, isDirectory } of Deno.readDir(join(folder, under))) {
    const path = join(under, name);
    if (isFile) files[path] = await Deno.readFile(join(folder, path));
    if (isDirectory) Object.assign(files, await readFiles(folder, path));
  }
  return files;
}
