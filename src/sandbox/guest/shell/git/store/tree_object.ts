import { bytesOf, textOf } from "../../gnu/command.ts";
import { EMPTY_TREE, type ObjectStore } from "./object_store.ts";

/** Modes of entries. */
export const MODE = { file: 0o100644, program: 0o100755, link: 0o120000, folder: 0o40000, module: 0o160000 };

/** A file as a tree or the index names it. */
export interface TreeFile {
  readonly mode: number;
  readonly id: string;
}

/** Files by path. Paths are byte texts relative to the top of the work tree, in the order of their bytes. */
export type FileMap = ReadonlyMap<string, TreeFile>;

interface TreeEntry extends TreeFile {
  readonly name: string;
}

/** Reads the entries of a tree. */
export function readTree(store: ObjectStore, id: string): TreeEntry[] {
  const bytes = store.readKind(id, "tree");
  const entries: TreeEntry[] = [];
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(0x20, at);
    const end = bytes.indexOf(0, space);
    entries.push({
      mode: Number.parseInt(textOf(bytes.subarray(at, space)), 8),
      name: textOf(bytes.subarray(space + 1, end)),
      id: bytes.subarray(end + 1, end + 21).toHex(),
    });
    at = end + 21;
  }
  return entries;
}

/** Returns all files of a tree. Without a tree there are none. */
export function filesOfTree(store: ObjectStore, id: string | undefined): Map<string, TreeFile> {
  const files = new Map<string, TreeFile>();
  const visit = (tree: string, folder: string) => {
    for (const { name, mode, id: entry } of readTree(store, tree)) {
      if (mode === MODE.folder) visit(entry, `${folder}${name}/`);
      else files.set(folder + name, { mode, id: entry });
    }
  };
  if (id !== undefined && id !== EMPTY_TREE) visit(id, "");
  return sortedFiles(files);
}

/** Returns what a path of a tree names, which may be a folder. */
export function entryOfTree(store: ObjectStore, tree: string, path: string): TreeFile | undefined {
  let found: TreeFile | undefined = { mode: MODE.folder, id: tree };
  for (const name of path.split("/").filter((part) => part !== "")) {
    if (found?.mode !== MODE.folder) return undefined;
    found = readTree(store, found.id).find((entry) => entry.name === name);
  }
  return found;
}

/** Writes the trees of files. Returns the hash of the top tree. */
export function writeTrees(store: ObjectStore, files: Iterable<readonly [string, TreeFile]>): string {
  interface Folder {
    readonly files: Map<string, TreeFile>;
    readonly folders: Map<string, Folder>;
  }
  const create = (): Folder => ({ files: new Map(), folders: new Map() });
  const top = create();
  for (const [path, file] of files) {
    const names = path.split("/");
    const last = names.pop() ?? "";
    let at = top;
    for (const name of names) {
      const next = at.folders.get(name) ?? create();
      at.folders.set(name, next);
      at = next;
    }
    at.files.set(last, file);
  }
  const write = (folder: Folder): string => {
    const folders = [...folder.folders].map(([name, inner]) => ({
      name,
      mode: MODE.folder,
      id: write(inner),
    }));
    const entries = [...[...folder.files].map(([name, file]) => ({ name, ...file })), ...folders];
    const key = ({ name, mode }: TreeEntry) => mode === MODE.folder ? `${name}/` : name;
    entries.sort((a, b) => key(a) < key(b) ? -1 : 1);
    return store.write("tree", treeBytes(entries));
  };
  return write(top);
}

function treeBytes(entries: readonly TreeEntry[]): Uint8Array {
  const parts = entries.map(({ mode, name, id }) =>
    `${mode.toString(8)} ${name}\0${textOf(Uint8Array.fromHex(id))}`
  );
  return bytesOf(parts.join(""));
}

/** Returns files in the order of their paths. */
export function sortedFiles<T>(files: Iterable<readonly [string, T]>): Map<string, T> {
  return new Map([...files].sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0));
}
