import type { CoprocInput } from "./jobs/coproc.ts";
import { latin1, latin1Bytes } from "./script/byte_text.ts";
import type { IFileSystem } from "just-bash";
import type { FileSystem } from "../emscripten.ts";
import { toPathError } from "../errno.ts";
import type { CommandFiles, FileStatus } from "./gnu/command.ts";
import { defineGlobals } from "../realm.ts";
import { pathNames, type PatternFiles, type PatternSettings } from "./script/path_names.ts";

type Options = Parameters<IFileSystem["readFile"]>[1];
type Contents = string | Uint8Array;

const O_WRONLY_CREAT_APPEND = 0o2101;
const PERMISSION_BITS = 0o7777;
/** Paths that the shell must not change, since a session cannot run without them. */
const PROTECTED = /^\/(?:$|(?:dev|proc|lib|usr|bin)(?:\/|$))/;
const ENDLESS_DEVICES = new Set(["/dev/zero", "/dev/random", "/dev/urandom"]);
/** The terminal of a process, of which the sandbox has none. */
const TERMINAL = "/dev/tty";
const ENXIO = 60;
/** Number of bytes in a read of an endless device. */
const ENDLESS_BYTES = 65_536;
const COPY_DEPTH = 200;

/** Gives the shell access to the interpreter's file system, so that both share a tree. */
export class ShellFiles implements IFileSystem {
  /** Permissions that new files and folders do not have. */
  umask = 0o022;
  /** What writes to the paths of pipes do. All forks share them. */
  pipes = new Map<string, (bytes: Uint8Array) => void>();
  /** The stdin of a coprocess, to which its shell still writes. */
  input: CoprocInput | undefined;
  readonly #fs: FileSystem;
  #isClosed = false;

  constructor(fs: FileSystem) {
    this.#fs = fs;
  }

  readFile(path: string, options?: Options): Promise<string> {
    return this.#attempt("open", path, () => decode(this.#read(path), encodingOf(options)));
  }

  readFileBytes(path: string): ReturnType<NonNullable<IFileSystem["readFileBytes"]>> {
    return this.#attempt("open", path, () => latin1(this.#read(path))) as never;
  }

  readFileBuffer(path: string): Promise<Uint8Array> {
    return this.#attempt("open", path, () => this.#read(path));
  }

  writeFile(path: string, content: Contents, options?: Options): Promise<void> {
    return this.#attempt("open", path, () => {
      this.#write(path, bytesOf(content, options));
    });
  }

  appendFile(path: string, content: Contents, options?: Options): Promise<void> {
    return this.#attempt("open", path, () => {
      const write = this.pipes.get(path);
      if (write) return write(bytesOf(content, options));
      this.#requireNoNewFile(path);
      if (!this.#isPresent(path)) this.#write(path, new Uint8Array(0));
      const stream = this.#fs.open(path, O_WRONLY_CREAT_APPEND);
      const bytes = bytesOf(content, options);
      try {
        this.#fs.write(stream, bytes, 0, bytes.length);
      } finally {
        this.#fs.close(stream);
      }
    });
  }

  exists(path: string): Promise<boolean> {
    return this.stat(path).then(() => true, () => false);
  }

  stat(path: string): ReturnType<IFileSystem["stat"]> {
    return this.#attempt("stat", path, () => this.#describe(this.#fs.stat(path)));
  }

  lstat(path: string): ReturnType<IFileSystem["lstat"]> {
    return this.#attempt("lstat", path, () => this.#describe(this.#fs.lstat(path)));
  }

  mkdir(path: string, options: { recursive?: boolean } = {}): Promise<void> {
    return this.#attempt("mkdir", path, () => {
      if (options.recursive) this.#makeTree(path);
      else this.#fs.mkdir(this.#requireUnprotected(path), 0o777 & ~this.umask);
    });
  }

  readdir(path: string): Promise<string[]> {
    return this.#attempt("scandir", path, () => this.#list(path));
  }

  rm(path: string, options: { recursive?: boolean; force?: boolean } = {}): Promise<void> {
    return this.#attempt("rm", path, () => {
      if (!options.force || this.#isPresent(path)) this.#remove(path, options.recursive === true);
    });
  }

  cp(from: string, to: string, options: { recursive?: boolean } = {}): Promise<void> {
    return this.#attempt("cp", from, () => {
      if (options.recursive) this.#copyTree(from, to, COPY_DEPTH);
      else this.#copyFile(from, to);
    });
  }

  mv(from: string, to: string): Promise<void> {
    return this.#attempt(
      "mv",
      from,
      () => this.#fs.rename(this.#requireUnprotected(from), this.#requireUnprotected(to)),
    );
  }

  resolvePath(base: string, path: string): string {
    const names: string[] = [];
    for (const name of (path.startsWith("/") ? path : `${base}/${path}`).split("/")) {
      if (name === "..") names.pop();
      else if (name !== "" && name !== ".") names.push(name);
    }
    return `/${names.join("/")}`;
  }

  /** Returns the paths that match a pattern of the shell, by name. */
  pathNames(pattern: string, settings: PatternSettings): string[] {
    return pathNames(pattern, settings, this.#patternFiles);
  }

  /** Returns no paths. No command of the shell needs the whole tree. */
  getAllPaths(): string[] {
    return [];
  }

  chmod(path: string, mode: number): Promise<void> {
    return this.#attempt("chmod", path, () => this.#fs.chmod(this.#requireUnprotected(path), mode));
  }

  symlink(target: string, path: string): Promise<void> {
    return this.#attempt("symlink", path, () => this.#fs.symlink(target, this.#requireUnprotected(path)));
  }

  /** Fails, since the file system has no hard links. */
  link(_target: string, path: string): Promise<void> {
    return this.#attempt("link", path, () => this.#fail(63));
  }

  readlink(path: string): Promise<string> {
    return this.#attempt("readlink", path, () => this.#fs.readlink(path));
  }

  realpath(path: string): Promise<string> {
    return this.#attempt("realpath", path, () => {
      return this.#fs.getPath(this.#fs.lookupPath(path, { follow: true }).node);
    });
  }

  utimes(path: string, atime: Date, mtime: Date): Promise<void> {
    return this.#attempt("utimes", path, () => {
      this.#fs.utime(this.#requireUnprotected(path), atime.getTime(), mtime.getTime());
    });
  }

  readonly #patternFiles: PatternFiles = {
    names: (path) => this.#orElse([], () => this.#list(path)),
    kindOf: (path, { follow }) =>
      this.#orElse(undefined, () => {
        const { mode } = follow ? this.#fs.stat(path) : this.#fs.lstat(path);
        return this.#fs.isDir(mode) ? "directory" : "other";
      }),
  };

  /** The files, for commands that compute without a pause. */
  readonly forCommands: CommandFiles = {
    status: (path, { follow = true } = {}) =>
      this.#run("stat", path, () => this.#statusOf(follow ? this.#fs.stat(path) : this.#fs.lstat(path))),
    names: (path) =>
      this.#run("scandir", path, () => this.#list(path).map((name) => latin1(encoder.encode(name)))),
    read: (path) => this.#run("open", path, () => this.#read(path)),
    write: (path, bytes) =>
      this.#run("open", path, () => {
        this.#write(path, bytes);
      }),
    target: (path) => this.#run("readlink", path, () => latin1(encoder.encode(this.#fs.readlink(path)))),
    makeDirectory: (path) =>
      this.#run("mkdir", path, () => {
        this.#fs.mkdir(this.#requireUnprotected(path), 0o777 & ~this.umask);
      }),
    removeFile: (path) => this.#run("unlink", path, () => this.#fs.unlink(this.#requireUnprotected(path))),
    removeDirectory: (path) => this.#run("rmdir", path, () => this.#fs.rmdir(this.#requireUnprotected(path))),
    rename: (from, to) =>
      this.#run(
        "rename",
        from,
        () => this.#fs.rename(this.#requireUnprotected(from), this.#requireUnprotected(to)),
      ),
    link: (target, path) =>
      this.#run("symlink", path, () => this.#fs.symlink(target, this.#requireUnprotected(path))),
    setMode: (path, mode) =>
      this.#run("chmod", path, () => this.#fs.chmod(this.#requireUnprotected(path), mode)),
    setTimes: (path, { accessedMs = null, changedMs = null }) =>
      this.#run("utime", path, () => {
        this.#fs.utime(this.#requireUnprotected(path), accessedMs, changedMs);
        this.#fs.lookupPath(path, { follow: true }).node.ctime = Date.now(); // the interpreter's utime() keeps it
      }),
    umask: () => this.umask,
    space: () => {
      const { bsize, blocks, bfree, files, ffree } = this.#fs.statfs("/");
      return { blockBytes: bsize, blocks, freeBlocks: bfree, files, freeFiles: ffree };
    },
  };

  /** Returns access to the same files for another process, with its own umask. */
  fork(): ShellFiles {
    const files = new ShellFiles(this.#fs);
    files.umask = this.umask;
    files.pipes = this.pipes;
    return files;
  }

  /** Makes all later operations fail. */
  close(): void {
    this.#isClosed = true;
  }

  #attempt<T>(operation: string, path: string, work: () => T): Promise<T> {
    return Promise.try(() => this.#run(operation, path, work));
  }

  #run<T>(operation: string, path: string, work: () => T): T {
    if (this.#isClosed) throw new Error("the command was ended");
    try {
      return work();
    } catch (thrown) {
      throw toPathError(thrown, operation, path);
    }
  }

  #orElse<T>(value: T, work: () => T): T {
    try {
      return work();
    } catch (thrown) {
      if (thrown instanceof this.#fs.ErrnoError) return value;
      throw thrown;
    }
  }

  /** Returns the path. Fails if it is protected. */
  #requireUnprotected(path: string): string {
    if (PROTECTED.test(this.resolvePath("/", path))) this.#fail(69);
    return path;
  }

  /** Fails if a write would create a file at a protected path. Existing devices there may be written. */
  #requireNoNewFile(path: string): void {
    if (path === TERMINAL) this.#fail(ENXIO);
    if (!PROTECTED.test(this.resolvePath("/", path))) return;
    if (path === "/dev/paddock" || !this.#isPresent(path)) this.#fail(69);
  }

  #write(path: string, bytes: Uint8Array): void {
    this.#requireNoNewFile(path);
    const isNew = !this.#isPresent(path);
    this.#fs.writeFile(path, bytes);
    if (isNew) this.#fs.chmod(path, 0o666 & ~this.umask);
  }

  #fail(errno: number): never {
    throw new this.#fs.ErrnoError(errno);
  }

  #isPresent(path: string): boolean {
    try {
      this.#fs.lstat(path);
      return true;
    } catch {
      return false;
    }
  }

  #read(path: string): Uint8Array {
    if (path === TERMINAL) this.#fail(ENXIO);
    const { mode } = this.#fs.stat(path);
    if (this.#fs.isDir(mode)) this.#fail(31);
    if (this.#fs.isFile(mode)) return this.#fs.readFile(path);
    if (!ENDLESS_DEVICES.has(path)) return new Uint8Array(0);
    const stream = this.#fs.open(path, 0);
    const bytes = new Uint8Array(ENDLESS_BYTES);
    this.#fs.read(stream, bytes, 0, bytes.length);
    this.#fs.close(stream);
    return bytes;
  }

  #describe(
    { mode, size, mtime, ino }: ReturnType<FileSystem["stat"]>,
  ): Awaited<ReturnType<IFileSystem["stat"]>> {
    const [isDirectory, isSymbolicLink] = [this.#fs.isDir(mode), this.#fs.isLink(mode)];
    return {
      isDirectory,
      isSymbolicLink,
      isFile: !isDirectory && !isSymbolicLink,
      mode: mode & PERMISSION_BITS,
      size,
      mtime,
      dev: 1,
      ino,
    };
  }

  #statusOf({ mode, size, atime, mtime, ctime, ino: inode }: ReturnType<FileSystem["stat"]>): FileStatus {
    const kind = this.#fs.isDir(mode)
      ? "directory"
      : this.#fs.isLink(mode)
      ? "link"
      : this.#fs.isFile(mode)
      ? "file"
      : "device";
    const [accessedMs, changedMs, statusMs] = [atime.getTime(), mtime.getTime(), ctime.getTime()];
    return { kind, mode: mode & PERMISSION_BITS, size, changedMs, accessedMs, statusMs, inode };
  }

  #list(path: string): string[] {
    return this.#fs.readdir(path).filter((name) => name !== "." && name !== "..").sort();
  }

  #makeTree(path: string): void {
    let at = "";
    for (const name of path.split("/").filter((part) => part !== "")) {
      at += `/${name}`;
      if (!this.#isPresent(at)) this.#fs.mkdir(this.#requireUnprotected(at), 0o777 & ~this.umask);
      else if (!this.#fs.isDir(this.#fs.stat(at).mode)) this.#fail(20);
    }
  }

  #remove(path: string, recursive: boolean): void {
    this.#requireUnprotected(path);
    if (!this.#fs.isDir(this.#fs.lstat(path).mode)) return this.#fs.unlink(path);
    const names = this.#list(path);
    if (names.length > 0 && !recursive) this.#fail(55);
    for (const name of names) this.#remove(`${path}/${name}`, true);
    this.#fs.rmdir(path);
  }

  #copyTree(from: string, to: string, depth: number): void {
    const { mode } = this.#fs.lstat(from);
    if (this.#fs.isLink(mode)) return this.#fs.symlink(this.#fs.readlink(from), this.#requireUnprotected(to));
    if (!this.#fs.isDir(mode)) return this.#copyFile(from, to);
    if (depth === 0 || `${to}/`.startsWith(`${from}/`)) this.#fail(28);
    this.#makeTree(to);
    for (const name of this.#list(from)) this.#copyTree(`${from}/${name}`, `${to}/${name}`, depth - 1);
  }

  #copyFile(from: string, to: string): void {
    const bytes = this.#read(from);
    const { mode } = this.#fs.stat(from);
    const isNew = !this.#isPresent(to);
    this.#requireNoNewFile(to);
    this.#fs.writeFile(to, bytes);
    if (isNew) this.#fs.chmod(to, mode & PERMISSION_BITS | 0o200);
  }
}

function encodingOf(options: Options): string {
  return (typeof options === "string" ? options : options?.encoding) ?? "utf8";
}

function bytesOf(content: Contents, options: Options): Uint8Array {
  return typeof content === "string" ? encode(content, encodingOf(options)) : content;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const LATIN1 = new Set(["binary", "latin1", "ascii"]);

/** Decodes bytes in an encoding of Node's buffers. Every unknown encoding is treated as UTF-8. */
export function decode(bytes: Uint8Array, encoding: string): string {
  if (LATIN1.has(encoding)) return latin1(bytes);
  if (encoding === "base64") return bytes.toBase64();
  return encoding === "hex" ? bytes.toHex() : decoder.decode(bytes);
}

/** Encodes text to bytes, the inverse of {@linkcode decode}. */
export function encode(text: string, encoding: string): Uint8Array {
  if (LATIN1.has(encoding)) return latin1Bytes(text);
  if (encoding === "base64") return Uint8Array.fromBase64(text);
  return encoding === "hex" ? Uint8Array.fromHex(text) : encoder.encode(text);
}

/** The part of Node's `Buffer` that the shell's commands use. */
class ShellBuffer extends Uint8Array {
  override toString(encoding = "utf8"): string {
    return decode(this, encoding);
  }
}

defineGlobals({
  Buffer: {
    from: (value: string | Uint8Array, encoding = "utf8") =>
      new ShellBuffer(typeof value === "string" ? encode(value, encoding) : value),
  },
  atob: (text: string) => latin1(Uint8Array.fromBase64(text)),
  btoa: (text: string) => latin1Bytes(text).toBase64(),
});
