import type { FileSystem, FsNode } from "../emscripten.ts";

const EBUSY = 10;
const ENOENT = 44;

/** The functions of Emscripten's file system that know the working folder. */
type FolderSystem = FileSystem & {
  currentPath: string;
  cwd(): string;
  isRoot(node: FsNode): boolean;
  lookupNode(folder: FsNode, name: string): FsNode;
  mayDelete(folder: FsNode, name: string, isFolder: boolean): number;
};

/**
 * Lets a program remove and rename the folder in which it runs, as Linux does. Emscripten refuses both. A removed
 * working folder has no path until the program changes to another folder, and a renamed folder has its new path.
 */
export function releaseWorkingFolder(files: FileSystem): void {
  const fs = files as FolderSystem;
  let removed: string | undefined;

  const mayDelete = fs.mayDelete.bind(fs);
  fs.mayDelete = (folder, name, isFolder) => {
    const error = mayDelete(folder, name, isFolder);
    if (error !== EBUSY || fs.isRoot(fs.lookupNode(folder, name))) return error;
    removed = fs.currentPath;
    return 0;
  };

  fs.cwd = () => {
    if (fs.currentPath === removed && nodeAt(fs, removed) === undefined) throw new fs.ErrnoError(ENOENT);
    return fs.currentPath;
  };

  const rename = fs.rename.bind(fs);
  fs.rename = (from, to) => {
    const folder = nodeAt(fs, fs.currentPath);
    rename(from, to);
    if (folder && nodeAt(fs, fs.currentPath) !== folder) fs.currentPath = fs.getPath(folder);
  };
}

function nodeAt(fs: FolderSystem, path: string): FsNode | undefined {
  try {
    return fs.lookupPath(path).node;
  } catch (error) {
    if (error instanceof fs.ErrnoError) return undefined;
    throw error;
  }
}
