import type { FileSystem, FsNode, FsStream } from "../emscripten.ts";

const ENOSPC = 51;
const EAGAIN = 6;
const EINVAL = 28;
const EMFILE = 33;
/** Capacity of a pipe, as on Linux. */
const PIPE_BYTES = 65_536;
const NODE_BYTES = 4096;
const [KIND_BITS, FILE, SOCKET] = [0o170000, 0o100000, 0o140000];

/**
 * Limits the total size of the session's writable files, and creates files of Unix sockets. Each file counts its bytes
 * and a block, so that neither a large file nor a million empty ones can fill the host's memory. What exists now does
 * not count.
 */
export function limitFiles(fs: FileSystem, limitBytes: number): void {
  const { ops_table: table } = fs.filesystems.MEMFS as { ops_table: OpsTable };
  const initial = measureUsedBytes(fs);
  let used = 0;

  function charge(bytes: number): void {
    if (bytes <= 0) return;
    if (used + bytes > limitBytes) used = measureUsedBytes(fs) - initial;
    if (used + bytes > limitBytes) throw new fs.ErrnoError(ENOSPC);
    used += bytes;
  }

  const { write } = table.file.stream;
  table.file.stream.write = (stream, buffer, offset, length, position, canOwn) => {
    charge(position + length - stream.node.usedBytes);
    return write(stream, buffer, offset, length, position, canOwn);
  };
  for (const { node: ops } of [table.file, table.dir, table.link, table.chrdev]) {
    const { setattr } = ops;
    ops.setattr = (node, attributes) => {
      const { size, atime = 0, mtime = 0 } = attributes;
      if (![atime, mtime].every(isValidTime)) throw new fs.ErrnoError(EINVAL);
      if (size !== undefined && size !== null) charge(size - node.usedBytes);
      setattr(node, attributes);
    };
  }
  const { mknod, symlink } = table.dir.node;
  table.dir.node.mknod = (parent, name, mode, dev) => {
    charge(NODE_BYTES);
    if ((mode & KIND_BITS) !== SOCKET) return mknod(parent, name, mode, dev);
    const node = mknod(parent, name, mode & ~KIND_BITS | FILE, dev); // Emscripten's own sockets have no operations
    node.mode = mode;
    return node;
  };
  table.dir.node.symlink = (parent, name, target) => {
    charge(NODE_BYTES + target.length);
    return symlink(parent, name, target);
  };
}

/**
 * Limits open streams: all descriptor numbers are below a limit, including those that a program chooses, and a
 * write to a full pipe fails until the pipe is read. Pipes are not files, so the file limit does not cover them.
 */
export function limitStreams(fs: FileSystem): void {
  const limited = new Set<PipeOps>();
  const createStream = fs.createStream.bind(fs);
  fs.createStream = (stream, fd = -1) => {
    const number = fd < 0 ? fs.nextfd() : fd;
    if (number >= fs.MAX_OPEN_FDS) throw new fs.ErrnoError(fd < 0 ? EMFILE : EINVAL);
    const { node, stream_ops: ops } = stream as PipeStream;
    if (node.pipe) fs.destroyNode(node); // a pipe is never looked up by name, and the name table would keep it alive
    if (node.pipe && !limited.has(ops)) {
      const { write } = ops;
      ops.write = (target, buffer, offset, length) => {
        const freeBytes = PIPE_BYTES -
          target.node.pipe.buckets.reduce((sum, { offset, roffset }) => sum + offset - roffset, 0);
        if (freeBytes <= 0 && length > 0) throw new fs.ErrnoError(EAGAIN);
        return write(target, buffer, offset, Math.min(length, freeBytes));
      };
      limited.add(ops);
    }
    return createStream(stream, number);
  };
}

/** True if a value is a valid date. Emscripten crashes on an invalid value. */
function isValidTime(value: number | null): boolean {
  return value === null || !Number.isNaN(new Date(value).getTime());
}

interface PipeOps {
  write(stream: PipeStream, buffer: Int8Array, offset: number, length: number): number;
}

interface PipeStream {
  readonly node: FsNode & {
    readonly pipe: { readonly buckets: readonly { offset: number; roffset: number }[] };
  };
  readonly stream_ops: PipeOps;
}

interface AttributeOps {
  setattr(
    node: FsNode,
    attributes: { size?: number | null; atime?: number | null; mtime?: number | null },
  ): void;
}

interface OpsTable {
  chrdev: { node: AttributeOps };
  link: { node: AttributeOps };
  file: {
    stream: {
      write(
        stream: FsStream,
        buffer: Int8Array,
        offset: number,
        length: number,
        position: number,
        canOwn?: boolean,
      ): number;
    };
    node: AttributeOps;
  };
  dir: {
    node: AttributeOps & {
      mknod(parent: FsNode, name: string, mode: number, dev: number): FsNode;
      symlink(parent: FsNode, name: string, target: string): FsNode;
    };
  };
}

/** Returns the bytes in use: everything in the tree, and open files that were unlinked. */
function measureUsedBytes(fs: FileSystem): number {
  const seen = new Set<FsNode>();
  const open = fs.streams.flatMap((stream) => stream ? [stream.node] : []);
  const waiting = [fs.root, ...open];
  let bytes = 0;
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    if (seen.has(node) || node.mount !== fs.root.mount) continue;
    seen.add(node);
    bytes += NODE_BYTES;
    if (fs.isDir(node.mode)) waiting.push(...Object.values(node.contents as Record<string, FsNode>));
    else if (fs.isFile(node.mode)) bytes += node.usedBytes;
  }
  return bytes;
}
