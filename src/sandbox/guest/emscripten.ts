/** The parts of Emscripten and of CPython's C API that the guest uses, typed. */

/** A number that stands for an address in the Wasm heap. */
export type Pointer = number;

/** A node of Emscripten's in-memory tree. */
export interface FsNode {
  id: number;
  name: string;
  mode: number;
  rdev: number;
  parent: FsNode;
  /** The file system that it belongs to. */
  mount: FsMount;
  /** The file system that covers it, where one is mounted on it. */
  mounted?: FsMount | null;
  contents: Uint8Array | Record<string, FsNode> | null;
  usedBytes: number;
  link: string;
  atime: number;
  mtime: number;
  ctime: number;
  node_ops: unknown;
  stream_ops: unknown;
}

/** A file system that is in its place. */
export interface FsMount {
  type: unknown;
  opts: object;
  mountpoint: string;
  mounts: FsMount[];
  root: FsNode;
}

/** An open file of Emscripten's. */
export interface FsStream {
  fd: number;
  node: FsNode;
  position: number;
  flags: number;
}

/** What is known of a node. */
export interface FsStat {
  ino: number;
  mode: number;
  size: number;
  mtime: Date;
}

/** What a device or a file does when it is read or written. */
export interface StreamOps {
  open?(stream: FsStream): void;
  close?(stream: FsStream): void;
  read?(stream: FsStream, buffer: Int8Array, offset: number, length: number, position: number): number;
  write?(stream: FsStream, buffer: Int8Array, offset: number, length: number, position?: number): number;
  llseek?(stream: FsStream, offset: number, whence: number): number;
  mmap?(stream: FsStream, length: number, position: number, prot: number, flags: number): unknown;
  msync?(): number;
}

/** Emscripten's file system. */
export interface FileSystem {
  root: FsNode;
  ignorePermissions: boolean;
  streams: (FsStream | null)[];
  readonly MAX_OPEN_FDS: number;
  nodes: unknown;
  /** The number of the node that is made next. */
  nextInode: number;
  filesystems: Record<string, MemoryFileSystem>;
  ErrnoError: new (errno: number) => Error;
  createNode(parent: FsNode | null, name: string, mode: number, rdev?: number): FsNode;
  createStream(stream: object, fd?: number): FsStream;
  mkdirTree(path: string, mode?: number): void;
  mkdev(path: string, mode: number, dev: number): FsNode;
  makedev(major: number, minor: number): number;
  registerDevice(dev: number, ops: StreamOps): void;
  mount(type: unknown, options: object, path: string): unknown;
  chdir(path: string): void;
  readdir(path: string): string[];
  stat(path: string): FsStat;
  lstat(path: string): FsStat;
  mkdir(path: string, mode?: number): FsNode;
  rename(from: string, to: string): void;
  chmod(path: string, mode: number): void;
  utime(path: string, atimeMs: number, mtimeMs: number): void;
  readlink(path: string): string;
  read(stream: FsStream, buffer: Uint8Array, offset: number, length: number): number;
  write(stream: FsStream, buffer: Uint8Array, offset: number, length: number): number;
  readFile(path: string): Uint8Array;
  writeFile(path: string, data: Uint8Array): void;
  lookupPath(path: string, options?: { follow?: boolean }): { path: string; node: FsNode };
  getPath(node: FsNode): string;
  symlink(target: string, path: string): void;
  unlink(path: string): void;
  rmdir(path: string): void;
  open(path: string, flags: number): FsStream;
  close(stream: FsStream): void;
  closeStream(fd: number): void;
  destroyNode(node: FsNode): void;
  isDir(mode: number): boolean;
  isFile(mode: number): boolean;
  isLink(mode: number): boolean;
}

/** Emscripten's tree of files in JavaScript memory. */
export interface MemoryFileSystem {
  ops_table: unknown;
}

/** The exports that the guest itself uses in a restored interpreter; see {@linkcode PythonExports}. */
export const CALLED_BY_GUEST: readonly string[] = [
  "memory",
  "__stack_pointer",
  "PyBytes_FromStringAndSize",
  "PyBytes_AsString",
  "PyBytes_Size",
  "PyObject_CallOneArg",
  "Py_DecRef",
];

/** The C functions that the guest calls in the Wasm instance. */
export interface PythonExports {
  memory: WebAssembly.Memory;
  __stack_pointer: WebAssembly.Global;
  PyBytes_FromStringAndSize(data: Pointer, size: number): Pointer;
  PyBytes_AsString(bytes: Pointer): Pointer;
  PyBytes_Size(bytes: Pointer): number;
  PyObject_CallOneArg(callable: Pointer, argument: Pointer): Pointer;
  Py_IncRef(object: Pointer): void;
  Py_DecRef(object: Pointer): void;
  PyThreadState_Get(): Pointer;
  PyUnstable_ThreadState_SetStackProtection(thread: Pointer, start: Pointer, bytes: number): number;
  malloc(bytes: number): Pointer;
  free(address: Pointer): void;
  sbrk(bytes: number): Pointer;
  emscripten_stack_get_base(): Pointer;
  emscripten_stack_get_end(): Pointer;
}

/** What is handed to the module's factory, and what it becomes. */
export interface EmscriptenModule {
  FS: FileSystem;
  HEAP8: Int8Array;
  ENV: Record<string, string>;
  Py_EmscriptenSignalBuffer: Uint8Array;
  _Py_EMSCRIPTEN_SIGNAL_HANDLING: Pointer;
  [name: string]: unknown;
}

/** The default export of `pyodide.asm.mjs`. */
export type ModuleFactory = (settings: Record<string, unknown>) => Promise<EmscriptenModule>;
