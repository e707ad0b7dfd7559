import type { FileSystem, FsNode } from "../emscripten.ts";
import { requireCount, requireItems, requireName, requireText, requireTime } from "./parts.ts";

/** Bits of a mode that encode the kind of a node. */
const KIND_BITS = 0o170000;
const [FILE, FOLDER, LINK, DEVICE, SOCKET] = [0o100000, 0o040000, 0o120000, 0o020000, 0o140000];
/** Kinds of nodes with a number: a size, or the number of a device. */
const COUNTED: readonly number[] = [FILE, FOLDER, DEVICE, SOCKET];
const MAX_LINK_CHARACTERS = 4096;
const MAX_MODE = 0o177777;
const MAX_INODE = 2 ** 31;
const NO_PARENT = -1;
/** Name of a removed file while it is created again. */
const REMOVED_NAME = ".paddock-removed";

/**
 * A node of the tree: the index of its folder, its name, inode, mode, access, change and status times in milliseconds,
 * and its bytes, target or device number. The first node is the root. A node that is removed but open has no folder.
 */
export type TreeNode = readonly [
  parent: number,
  name: string,
  inode: number,
  mode: number,
  times: readonly [number, number, number],
  rest: number | string,
];

/** The files of a session, without their contents. */
export interface TreeImage {
  readonly nodes: readonly TreeNode[];
  readonly nextInode: number;
  readonly workingFolder: string;
}

/** A captured tree, the contents of its files in the order of the nodes, and the index of each node. */
export interface CapturedTree {
  readonly image: TreeImage;
  readonly contents: readonly Uint8Array[];
  readonly indexes: ReadonlyMap<FsNode, number>;
}

/** The file system, with the field in which Emscripten keeps the working directory. */
export type WorkingFileSystem = FileSystem & { currentPath: string };

interface FolderOps {
  mknod(parent: FsNode, name: string, mode: number, device: number): FsNode;
  symlink(parent: FsNode, name: string, target: string): FsNode;
}

/** Captures the files of a session, and restores them in a tree that is in the state after the start. */
export class FileTree {
  readonly #fs: WorkingFileSystem;
  /** Inodes of the nodes at the start, by path. */
  readonly #start = new Map<string, number>();

  /** Records the nodes at the start. */
  constructor(fs: FileSystem) {
    this.#fs = fs as WorkingFileSystem;
    this.#walk((path, node) => void this.#start.set(path, node.id));
  }

  /** Throws if a mount was moved. `removed` has open nodes, of which some may not be in the tree. */
  capture(open: Iterable<FsNode>): CapturedTree {
    const indexes = new Map<FsNode, number>();
    const nodes: TreeNode[] = [];
    const contents: Uint8Array[] = [];
    const add = (node: FsNode, parent: number) => {
      indexes.set(node, nodes.length);
      nodes.push(describe(node, parent));
      if (kindOf(node) === FILE) contents.push(bytesOf(node));
    };
    this.#walk((path, node) => {
      if (node.mounted && this.#start.get(path) !== node.id) {
        throw new Error(`Cannot capture files as a mount was moved to '${path}'`);
      }
      add(node, indexes.get(node.parent) ?? NO_PARENT);
    });
    for (const node of open) {
      if (indexes.has(node) || node.mount !== this.#fs.root.mount) continue;
      if (kindOf(node) !== FILE && kindOf(node) !== FOLDER) {
        throw new Error(`Cannot capture files as a removed device is open: '${node.name}'`);
      }
      add(node, NO_PARENT);
    }
    const { nextInode, currentPath } = this.#fs;
    return { image: { nodes, nextInode, workingFolder: currentPath }, contents, indexes };
  }

  /** Restores files. The tree must be in the state after the start. Returns the nodes in the order of the image. */
  restore(image: TreeImage, contents: (bytes: number) => Uint8Array): FsNode[] {
    const fs = this.#fs;
    fs.ignorePermissions = true;
    try {
      this.#removeMissing(image);
      const nodes: FsNode[] = [];
      for (const entry of image.nodes) nodes.push(this.#add(entry, nodes, contents));
      nodes.forEach((node, index) => setState(node, image.nodes[index] as TreeNode));
      for (const node of nodes) if (kindOf(node) === FOLDER && !node.mounted) orderChildren(node, nodes);
      fs.nextInode = image.nextInode;
      fs.currentPath = image.workingFolder;
      return nodes;
    } finally {
      fs.ignorePermissions = false;
    }
  }

  /** Calls `visit` with each node of the root's file system, folders before what is in them. */
  #walk(visit: (path: string, node: FsNode) => void): void {
    const { root } = this.#fs;
    const waiting: [string, FsNode][] = [["", root]];
    for (let at = waiting.pop(); at; at = waiting.pop()) {
      const [path, node] = at;
      visit(path, node);
      if (kindOf(node) !== FOLDER || node.mount !== root.mount || node.mounted && node !== root) continue;
      for (const [name, child] of Object.entries(childrenOf(node)).reverse()) {
        waiting.push([`${path}/${name}`, child]);
      }
    }
  }

  /** Removes nodes of the start that are not in the image. */
  #removeMissing(image: TreeImage): void {
    const paths: string[] = [];
    const kept = new Set<string>();
    image.nodes.forEach(([parent, name, inode], index) => {
      const path = paths[index] = parent === NO_PARENT ? "" : `${paths[parent]}/${name}`;
      if (this.#start.get(path) === inode) kept.add(path);
    });
    const removed: [string, FsNode][] = [];
    this.#walk((path, node) => {
      if (!kept.has(path)) removed.push([path, node]);
    });
    for (const [path, node] of removed.reverse()) {
      if (node.mounted) throw new Error(`Cannot restore files as they have no mount '${path}'`);
      delete childrenOf(node.parent)[node.name];
      this.#fs.destroyNode(node);
    }
  }

  /** Returns the node of an entry: the node of the start, or a new node. */
  #add(entry: TreeNode, nodes: readonly FsNode[], contents: (bytes: number) => Uint8Array): FsNode {
    const [parentIndex, name, inode, mode, , rest] = entry;
    if (nodes.length === 0) return this.#fs.root;
    const isRemoved = parentIndex === NO_PARENT;
    const parent = isRemoved ? this.#fs.root : nodes[parentIndex] as FsNode;
    const existing = childOf(parent, isRemoved ? REMOVED_NAME : name);
    if (existing && (existing.id !== inode || isRemoved)) {
      throw new Error(`Cannot restore files as '${name}' exists twice`);
    }
    if (existing && (existing.mode ^ mode) & KIND_BITS) {
      throw new Error(`Cannot restore files as '${name}' is of another kind`);
    }
    const node = existing ?? this.#create(parent, entry);
    if ((mode & KIND_BITS) === FILE && !node.mounted) this.#fill(node, contents(rest as number));
    if (isRemoved) {
      delete childrenOf(parent)[REMOVED_NAME];
      this.#fs.destroyNode(node);
      node.name = name;
    }
    return node;
  }

  #create(parent: FsNode, [parentIndex, name, inode, mode, , rest]: TreeNode): FsNode {
    this.#fs.nextInode = inode;
    const ops = parent.node_ops as FolderOps;
    const newName = parentIndex === NO_PARENT ? REMOVED_NAME : name;
    if ((mode & KIND_BITS) === LINK) return ops.symlink(parent, newName, rest as string);
    return ops.mknod(parent, newName, mode, (mode & KIND_BITS) === DEVICE ? rest as number : 0);
  }

  /** Gives a file its contents. The size is set first, as that is what the limit of files counts. */
  #fill(node: FsNode, contents: Uint8Array): void {
    const { setattr } = node.node_ops as { setattr(node: FsNode, attributes: { size: number }): void };
    setattr(node, { size: contents.length });
    node.contents = contents.slice();
    node.usedBytes = contents.length;
  }
}

/**
 * Parses the files of a checkpoint. No name has more than a single part, and each folder comes before what is in it.
 */
export function parseTree(value: TreeImage): TreeImage {
  const nodes = requireItems(value.nodes);
  const inodes = new Set<number>();
  nodes.forEach((node, index) => {
    const [parent, name, inode, mode, times, rest] = requireItems(node);
    requireCount(inode, MAX_INODE);
    inodes.add(inode as number);
    requireItems(times, 3).forEach(requireTime);
    if (parent !== NO_PARENT) {
      const folder = nodes[requireCount(parent, index - 1)] as TreeNode;
      if ((folder[3] & KIND_BITS) !== FOLDER) {
        throw new Error(`Cannot restore files as '${name}' is in no folder`);
      }
    }
    if (index > 0) requireName(name);
    const kind = requireCount(mode, MAX_MODE) & KIND_BITS;
    if (kind === LINK) requireText(rest, MAX_LINK_CHARACTERS);
    else if (COUNTED.includes(kind)) requireCount(rest, Number.MAX_SAFE_INTEGER);
    else throw new Error(`Cannot restore files as '${name}' is of an unknown kind`);
  });
  if (inodes.size !== nodes.length) throw new Error("Cannot restore files as two have one inode");
  requireCount(value.nextInode, MAX_INODE);
  if (!requireText(value.workingFolder, 1 << 20).startsWith("/")) {
    throw new Error("Cannot restore files as the working directory is no absolute path");
  }
  return value;
}

/** Number of bytes of the contents of all files. */
export function contentBytes({ nodes }: TreeImage): number {
  return nodes.reduce(
    (sum, [, , , mode, , rest]) => (mode & KIND_BITS) === FILE ? sum + (rest as number) : sum,
    0,
  );
}

function describe(node: FsNode, parent: number): TreeNode {
  const { name, id, mode, rdev, link, atime, mtime, ctime } = node;
  const kind = kindOf(node);
  const rest = kind === FILE ? bytesOf(node).length : kind === LINK ? link : kind === DEVICE ? rdev : 0;
  return [parent, name, id, mode, [atime, mtime, ctime], rest];
}

function setState(node: FsNode, [, , , mode, [atime, mtime, ctime]]: TreeNode): void {
  Object.assign(node, { mode, atime, mtime, ctime });
}

/** Lists a folder's contents in the order of the image, in which programs see them. */
function orderChildren(folder: FsNode, nodes: readonly FsNode[]): void {
  const children = childrenOf(folder);
  const rank = new Map(nodes.map((node, index) => [node, index]));
  const names = Object.keys(children);
  const sorted = names.toSorted((a, b) =>
    (rank.get(children[a] as FsNode) ?? 0) - (rank.get(children[b] as FsNode) ?? 0)
  );
  if (sorted.every((name, index) => name === names[index])) return;
  for (const name of sorted) {
    const node = children[name] as FsNode;
    delete children[name];
    children[name] = node;
  }
}

/** The contents of a file. A mounted file has the contents of its mount. */
function bytesOf(node: FsNode): Uint8Array {
  const contents = node.contents as Uint8Array | null;
  if (!contents || node.mounted) return new Uint8Array(0);
  return new Uint8Array(contents.buffer, contents.byteOffset, Math.min(node.usedBytes, contents.byteLength));
}

function kindOf({ mode }: FsNode): number {
  return mode & KIND_BITS;
}

function childrenOf(folder: FsNode): Record<string, FsNode> {
  return folder.contents as Record<string, FsNode>;
}

/** Returns the node of this name in a folder. A name such as `constructor` must not find what every object has. */
function childOf(folder: FsNode, name: string): FsNode | undefined {
  const children = childrenOf(folder);
  return Object.hasOwn(children, name) ? children[name] : undefined;
}
