import type { FileSystem, FsNode } from "./emscripten.ts";

const O_RDWR = 2;
/** The bits of a mode that say what a node is. */
const KIND_BITS = 0o170000;

/** The files of one session: in and out under its home, and back to how they were at the start. */
export class SessionFiles {
  readonly #fs: FileSystem;
  readonly #home: string;
  readonly #base: ReadonlyMap<string, Readonly<NodeState>>;
  readonly #firstInode: number;

  constructor(fs: FileSystem, home: string) {
    this.#fs = fs;
    this.#home = home;
    this.#base = new Map(this.#nodes(fs.root, "").map(([path, node]) => [path, stateOf(node)]));
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
    for (const [path, node] of this.#nodes(this.#fs.root, "").reverse()) {
      if (path !== "" && !this.#isOfStart(path, node)) this.#remove(path);
    }
    for (const [path, { mode }] of this.#base) if (this.#fs.isDir(mode)) this.#fs.mkdirTree(path || "/");
    this.#restoreStates();
    this.#fs.chdir(this.#home);
    this.#fs.ignorePermissions = false;
  }

  /** Opens descriptors 0 to 3 again when the guest has closed them. */
  openStandard(): void {
    STANDARD.forEach((path, fd) => {
      if (!this.#fs.streams[fd]) this.#fs.open(path, O_RDWR);
    });
  }

  #isOfStart(path: string, { mode, rdev }: FsNode): boolean {
    const atStart = this.#base.get(path);
    return atStart !== undefined && atStart.rdev === rdev &&
      (atStart.mode & KIND_BITS) === (mode & KIND_BITS);
  }

  #restoreStates(): void {
    const nodes = new Map(this.#nodes(this.#fs.root, ""));
    for (const [path, state] of this.#base) {
      const node = nodes.get(path);
      if (!node) throw new Error(`'${path}' is gone`);
      Object.assign(node, state);
    }
    const isAnew = [...nodes.values()].some(({ id }) => id >= this.#firstInode);
    if (!isAnew) this.#fs.nextInode = this.#firstInode;
  }

  #remove(path: string): void {
    const { node } = this.#fs.lookupPath(path, { follow: false });
    if (this.#fs.isDir(node.mode)) this.#fs.rmdir(path);
    else this.#fs.unlink(path);
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

  /** Every node of the root file system by its path, parents before children; the root's own is empty. */
  #nodes(node: FsNode, path: string): [string, FsNode][] {
    const found: [string, FsNode][] = [[path, node]];
    if (!this.#fs.isDir(node.mode) || node.mount !== this.#fs.root.mount) return found;
    for (const [name, child] of Object.entries(node.contents as Record<string, FsNode>)) {
      for (const inner of this.#nodes(child, `${path}/${name}`)) found.push(inner);
    }
    return found;
  }
}

/** The devices behind descriptors 0 to 3. */
export const STANDARD: readonly string[] = ["/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/paddock"];

/** What a program may change of a node that it cannot, or does not, take away. */
type NodeState = Pick<FsNode, "mode" | "rdev" | "atime" | "mtime" | "ctime">;

function stateOf({ mode, rdev, atime, mtime, ctime }: FsNode): NodeState {
  return { mode, rdev, atime, mtime, ctime };
}

function closeQuietly(fs: FileSystem, fd: number): void {
  try {
    fs.closeStream(fd);
  } catch {
    // a stream whose device fails to close is gone all the same
  }
}
