import type { FileSystem, FsNode } from "./emscripten.ts";
import { type HeapImage, type Python, writeImage } from "./python.ts";

/** A heap never shrinks: one this many times the image is given up for a fresh interpreter. */
const MAX_REWIND_FACTOR = 4;
/** Bits of a mode that give the kind of a node. */
const KIND_BITS = 0o170000;

/** The parts of a session that a rewind brings back. */
export interface RewindParts {
  readonly python: Python;
  readonly image: HeapImage;
  /** Where the session's own files live. */
  readonly home: string;
}

/** Brings an interpreter back to its start: files, closures, heap and C stack. */
export class Rewind {
  readonly #python: Python;
  readonly #image: HeapImage;
  readonly #files: FileSnapshot;
  readonly #stackPointer: number;

  /** Notes the state to go back to. */
  constructor({ python, image, home }: RewindParts) {
    this.#python = python;
    this.#image = image;
    this.#files = new FileSnapshot(python.fs, home);
    this.#stackPointer = Number(python.exports.__stack_pointer.value);
  }

  /** Goes back. Throws when the heap has grown too large, or when a device or a mount is gone. */
  run(): void {
    const { exports, closures } = this.#python;
    if (exports.memory.buffer.byteLength > MAX_REWIND_FACTOR * this.#image.heapBytes) {
      throw new Error("the heap has grown too large to be worth a rewind");
    }
    this.#files.restore();
    closures.freeAll();
    writeImage(this.#python, this.#image, { fresh: false });
    exports.__stack_pointer.value = this.#stackPointer;
  }
}

/** The file system as it was when a session started. */
class FileSnapshot {
  readonly #fs: FileSystem;
  readonly #home: string;
  readonly #start: StartNode;
  readonly #firstInode: number;

  constructor(fs: FileSystem, home: string) {
    this.#fs = fs;
    this.#home = home;
    this.#start = this.#describe(fs.root);
    this.#firstInode = fs.nextInode;
  }

  /** Removes what came since the start, closes what is open and goes back home. Throws when a device is gone. */
  restore(): void {
    this.#fs.ignorePermissions = true;
    this.#fs.chdir("/"); // where it was may have to go
    for (const stream of this.#fs.streams) if (stream) closeQuietly(this.#fs, stream.fd);
    const lastInode = this.#restoreFolder("", this.#fs.root, this.#start);
    if (lastInode < this.#firstInode) this.#fs.nextInode = this.#firstInode;
    this.#fs.chdir(this.#home);
    this.#fs.ignorePermissions = false;
  }

  /** What a node is, and what is below it in the same file system. */
  #describe(node: FsNode): StartNode {
    const { mode, rdev, atime, mtime, ctime } = node;
    const children = this.#isOwnFolder(node) ? Object.entries(childrenOf(node)) : [];
    return {
      state: { mode, rdev, atime, mtime, ctime },
      children: new Map(children.map(([name, child]) => [name, this.#describe(child)])),
    };
  }

  /** Gives the highest inode that is there in the end. */
  #restoreFolder(path: string, folder: FsNode, start: StartNode): number {
    for (const [name, node] of Object.entries(childrenOf(folder))) {
      const atStart = start.children.get(name);
      if (atStart && isSame(node, atStart)) continue;
      delete childrenOf(folder)[name];
      this.#forget(node);
    }
    let lastInode = folder.id;
    for (const [name, atStart] of start.children) {
      const node = childrenOf(folder)[name] ?? this.#addFolder(`${path}/${name}`, atStart);
      if (this.#isOwnFolder(node)) {
        lastInode = Math.max(lastInode, this.#restoreFolder(`${path}/${name}`, node, atStart));
      } else {
        Object.assign(node, atStart.state);
        lastInode = Math.max(lastInode, node.id);
      }
    }
    Object.assign(folder, start.state); // at last, as what was done in it has changed its times
    return lastInode;
  }

  #addFolder(path: string, { state }: StartNode): FsNode {
    if (this.#fs.isDir(state.mode)) return this.#fs.mkdir(path);
    throw new Error(`'${path}' is gone`);
  }

  /** Has the file system forget a node and all below it, each once: by their paths, deep ones would take for ever. */
  #forget(node: FsNode): void {
    const waiting = [node];
    for (let at = waiting.pop(); at; at = waiting.pop()) {
      if (at.mounted) throw new Error(`'${at.name}' is not where it was mounted`);
      if (this.#fs.isDir(at.mode)) Object.values(childrenOf(at)).forEach((child) => waiting.push(child));
      this.#fs.destroyNode(at);
    }
  }

  #isOwnFolder({ mode, mount }: FsNode): boolean {
    return this.#fs.isDir(mode) && mount === this.#fs.root.mount;
  }
}

/** A node as it was at the start. */
interface StartNode {
  readonly state: Readonly<NodeState>;
  readonly children: ReadonlyMap<string, StartNode>;
}

function isSame({ mode, rdev }: FsNode, { state }: StartNode): boolean {
  return rdev === state.rdev && (mode & KIND_BITS) === (state.mode & KIND_BITS);
}

function childrenOf(folder: FsNode): Record<string, FsNode> {
  return folder.contents as Record<string, FsNode>;
}

/** What a program may change of a node that it cannot, or does not, take away. */
type NodeState = Pick<FsNode, "mode" | "rdev" | "atime" | "mtime" | "ctime">;

function closeQuietly(fs: FileSystem, fd: number): void {
  try {
    fs.closeStream(fd);
  } catch {
    // a stream whose device fails to close is gone all the same
  }
}
