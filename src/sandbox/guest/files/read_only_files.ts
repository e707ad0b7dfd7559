import type { FileSystem, FsMount, FsNode, FsStream, StreamOps } from "../emscripten.ts";

/** A file that every session has from its start and that none can change. */
export interface ReadOnlyFile {
  readonly path: string;
  readonly contents: Uint8Array;
}

/** Read-only files below the directory `at`. A single file with an empty path is mounted at `at` itself. */
export interface ReadOnlyTree {
  readonly at: string;
  readonly files: readonly ReadOnlyFile[];
}

const DIRECTORY_MODE = 0o40555;
const FILE_MODE = 0o100444;
const PROGRAM_MODE = 0o100555;
const EROFS = 69;
const EINVAL = 28;
const ENOENT = 44;

/** Mounts a tree. Its mount point can then be neither removed nor renamed. */
export function mountReadOnly(fs: FileSystem, { at, files }: ReadOnlyTree): void {
  const system = createReadOnlyFileSystem(fs, files);
  if (files[0]?.path === "") {
    fs.mkdirTree(at.slice(0, at.lastIndexOf("/")) || "/");
    fs.writeFile(at, new Uint8Array(0));
    mountAtFile(fs, at, system);
  } else {
    fs.mkdirTree(at);
    fs.mount(system, {}, at);
  }
}

/** Adds commands as empty files, so that `which` and `ls` find them. */
export function mountCommands(fs: FileSystem, names: readonly string[]): void {
  const files = names.map((name) => ({ path: `/${name}`, contents: new Uint8Array(0) }));
  fs.mkdirTree("/usr/bin");
  fs.mount(createReadOnlyFileSystem(fs, files, { isExecutable: true }), {}, "/usr/bin");
  fs.symlink("/usr/bin", "/bin");
}

/** Mounts at a file, which {@linkcode FileSystem.mount} does not support. */
function mountAtFile(fs: FileSystem, at: string, system: MountableSystem): void {
  const { node } = fs.lookupPath(at);
  const root = system.mount();
  const mount: FsMount = { type: system, opts: {}, mountpoint: at, mounts: [], root };
  root.mount = mount;
  node.mounted = mount;
  node.mount.mounts.push(mount);
}

interface MountableSystem {
  mount(): FsNode;
}

/** Returns a file system for {@linkcode FileSystem.mount} whose nodes have no write operations. */
function createReadOnlyFileSystem(
  fs: FileSystem,
  files: readonly ReadOnlyFile[],
  options: { isExecutable?: boolean } = {},
): MountableSystem {
  const fileMode = options.isExecutable ? PROGRAM_MODE : FILE_MODE;
  const rejectWrite = () => {
    throw new fs.ErrnoError(EROFS);
  };
  const rejectLookup = () => {
    throw new fs.ErrnoError(ENOENT);
  };
  const writes = {
    mknod: rejectWrite,
    rename: rejectWrite,
    unlink: rejectWrite,
    rmdir: rejectWrite,
    symlink: rejectWrite,
  };
  const nodeOps = {
    getattr: statOf,
    setattr: rejectWrite,
    lookup: rejectLookup,
    readdir: listNames,
    ...writes,
  };
  const streamOps = createReadOps(fs);

  function addNode(parent: FsNode | null, name: string, mode: number): FsNode {
    const node = fs.createNode(parent, name, mode, 0);
    node.node_ops = nodeOps;
    node.stream_ops = streamOps;
    node.contents = fs.isDir(mode) ? Object.create(null) : null;
    node.atime = node.mtime = node.ctime = 0;
    if (parent) (parent.contents as Record<string, FsNode>)[name] = node;
    return node;
  }

  function addDirectories(root: FsNode, names: readonly string[]): FsNode {
    return names.reduce((parent, name) => {
      const children = parent.contents as Record<string, FsNode>;
      return children[name] ?? addNode(parent, name, DIRECTORY_MODE);
    }, root);
  }

  function addFile(parent: FsNode | null, name: string, contents: Uint8Array): FsNode {
    const node = addNode(parent, name, fileMode);
    node.contents = new Int8Array(contents.buffer, contents.byteOffset, contents.length) as never;
    node.usedBytes = contents.length;
    return node;
  }

  function mount(): FsNode {
    const [first] = files;
    if (first?.path === "") return addFile(null, "/", first.contents);
    const root = addNode(null, "/", DIRECTORY_MODE);
    for (const { path, contents } of files) {
      const names = path.split("/").filter((name) => name !== "");
      const name = names.pop();
      if (name !== undefined) addFile(addDirectories(root, names), name, contents);
    }
    return root;
  }

  return { mount };
}

function createReadOps(fs: FileSystem): StreamOps {
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

function statOf(node: FsNode): object {
  const time = new Date(node.mtime);
  const size = node.usedBytes ?? 4096;
  return {
    dev: 1,
    ino: node.id,
    mode: node.mode,
    nlink: 1,
    uid: 0,
    gid: 0,
    rdev: 0,
    size,
    atime: time,
    mtime: time,
    ctime: time,
    blksize: 4096,
    blocks: Math.ceil(size / 4096),
  };
}

function listNames(node: FsNode): string[] {
  return [".", "..", ...Object.keys(node.contents as Record<string, FsNode>)];
}
