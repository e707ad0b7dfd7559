import type { FileSystem, FsNode, FsStream } from "./emscripten.ts";

const ENOSPC = 51;
const NODE_BYTES = 4096;

/**
 * Bounds what the session's writable files take together. A file counts its bytes and one block for
 * itself, so that neither a large file nor a million empty ones fill the host's memory.
 */
export function limitFiles(fs: FileSystem, limitBytes: number): void {
  const { ops_table: table } = fs.filesystems.MEMFS as { ops_table: OpsTable };
  let used = 0;

  function charge(bytes: number): void {
    if (bytes <= 0) return;
    if (used + bytes > limitBytes) used = measure(fs);
    if (used + bytes > limitBytes) throw new fs.ErrnoError(ENOSPC);
    used += bytes;
  }

  const { write } = table.file.stream;
  table.file.stream.write = (stream, buffer, offset, length, position, canOwn) => {
    charge(position + length - stream.node.usedBytes);
    return write(stream, buffer, offset, length, position, canOwn);
  };
  const { setattr } = table.file.node;
  table.file.node.setattr = (node, attributes) => {
    if (attributes.size !== undefined && attributes.size !== null) charge(attributes.size - node.usedBytes);
    setattr(node, attributes);
  };
  const { mknod, symlink } = table.dir.node;
  table.dir.node.mknod = (parent, name, mode, dev) => {
    charge(NODE_BYTES);
    return mknod(parent, name, mode, dev);
  };
  table.dir.node.symlink = (parent, name, target) => {
    charge(NODE_BYTES + target.length);
    return symlink(parent, name, target);
  };
}

interface OpsTable {
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
    node: { setattr(node: FsNode, attributes: { size?: number | null }): void };
  };
  dir: {
    node: {
      mknod(parent: FsNode, name: string, mode: number, dev: number): FsNode;
      symlink(parent: FsNode, name: string, target: string): FsNode;
    };
  };
}

/** What is in use now: everything in the tree, and files that are open though unlinked. */
function measure(fs: FileSystem): number {
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
