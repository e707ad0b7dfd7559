/** Types of the parts of Emscripten and of CPython's C API that the guest uses. */

/** An address in the Wasm heap. */
export type Pointer = number;

/** A node of Emscripten's in-memory file system. */
export interface FsNode {
  id: number;
  name: string;
  mode: number;
  rdev: number;
  parent: FsNode;
  /** The mount that the node belongs to. */
  mount: FsMount;
  /** The mount on this node, if it is a mount point. */
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

/** A mounted file system. */
export interface FsMount {
  type: unknown;
  opts: object;
  mountpoint: string;
  mounts: FsMount[];
  root: FsNode;
}

/** An open file. */
export interface FsStream {
  fd: number;
  node: FsNode;
  position: number;
  flags: number;
}

/** Result of `stat`. */
export interface FsStat {
  ino: number;
  mode: number;
  size: number;
  atime: Date;
  mtime: Date;
  ctime: Date;
}

/** Operations of a device or a file. */
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
  /** Returns the lowest number that no stream has, which may be `MAX_OPEN_FDS`. */
  nextfd(): number;
  nodes: unknown;
  /** Number of the next new node. */
  nextInode: number;
  filesystems: Record<string, MemoryFileSystem>;
  ErrnoError: new (errno: number) => Error;
  /** Sizes in blocks of `bsize` bytes, and numbers of files. `os.statvfs` returns the same. */
  statfs(path: string): { bsize: number; blocks: number; bfree: number; files: number; ffree: number };
  createNode(parent: FsNode | null, name: string, mode: number, rdev?: number): FsNode;
  createStream(stream: object, fd?: number): FsStream;
  mkdirTree(path: string, mode?: number): void;
  mkdev(path: string, mode: number, dev: number): FsNode;
  mknod(path: string, mode: number, dev: number): FsNode;
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
  /** Sets the times that are not `null`. */
  utime(path: string, atimeMs: number | null, mtimeMs: number | null): void;
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

/** Emscripten's MEMFS, which keeps files in JavaScript memory. */
export interface MemoryFileSystem {
  ops_table: unknown;
}

/** A file system whose nodes have names with a number, such as Emscripten's pipes. */
export interface NumberedFileSystem {
  /** The number of the next name. Absent until the first name is given. */
  readonly nextname: { current?: number };
}

/** Names of the exports that the guest uses. See {@linkcode PythonExports}. */
export const CALLED_BY_GUEST: readonly string[] = [
  "memory",
  "__stack_pointer",
  "PyBytes_FromStringAndSize",
  "PyBytes_AsString",
  "PyBytes_Size",
  "PyObject_CallOneArg",
  "Py_IncRef",
  "Py_DecRef",
  "PyLong_FromLong",
  "PyLong_AsLong",
  "PyInterpreterState_Main",
  "PyThreadState_New",
  "PyThreadState_Get",
  "PyThreadState_Clear",
  "PyThreadState_DeleteCurrent",
  "PyEval_AcquireThread",
  "PyUnstable_ThreadState_SetStackProtection",
  "malloc",
  "free",
  "sbrk",
  "emscripten_get_sbrk_ptr",
  "emscripten_stack_init",
  "emscripten_stack_get_base",
  "emscripten_stack_get_end",
  "setTempRet0",
];

/** The C functions that the guest calls in the Wasm instance. */
export interface PythonExports {
  memory: WebAssembly.Memory;
  __stack_pointer: WebAssembly.Global;
  __indirect_function_table: WebAssembly.Table;
  /** Address of the number of steps until Python's loop looks for signals. */
  _Py_emscripten_signal_clock: WebAssembly.Global;
  /** Address of two addresses of names. */
  tzname: WebAssembly.Global;
  PyBytes_FromStringAndSize(data: Pointer, size: number): Pointer;
  PyBytes_AsString(bytes: Pointer): Pointer;
  PyBytes_Size(bytes: Pointer): number;
  PyObject_CallOneArg(callable: Pointer, argument: Pointer): Pointer;
  Py_IncRef(object: Pointer): void;
  Py_DecRef(object: Pointer): void;
  PyLong_FromLong(value: number): Pointer;
  PyLong_AsLong(number: Pointer): number;
  PyInterpreterState_Main(): Pointer;
  PyThreadState_New(interpreter: Pointer): Pointer;
  PyThreadState_Get(): Pointer;
  PyThreadState_Clear(thread: Pointer): void;
  PyThreadState_DeleteCurrent(): void;
  PyEval_AcquireThread(thread: Pointer): void;
  PyUnstable_ThreadState_SetStackProtection(thread: Pointer, start: Pointer, bytes: number): number;
  malloc(bytes: number): Pointer;
  free(address: Pointer): void;
  sbrk(bytes: number): Pointer;
  /** Returns where the address of the heap's end is. */
  emscripten_get_sbrk_ptr(): Pointer;
  emscripten_stack_init(): void;
  emscripten_stack_get_base(): Pointer;
  emscripten_stack_get_end(): Pointer;
  setTempRet0(value: number): void;
}

/** Names of the properties of a restored interpreter's module that the guest uses. */
export const MODULE_PROPERTIES: readonly string[] = [
  "FS",
  "HEAP8",
  "ENV",
  "API",
  "PIPEFS",
  "Py_EmscriptenSignalBuffer",
];

/** The object that the module's factory receives and turns into the module. */
export interface EmscriptenModule {
  FS: FileSystem;
  HEAP8: Int8Array;
  ENV: Record<string, string>;
  PIPEFS: NumberedFileSystem;
  Py_EmscriptenSignalBuffer: Uint8Array;
  _Py_EMSCRIPTEN_SIGNAL_HANDLING: Pointer;
  [name: string]: unknown;
}

/** The default export of `pyodide.asm.mjs`. */
export type ModuleFactory = (settings: Record<string, unknown>) => Promise<EmscriptenModule>;
