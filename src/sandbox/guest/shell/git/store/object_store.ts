import { deflateSync, inflateSync } from "../../engine.ts";
import { bytesOf, type CommandFiles, statusOf, textOf } from "../../gnu/command.ts";
import { fatal } from "./git_error.ts";
import type { GitObject, ObjectKind } from "./git_object.ts";
import { PackFile } from "./pack_file.ts";
import { sha1 } from "./sha1.ts";

/** Hash of the empty tree, which every repository has. */
export const EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
/** Hash of an empty file. */
export const EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
const OBJECT_MODE = 0o444;
/** Size up to which objects are kept in memory. */
const MAX_CACHED_BYTES = 65_536;

/** Returns the hash of an object. */
export function hashObject(kind: ObjectKind, bytes: Uint8Array): string {
  return sha1(bytesOf(`${kind} ${bytes.length}\0`), bytes);
}

/** The objects of a repository: loose ones and those in packs. New ones are written loose. */
export class ObjectStore {
  readonly #files: CommandFiles;
  /** Folders of objects: the folder of the repository, and the folders of its alternates. */
  readonly #folders: string[];
  readonly #cache = new Map<string, GitObject>();
  #packs: PackFile[] | undefined;
  #shallow: ReadonlySet<string> | undefined;

  constructor(files: CommandFiles, folder: string) {
    this.#files = files;
    this.#folders = [folder];
    const alternates = `${folder}/info/alternates`;
    if (!statusOf(files, alternates)) return;
    for (const line of textOf(files.read(alternates)).split("\n")) {
      if (line !== "") this.#folders.push(line.startsWith("/") ? line : `${folder}/${line}`);
    }
  }

  /** Reads an object. Ends the command if there is none. */
  read(id: string): GitObject {
    const object = this.find(id);
    if (!object) fatal(`bad object ${id}`);
    return object;
  }

  /** Reads an object of a type. Ends the command if there is none, or if it has another type. */
  readKind(id: string, kind: ObjectKind): Uint8Array {
    const object = this.read(id);
    if (object.kind !== kind) fatal(`object ${id} is a ${object.kind}, not a ${kind}`);
    return object.bytes;
  }

  find(id: string): GitObject | undefined {
    const cached = this.#cache.get(id);
    if (cached) return cached;
    const object = this.#readLoose(id) ?? this.#readPacked(id);
    if (object && object.bytes.length <= MAX_CACHED_BYTES) this.#cache.set(id, object);
    return object ?? (id === EMPTY_TREE ? { kind: "tree", bytes: new Uint8Array() } : undefined);
  }

  has(id: string): boolean {
    return this.#cache.has(id) || this.#loosePath(id) !== undefined ||
      this.#allPacks().some((pack) => pack.offsetOf(id) !== undefined);
  }

  /** True if a shallow clone ends at a commit, whose parents it leaves out. */
  isShallow(id: string): boolean {
    const path = `${this.#folders[0]}/../shallow`;
    this.#shallow ??= new Set(
      statusOf(this.#files, path)
        ? textOf(this.#files.read(path)).split("\n").filter((line) => line !== "")
        : [],
    );
    return this.#shallow.has(id);
  }

  /** Writes an object, unless it exists. Returns its hash. */
  write(kind: ObjectKind, bytes: Uint8Array): string {
    const id = hashObject(kind, bytes);
    if (this.has(id)) return id;
    const head = bytesOf(`${kind} ${bytes.length}\0`);
    const whole = new Uint8Array(head.length + bytes.length);
    whole.set(head);
    whole.set(bytes, head.length);
    const [folder = ""] = this.#folders;
    const path = `${folder}/${id.slice(0, 2)}`;
    if (!statusOf(this.#files, path)) this.#files.makeDirectory(path);
    this.#files.write(`${path}/${id.slice(2)}`, deflateSync(whole));
    this.#files.setMode(`${path}/${id.slice(2)}`, OBJECT_MODE);
    return id;
  }

  /** Returns the hashes that begin with some digits, at least two. */
  withPrefix(prefix: string): string[] {
    const found = new Set<string>();
    for (const folder of this.#folders) {
      const path = `${folder}/${prefix.slice(0, 2)}`;
      if (!statusOf(this.#files, path)) continue;
      for (const name of this.#files.names(path)) {
        const id = prefix.slice(0, 2) + name;
        if (id.startsWith(prefix) && id.length === 40) found.add(id);
      }
    }
    for (const pack of this.#allPacks()) for (const id of pack.withPrefix(prefix)) found.add(id);
    return [...found].sort();
  }

  /** Returns the shortest prefix, of at least some digits, that no other object has. */
  abbreviate(id: string, digits = 7): string {
    if (digits >= 40) return id;
    const others = this.withPrefix(id.slice(0, Math.max(4, digits))).filter((other) => other !== id);
    let length = Math.max(4, digits);
    while (length < 40 && others.some((other) => other.startsWith(id.slice(0, length)))) length++;
    return id.slice(0, length);
  }

  /** Number of digits of an abbreviation, which grows with the number of objects. */
  get digits(): number {
    const bits = this.#count().toString(2).length;
    return Math.max(7, Math.ceil(bits / 2));
  }

  #count(): number {
    let count = this.#allPacks().reduce((sum, pack) => sum + pack.count, 0);
    const [folder = ""] = this.#folders;
    const path = `${folder}/17`; // git estimates the number of loose objects by one of their folders
    if (statusOf(this.#files, path)) count += this.#files.names(path).length * 256;
    return count;
  }

  #loosePath(id: string): string | undefined {
    const name = `${id.slice(0, 2)}/${id.slice(2)}`;
    return this.#folders.map((folder) => `${folder}/${name}`).find((path) => statusOf(this.#files, path));
  }

  #readLoose(id: string): GitObject | undefined {
    const path = this.#loosePath(id);
    if (path === undefined) return undefined;
    const whole = inflate(this.#files.read(path), id);
    const end = whole.indexOf(0);
    const [, kind, size] = /^(blob|tree|commit|tag) (\d+)$/.exec(textOf(whole.subarray(0, end))) ?? [];
    if (kind === undefined || Number(size) !== whole.length - end - 1) {
      fatal(`loose object ${id} (stored in ${path}) is corrupt`);
    }
    return { kind: kind as ObjectKind, bytes: whole.subarray(end + 1) };
  }

  #readPacked(id: string): GitObject | undefined {
    for (const pack of this.#allPacks()) {
      const offset = pack.offsetOf(id);
      if (offset !== undefined) return pack.read(offset, (base) => this.read(base));
    }
    return undefined;
  }

  #allPacks(): PackFile[] {
    this.#packs ??= this.#folders.flatMap((folder) => {
      const path = `${folder}/pack`;
      if (!statusOf(this.#files, path)) return [];
      return this.#files.names(path).filter((name) => name.endsWith(".idx"))
        .map((name) => new PackFile(this.#files, `${path}/${name.slice(0, -".idx".length)}`));
    });
    return this.#packs;
  }
}

function inflate(bytes: Uint8Array, id: string): Uint8Array {
  try {
    return inflateSync(bytes);
  } catch {
    return fatal(`loose object ${id} is corrupt`); // whatever is wrong with the stream
  }
}
