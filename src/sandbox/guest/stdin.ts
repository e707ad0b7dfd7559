import type { FileSystem, FsNode, FsStream, StreamOps } from "./emscripten.ts";

const EMPTY = new Uint8Array(0);
const EBADF = 8;
const FILE_MODE = 0o100600;
const DEVICE_MODE = 0o020666;

/** Attributes of a node, as Emscripten's `getattr` returns them. */
interface NodeAttributes {
  readonly mode: number;
  readonly size: number;
  readonly blksize: number;
  readonly blocks: number;
}

interface NodeOps {
  readonly getattr: (node: FsNode) => NodeAttributes;
}

/** The parts of a node that the operations of a file in memory read. */
type FileNode = Pick<FsNode, "mode" | "contents" | "usedBytes">;

const NO_FILE: FileNode = { mode: DEVICE_MODE, contents: EMPTY, usedBytes: 0 };

/**
 * The standard input of an exec. Bytes that the host gives are a regular file, as in `python main.py < file`: a
 * program can read the size, seek, and map the file. Without bytes, stdin is an empty device, as in
 * `python main.py < /dev/null`.
 */
export class Stdin {
  readonly #fs: FileSystem;
  readonly #node: FsNode;
  #file: FileNode = NO_FILE;

  /** Makes the node of a device the node of stdin. The device needs {@linkcode Stdin.operations}. */
  constructor(fs: FileSystem, node: FsNode) {
    this.#fs = fs;
    this.#node = node;
    const ops = node.node_ops as NodeOps;
    node.node_ops = { ...ops, getattr: (target: FsNode) => this.#describe(ops.getattr(target)) };
  }

  /** Sets the bytes of the next exec, and moves the open descriptors to the beginning. */
  set(contents: Uint8Array | undefined): void {
    this.#file = contents ? { mode: FILE_MODE, contents, usedBytes: contents.length } : NO_FILE;
    for (const stream of this.#fs.streams) {
      if (stream?.node === this.#node) stream.position = 0;
    }
  }

  /** Returns the operations of the device's streams. */
  operations(): StreamOps {
    const { MEMFS } = this.#fs.filesystems as { MEMFS?: { ops_table: unknown } };
    const { stream: file } = (MEMFS?.ops_table as { file: { stream: Required<StreamOps> } }).file;
    const operations = {
      getattr: ({ node }: FsStream) => (node.node_ops as NodeOps).getattr(node),
    };
    return {
      ...operations,
      read: (_stream, buffer, offset, length, position) => {
        return file.read(this.#asFile(position), buffer, offset, length, position);
      },
      write: () => {
        throw new this.#fs.ErrnoError(EBADF);
      },
      llseek: (stream, offset, whence) => {
        return this.#file === NO_FILE ? 0 : file.llseek(this.#asFile(stream.position), offset, whence);
      },
      mmap: (stream, ...range) => file.mmap(this.#asFile(stream.position), ...range),
    };
  }

  /** Returns a stream of a file in memory with the bytes of stdin. */
  #asFile(position: number): FsStream {
    return { fd: 0, flags: 0, position, node: this.#file as FsNode };
  }

  #describe(device: NodeAttributes): NodeAttributes {
    if (this.#file === NO_FILE) return device;
    const { mode, usedBytes: size } = this.#file;
    return { ...device, mode, size, blocks: Math.ceil(size / device.blksize) };
  }
}
