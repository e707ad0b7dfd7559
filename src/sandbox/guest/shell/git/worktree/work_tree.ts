import { bytesOf, type FileStatus, statusOf, textOf, unicodeText } from "../../gnu/command.ts";
import { comparePaths, contentSide, type FilePair, pairOf, storedSide } from "../compare/file_pairs.ts";
import { fatal } from "../store/git_error.ts";
import { cachedStatus, type IndexEntry } from "../store/index_file.ts";
import { hashObject } from "../store/object_store.ts";
import type { Repository } from "../store/repository.ts";
import { type FileMap, MODE, type TreeFile } from "../store/tree_object.ts";
import { losesReturns, toStored, toWorking } from "./line_ends.ts";
import type { IgnoreRules } from "./ignore_rules.ts";
import type { PathSpec } from "./path_spec.ts";

/** Files of the work tree that the index does not have. */
export interface OtherFiles {
  readonly untracked: readonly string[];
  readonly ignored: readonly string[];
}

/** The files of a repository that can be edited. */
export class WorkTree {
  readonly #repository: Repository;
  readonly #folders = new Map<string, boolean>();

  constructor(repository: Repository) {
    repository.requireWorkTree();
    this.#repository = repository;
  }

  /** Returns the status of a file, a link or a folder, and nothing behind a link to a folder. */
  status(path: string): FileStatus | undefined {
    const slash = path.lastIndexOf("/");
    if (slash >= 0 && !this.#isFolder(path.slice(0, slash))) return undefined;
    return statusOf(this.#repository.files, this.#repository.absolute(path), { follow: false });
  }

  /** Returns the mode that the index would have for a file. */
  modeOf({ kind, mode }: FileStatus, known?: number): number {
    if (kind === "link") return MODE.link;
    if (!this.#repository.config.flag("core.filemode", true)) return known ?? MODE.file;
    return mode & 0o100 ? MODE.program : MODE.file;
  }

  /** Returns contents as git stores them: of a link its target. */
  read(path: string, { kind }: Pick<FileStatus, "kind">): Uint8Array {
    const { files } = this.#repository;
    const absolute = this.#repository.absolute(path);
    if (kind === "link") return bytesOf(files.target(absolute));
    return toStored(this.#repository, path, files.read(absolute));
  }

  /** Stores a file, and returns its entry of the index. */
  store(path: string, status: FileStatus): IndexEntry {
    const bytes = this.read(path, status);
    const { context, objects } = this.#repository;
    const id = objects.write("blob", bytes);
    if (bytes.length < status.size && status.kind === "file" && losesReturns(this.#repository, path)) {
      context.printError(
        `warning: in the working copy of '${
          unicodeText(path)
        }', CRLF will be replaced by LF the next time Git touches it\n`,
      );
    }
    const known = this.#repository.index.entries.get(path)?.mode;
    return { mode: this.modeOf(status, known), id, status: cachedStatus(status) };
  }

  /**
   * Returns the files that differ from the index. A file that has a new time and the same contents is noted in the
   * index, which the caller may write.
   */
  changes(spec?: PathSpec): { pairs: FilePair[]; isRefreshed: boolean } {
    const { index, objects, context } = this.#repository;
    const pairs: FilePair[] = [];
    let isRefreshed = false;
    for (const [path, entry] of index.entries) {
      if (entry.isAssumed || entry.isSkipped || (spec && !spec.matches(path))) continue;
      context.poll();
      const old = storedSide(objects, path, entry);
      const status = this.status(path);
      if (entry.mode === MODE.module) {
        if (!status) pairs.push(pairOf(old, undefined));
        continue;
      }
      if (!status || status.kind === "directory") {
        pairs.push(pairOf(old, undefined));
        continue;
      }
      const mode = this.modeOf(status, entry.mode);
      if (!entry.isIntent && mode === entry.mode && index.isSurelyEqual(entry, status)) continue;
      const bytes = this.read(path, status);
      if (entry.isIntent) {
        pairs.push(pairOf(undefined, contentSide(path, mode, bytes)));
        continue;
      }
      const id = hashObject("blob", bytes);
      if (id === entry.id && mode === entry.mode) {
        index.entries.set(path, { ...entry, status: cachedStatus(status) });
        isRefreshed = true;
        continue;
      }
      pairs.push(pairOf(old, contentSide(path, mode, bytes)));
    }
    return { pairs, isRefreshed };
  }

  /** Returns the changes from a tree to the files that the index has. */
  changesFrom(tree: FileMap, spec?: PathSpec): FilePair[] {
    const { index, objects } = this.#repository;
    const { pairs } = this.changes(spec);
    const changed = new Map(pairs.map((pair) => [pair.to?.path ?? pair.from?.path ?? "", pair]));
    const current = new Map<string, TreeFile>();
    for (const [path, entry] of index.entries) {
      const pair = changed.get(path);
      const file = pair ? pair.to : entry;
      if (file) current.set(path, file);
    }
    const only = <T>(files: ReadonlyMap<string, T>) =>
      spec ? new Map([...files].filter(([path]) => spec.matches(path))) : files;
    return comparePaths(only(tree), only(current), {
      from: (path, file) => storedSide(objects, path, file),
      to: (path, file) => changed.get(path)?.to ?? storedSide(objects, path, file),
    });
  }

  /**
   * Returns files that the index does not have.
   *
   * @param isWhole Whether all files are listed, in place of folders without files of the index.
   */
  others(
    rules: IgnoreRules,
    { spec, isWhole = false, isIgnoredWhole = isWhole }: {
      spec?: PathSpec;
      isWhole?: boolean;
      isIgnoredWhole?: boolean;
    } = {},
  ): OtherFiles {
    const { index, files, context } = this.#repository;
    const tracked = new Set<string>();
    for (const path of [...index.entries.keys(), ...index.conflicts.keys()]) {
      for (let at = path.lastIndexOf("/"); at >= 0; at = path.lastIndexOf("/", at - 1)) {
        const folder = path.slice(0, at);
        if (tracked.has(folder)) break;
        tracked.add(folder);
        if (at === 0) break;
      }
    }
    const untracked: string[] = [];
    const ignored: string[] = [];
    const isChosen = (path: string) => !spec || spec.matches(path);
    const visit = (folder: string, isInIgnored: boolean) => {
      context.poll();
      for (const name of files.names(this.#repository.absolute(folder))) {
        const path = folder + name;
        if (name === ".git" || index.entries.has(path) || index.conflicts.has(path)) continue;
        const status = statusOf(files, this.#repository.absolute(path), { follow: false });
        if (!status || status.kind === "device") continue;
        const isFolder = status.kind === "directory";
        const isIgnored = isInIgnored || rules.isIgnored(path, isFolder);
        if (!isFolder) {
          if (isChosen(path)) (isIgnored ? ignored : untracked).push(path);
          continue;
        }
        if (spec && !spec.mayMatchIn(path)) continue;
        if (tracked.has(path)) {
          visit(`${path}/`, isIgnored);
        } else if (isIgnored) {
          if (isIgnoredWhole || !(spec?.matchesWhole(path) ?? true)) visit(`${path}/`, true);
          else if (this.#hasFiles(path)) ignored.push(`${path}/`);
        } else if (this.#isRepository(path)) {
          if (isChosen(path)) untracked.push(`${path}/`);
        } else if (isWhole || !(spec?.matchesWhole(path) ?? true)) visit(`${path}/`, false);
        else {
          const before = [untracked.length, ignored.length] as const;
          visit(`${path}/`, false);
          const found = untracked.splice(before[0]);
          if (found.length > 0) untracked.push(`${path}/`);
          else if (ignored.length > before[1] && !isIgnoredWhole) {
            ignored.splice(before[1]);
            ignored.push(`${path}/`);
          }
        }
      }
    };
    visit("", false);
    const order = (a: string, b: string) => a < b ? -1 : 1;
    return { untracked: untracked.sort(order), ignored: ignored.sort(order) };
  }

  /** Writes a file of the object store, in place of whatever is at its path. Returns its entry of the index. */
  write(path: string, file: TreeFile): IndexEntry {
    const { files, objects } = this.#repository;
    const absolute = this.#repository.absolute(path);
    this.#makeRoom(path);
    if (file.mode === MODE.module) {
      if (!statusOf(files, absolute)) files.makeDirectory(absolute);
      return file;
    }
    const bytes = objects.readKind(file.id, "blob");
    if (file.mode === MODE.link) files.link(textOf(bytes), absolute);
    else {
      files.write(absolute, toWorking(this.#repository, path, bytes));
      if (file.mode === MODE.program) {
        const readers = 0o777 & ~files.umask();
        files.setMode(absolute, readers);
      }
    }
    return { mode: file.mode, id: file.id, status: cachedStatus(files.status(absolute, { follow: false })) };
  }

  /** Removes a file, and the folders that it leaves empty. */
  remove(path: string): void {
    const { files } = this.#repository;
    const status = this.status(path);
    if (!status) return;
    if (status.kind === "directory") return;
    files.removeFile(this.#repository.absolute(path));
    this.removeEmptyFolders(path);
  }

  /** Removes the empty folders above a path. */
  removeEmptyFolders(path: string): void {
    const { files } = this.#repository;
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) {
      const folder = path.slice(0, at);
      const absolute = this.#repository.absolute(folder);
      if (statusOf(files, absolute, { follow: false })?.kind !== "directory") continue;
      if (files.names(absolute).length > 0 || absolute === this.#repository.context.cwd) return;
      files.removeDirectory(absolute);
      this.#folders.clear();
    }
  }

  /** Removes a file or a folder with all that is in it. */
  removeTree(path: string): void {
    const { files } = this.#repository;
    const absolute = this.#repository.absolute(path);
    const status = statusOf(files, absolute, { follow: false });
    if (status?.kind !== "directory") return status && files.removeFile(absolute);
    for (const name of files.names(absolute)) this.removeTree(`${path}/${name}`);
    files.removeDirectory(absolute);
    this.#folders.clear();
  }

  /** Makes the folders above a path, and removes what stands in their place or at the path. */
  #makeRoom(path: string): void {
    const { files } = this.#repository;
    for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) {
      const absolute = this.#repository.absolute(path.slice(0, at));
      const status = statusOf(files, absolute, { follow: false });
      if (status?.kind === "directory") continue;
      if (status) files.removeFile(absolute);
      files.makeDirectory(absolute);
      this.#folders.clear();
    }
    const status = statusOf(files, this.#repository.absolute(path), { follow: false });
    if (status?.kind === "directory") {
      const names = files.names(this.#repository.absolute(path));
      if (names.length > 0) fatal(`cannot create '${path}': it is a folder that is not empty`);
      files.removeDirectory(this.#repository.absolute(path));
    } else if (status) files.removeFile(this.#repository.absolute(path));
  }

  #isFolder(path: string): boolean {
    const known = this.#folders.get(path);
    if (known !== undefined) return known;
    const isFolder = this.status(path)?.kind === "directory";
    this.#folders.set(path, isFolder);
    return isFolder;
  }

  #isRepository(path: string): boolean {
    return statusOf(this.#repository.files, `${this.#repository.absolute(path)}/.git`) !== undefined;
  }

  #hasFiles(path: string): boolean {
    const { files } = this.#repository;
    return files.names(this.#repository.absolute(path)).some((name) => {
      const inner = `${path}/${name}`;
      const status = statusOf(files, this.#repository.absolute(inner), { follow: false });
      return status?.kind === "directory" ? this.#hasFiles(inner) : status !== undefined;
    });
  }
}
