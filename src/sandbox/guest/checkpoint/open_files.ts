import type { FileSystem, FsNode, FsStream } from "../emscripten.ts";
import { requireCount, requireItems, requireText } from "./parts.ts";

const MAX_PATH_CHARACTERS = 1 << 20;
const MAX_FLAGS = 2 ** 31 - 1;

/** An open file: its node by index, or by path if it is on a read-only mount, and the descriptors that share it. */
export interface OpenFile {
  readonly fds: readonly number[];
  readonly node: number | string;
  readonly path: string;
  readonly flags: number;
  readonly position: number;
  /** Names that a program reads from an open folder. */
  readonly names?: readonly string[];
}

/** A stream with those fields of Emscripten that it has beside {@linkcode FsStream}. */
interface SharedStream extends FsStream {
  readonly path: string;
  readonly shared: object;
  getdents?: readonly string[] | null;
  stream_ops: { open?(stream: FsStream): void };
}

/** Returns the open files. Throws if an open file is a pipe, whose contents no checkpoint has. */
export function captureOpenFiles(fs: FileSystem, indexes: ReadonlyMap<FsNode, number>): OpenFile[] {
  const files = new Map<object, OpenFile & { fds: number[] }>();
  for (const stream of openStreams(fs)) {
    const { fd, node, path, flags, position, shared, getdents } = stream;
    const known = files.get(shared);
    if (known) {
      known.fds.push(fd);
      continue;
    }
    if ("pipe" in node || "sock" in node) {
      throw new Error(`Cannot make checkpoint as descriptor ${fd} is a pipe: close it first`);
    }
    files.set(shared, {
      fds: [fd],
      node: indexes.get(node) ?? fs.getPath(node),
      path,
      flags,
      position,
      ...(getdents && { names: getdents }),
    });
  }
  return [...files.values()];
}

/** Returns the nodes of all open files. */
export function openNodes(fs: FileSystem): FsNode[] {
  return openStreams(fs).map(({ node }) => node);
}

/** Opens files as they were. No descriptor may be open. `nodes` are the nodes of the restored tree. */
export function restoreOpenFiles(
  fs: FileSystem,
  files: readonly OpenFile[],
  nodes: readonly FsNode[],
): void {
  fs.ignorePermissions = true;
  try {
    for (const { fds: [first, ...others], node: place, path, flags, position, names } of files) {
      const node = typeof place === "number" ? nodes[place] as FsNode : fs.lookupPath(place).node;
      const { stream_ops } = node as { stream_ops: unknown };
      const fields = {
        node,
        path,
        flags,
        seekable: true,
        position: 0,
        stream_ops,
        ungotten: [],
        error: false,
      };
      const stream = fs.createStream(fields, first) as SharedStream;
      stream.stream_ops?.open?.(stream); // that of a device sets its operations
      stream.position = position;
      if (names) stream.getdents = names;
      for (const fd of others) fs.createStream(stream, fd);
    }
  } finally {
    fs.ignorePermissions = false;
  }
}

/** Parses the open files of a checkpoint with so many nodes. */
export function parseOpenFiles(
  value: readonly OpenFile[],
  nodes: number,
  maxFds: number,
): readonly OpenFile[] {
  const used = new Set<unknown>();
  for (const file of requireItems(value) as readonly (OpenFile | null)[]) {
    if (file === null) throw new Error("Cannot restore open files as one is null");
    const { fds, node, path, flags, position, names } = file;
    if (requireItems(fds).length === 0) throw new Error("Cannot restore open files as one has no descriptor");
    for (const fd of fds) {
      requireCount(fd, maxFds - 1);
      if (used.has(fd)) throw new Error(`Cannot restore open files as descriptor ${fd} is open twice`);
      used.add(fd);
    }
    if (typeof node === "number") requireCount(node, nodes - 1);
    else requireText(node, MAX_PATH_CHARACTERS);
    requireText(path, MAX_PATH_CHARACTERS);
    requireCount(flags, MAX_FLAGS);
    requireCount(position, Number.MAX_SAFE_INTEGER);
    if (names !== undefined) requireItems(names).forEach((name) => requireText(name, MAX_PATH_CHARACTERS));
  }
  return value;
}

function openStreams(fs: FileSystem): SharedStream[] {
  return fs.streams.filter((stream) => stream !== null && stream !== undefined) as SharedStream[];
}
