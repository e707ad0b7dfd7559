import type { FileSystem, FsNode, FsStream, StreamOps } from "./emscripten.ts";

/** A file that is in every session from the start and that none can change. */
export interface ReadOnlyFile {
  readonly path: string;
  readonly contents: Uint8Array;
}

/** Read-only files below one directory; a single file is reached by a link from where it was asked for. */
export interface ReadOnlyTree {
  readonly at: string;
  readonly files: readonly ReadOnlyFile[];
  readonly link?: string;
}

const DIRECTORY_MODE = 0o40555;
const FILE_MODE = 0o100444;
const EROFS = 69;
const EINVAL = 28;
const ENOENT = 44;

/** A file system for {@linkcode FileSystem.mount} whose nodes have no operation that writes. */
export function readOnlyFileSystem(fs: FileSystem, files: readonly ReadOnlyFile[]): unknown {
  const refuse = () => {
    throw new fs.ErrnoError(EROFS);
  };
  const missing = () => {
    throw new fs.ErrnoError(ENOENT);
  };
  const writes = { mknod: refuse, rename: refuse, unlink: refuse, rmdir: refuse, symlink: refuse };
  const nodeOps = { getattr: attributes, setattr: refuse, lookup: missing, readdir: listing, ...writes };
  const streamOps = readingOps(fs);

  function addNode(parent: FsNode | null, name: string, mode: number): FsNode {
    const node = fs.createNode(parent, name, mode, 0);
    node.node_ops = nodeOps;
    node.stream_ops = streamOps;
    node.contents = fs.isDir(mode) ? Object.create(null) : null;
    node.atime = node.mtime = node.ctime = 0;
    if (parent) (parent.contents as Record<string, FsNode>)[name] = node;
    return node;
  }

  function directory(root: FsNode, names: readonly string[]): FsNode {
    return names.reduce((parent, name) => {
      const children = parent.contents as Record<string, FsNode>;
      return children[name] ?? addNode(parent, name, DIRECTORY_MODE);
    }, root);
  }

  function mount(): FsNode {
    const root = addNode(null, "/", DIRECTORY_MODE);
    for (const { path, contents } of files) {
      const names = path.split("/").filter((name) => name !== "");
      const name = names.pop();
      if (name === undefined) continue;
      const node = addNode(directory(root, names), name, FILE_MODE);
      node.contents = new Int8Array(contents.buffer, contents.byteOffset, contents.length) as never;
      node.usedBytes = contents.length;
    }
    return root;
  }

  return { mount };
}

function readingOps(fs: FileSystem): StreamOps {
  return {
    read(stream, buffer, offset, length, position) {
      const contents = stream.node.contents as unknown as Int8Array;
      const count = Math.max(0, Math.min(length, stream.node.usedBytes - position));
      buffer.set(contents.subarray(position, position + count), offset);
      return count;
    },
    llseek(stream: FsStream, offset: number, whence: number) {
      const base = whence === 1 ? stream.position : whence === 2 ? stream.node.usedBytes : 0;
      if (base + offset < 0) throw new fs.ErrnoError(EINVAL);
      return base + offset;
    },
  };
}

function attributes(node: FsNode): object {
  const time = new Date(node.mtime);
  const size = node.usedBytes ?? 4096;
  return {
    ...{ dev: 1, ino: node.id, mode: node.mode, nlink: 1, uid: 0, gid: 0, rdev: 0, size },
    ...{ atime: time, mtime: time, ctime: time, blksize: 4096, blocks: Math.ceil(size / 4096) },
  };
}

function listing(node: FsNode): string[] {
  return [".", "..", ...Object.keys(node.contents as Record<string, FsNode>)];
}
