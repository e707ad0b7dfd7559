import type { FileSystem, FsNode } from "./emscripten.ts";

const O_RDWR = 2;
/** The bits of a mode that say what a node is. */
const KIND_BITS = 0o170000;

/** The files of one session: in and out under its home, and back to how they were at the start. */
export class SessionFiles {
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

  /** Writes one file under the home, with the directories above it. Throws on a path that leads out. */
  put(path: string, contents: Uint8Array): void {
    const names = this.#jailed(path);
    const name = names.pop() as string;
    let at = this.#home;
    for (const step of names) {
      at += `/${step}`;
      this.#refuseLink(at);
      this.#fs.mkdirTree(at);
    }
    this.#refuseLink(`${at}/${name}`);
    this.#fs.writeFile(`${at}/${name}`, contents);
  }

  /** Reads one file under the home. Throws when it is missing, no file, or reached by a link. */
  get(path: string): Uint8Array {
    let at = this.#home;
    for (const step of this.#jailed(path)) {
      at += `/${step}`;
      this.#refuseLink(at);
    }
    const { node } = this.#fs.lookupPath(at, { follow: false });
    if (!this.#fs.isFile(node.mode)) throw new Error(`'${path}' is not a file`);
    return (node.contents as Uint8Array).subarray(0, node.usedBytes);
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

  /** Opens descriptors 0 to 3 again when the guest has closed them. */
  openStandard(): void {
    STANDARD.forEach((path, fd) => {
      if (!this.#fs.streams[fd]) this.#fs.open(path, O_RDWR);
    });
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

  #refuseLink(path: string): void {
    let node: FsNode;
    try {
      node = this.#fs.lookupPath(path, { follow: false }).node;
    } catch {
      return; // nothing is there yet
    }
    if (this.#fs.isLink(node.mode)) throw new Error(`'${path}' is a symbolic link`);
  }

  /** The steps of a path under the home. Throws on one that is absolute, climbs, or is odd. */
  #jailed(path: string): string[] {
    const inside = path.startsWith(`${this.#home}/`) ? path.slice(this.#home.length + 1) : path;
    const names = inside.split("/").filter((name) => name !== "" && name !== ".");
    const odd = inside.startsWith("/") || inside.includes("\0") || path.length > 4096 || names.length === 0;
    if (odd || names.includes("..")) throw new Error(`'${path}' is not a path under the working directory`);
    return names;
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

/** The devices behind descriptors 0 to 3. */
export const STANDARD: readonly string[] = ["/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/paddock"];

/** What a program may change of a node that it cannot, or does not, take away. */
type NodeState = Pick<FsNode, "mode" | "rdev" | "atime" | "mtime" | "ctime">;

function closeQuietly(fs: FileSystem, fd: number): void {
  try {
    fs.closeStream(fd);
  } catch {
    // a stream whose device fails to close is gone all the same
  }
}
