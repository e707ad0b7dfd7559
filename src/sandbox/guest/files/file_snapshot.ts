import type { FileSystem, FsNode, NumberedFileSystem } from "../emscripten.ts";

/** Bits of a mode that encode the kind of a node. */
const KIND_BITS = 0o170000;

/** The state of the file system when a session started. */
export class FileSnapshot {
  readonly #fs: FileSystem;
  readonly #pipes: NumberedFileSystem;
  readonly #home: string;
  readonly #start: StartNode;
  readonly #firstInode: number;

  constructor({ fs, pipes, home }: { fs: FileSystem; pipes: NumberedFileSystem; home: string }) {
    this.#fs = fs;
    this.#pipes = pipes;
    this.#home = home;
    this.#start = this.#record(fs.root);
    this.#firstInode = fs.nextInode;
  }

  /** Removes new files, closes open files and returns to the home. Throws if a device was removed. */
  restore(): void {
    this.#fs.ignorePermissions = true;
    this.#fs.chdir("/"); // the working directory may be removed below
    for (const stream of this.#fs.streams) if (stream) closeQuietly(this.#fs, stream.fd);
    this.#restoreFolder("", this.#fs.root, this.#start);
    this.#fs.nextInode = this.#firstInode;
    delete this.#pipes.nextname.current;
    this.#fs.chdir(this.#home);
    this.#fs.ignorePermissions = false;
  }

  /** Records a node and everything below it in the same file system. */
  #record(node: FsNode): StartNode {
    const { id, mode, rdev, atime, mtime, ctime } = node;
    const children = this.#isFolderOnRoot(node) ? Object.entries(childrenOf(node)) : [];
    return {
      inode: id,
      state: { mode, rdev, atime, mtime, ctime },
      children: new Map(children.map(([name, child]) => [name, this.#record(child)])),
    };
  }

  /** Restores a folder and everything below it. */
  #restoreFolder(path: string, folder: FsNode, start: StartNode): void {
    for (const [name, node] of Object.entries(childrenOf(folder))) {
      const atStart = start.children.get(name);
      if (atStart && isSame(node, atStart)) continue;
      delete childrenOf(folder)[name];
      this.#destroy(node);
    }
    for (const [name, atStart] of start.children) {
      const node = childrenOf(folder)[name] ?? this.#addFolder(`${path}/${name}`, atStart);
      if (this.#isFolderOnRoot(node)) {
        this.#restoreFolder(`${path}/${name}`, node, atStart);
      } else {
        Object.assign(node, atStart.state);
      }
    }
    Object.assign(folder, start.state); // last, since the changes above have set new times
  }

  /** Creates a removed folder again, with its inode. */
  #addFolder(path: string, { inode, state }: StartNode): FsNode {
    if (!this.#fs.isDir(state.mode)) throw new Error(`Cannot rewind as '${path}' was removed`);
    this.#fs.nextInode = inode;
    return this.#fs.mkdir(path);
  }

  /** Destroys a node and everything below it, each node once. Removal by path would take too long in deep trees. */
  #destroy(node: FsNode): void {
    const waiting = [node];
    for (let at = waiting.pop(); at; at = waiting.pop()) {
      if (at.mounted) throw new Error(`Cannot rewind as the mount '${at.name}' was moved`);
      if (this.#fs.isDir(at.mode)) Object.values(childrenOf(at)).forEach((child) => waiting.push(child));
      this.#fs.destroyNode(at);
    }
  }

  #isFolderOnRoot({ mode, mount }: FsNode): boolean {
    return this.#fs.isDir(mode) && mount === this.#fs.root.mount;
  }
}

/** State of a node at the start. */
interface StartNode {
  readonly inode: number;
  readonly state: Readonly<NodeState>;
  readonly children: ReadonlyMap<string, StartNode>;
}

/**
 * True if a node is the node of the start. A node that replaced that node has an inode that a later program may get
 * again.
 */
function isSame({ id, mode, rdev }: FsNode, { inode, state }: StartNode): boolean {
  return id === inode && rdev === state.rdev && (mode & KIND_BITS) === (state.mode & KIND_BITS);
}

function childrenOf(folder: FsNode): Record<string, FsNode> {
  return folder.contents as Record<string, FsNode>;
}

/** Fields that a program may change in a node that it does not remove. */
type NodeState = Pick<FsNode, "mode" | "rdev" | "atime" | "mtime" | "ctime">;

function closeQuietly(fs: FileSystem, fd: number): void {
  try {
    fs.closeStream(fd);
  } catch {
    // the stream is closed even if its device's close handler throws
  }
}
