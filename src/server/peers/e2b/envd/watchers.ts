import { Code, ConnectError } from "@connectrpc/connect";
import type { GuestFiles, SnapshotEntry } from "./guest_files.ts";
import { EventType } from "./filesystem_pb.ts";
import type { HomeSession } from "../home_session.ts";

/** A change below a watched folder. */
export interface FileEvent {
  /** Path relative to the folder. */
  readonly name: string;
  readonly type: EventType;
  /** Full path, if the entry still exists. */
  readonly path: string | undefined;
}

/** Watchers of a sandbox. */
const MAX_WATCHERS = 16;
/** Changes that wait for a client; later ones are dropped. */
const MAX_EVENTS = 10_000;

interface WatcherOptions {
  readonly path: string;
  readonly recursive: boolean;
  /** Called once, when the watcher ends. */
  readonly onEnd: () => void;
}

type Snapshot = ReadonlyMap<string, SnapshotEntry>;

/**
 * A watched folder. Files change only while a program, a command or a request runs in the session, so the watcher
 * compares the folder before and after each.
 */
class Watcher implements Disposable {
  readonly #files: GuestFiles;
  readonly #path: string;
  readonly #recursive: boolean;
  readonly #stop: () => void;
  /** True if the client requests information on changed entries. */
  includeEntry = false;
  #snapshot: Snapshot = new Map();
  #root = "";
  #events: FileEvent[] = [];
  #isStale = false;
  #refreshing: Promise<void> = Promise.resolve();
  #changed = Promise.withResolvers<void>();

  constructor(home: HomeSession, files: GuestFiles, { path, recursive, onEnd }: WatcherOptions) {
    this.#files = files;
    this.#path = path;
    this.#recursive = recursive;
    const stop = home.onChange(() => {
      this.#isStale = true;
      this.#changed.resolve();
    });
    this.#stop = () => {
      if (stop()) onEnd();
    };
  }

  /** @throws {ConnectError} if the path is no folder. */
  async start(): Promise<void> {
    const { root, entries } = await this.#files.snapshot(this.#path, this.#recursive);
    this.#root = root;
    this.#snapshot = toSnapshot(entries);
  }

  /** Returns the changes since the last call. */
  async take(): Promise<FileEvent[]> {
    this.#refreshing = this.#refreshing.then(() => this.#refresh());
    await this.#refreshing;
    return this.#events.splice(0);
  }

  /** Waits until something may have changed, and returns true; false if the signal aborts first. */
  async wait(signal: AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const onAbort = () => resolve(false);
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
    const isChanged = await Promise.race([this.#changed.promise.then(() => true), promise]);
    signal.removeEventListener("abort", onAbort);
    return isChanged;
  }

  async #refresh(): Promise<void> {
    if (!this.#isStale) return;
    this.#isStale = false;
    this.#changed = Promise.withResolvers();
    let entries: readonly SnapshotEntry[] = [];
    try {
      ({ entries } = await this.#files.snapshot(this.#path, this.#recursive));
    } catch (error) {
      if (!(error instanceof ConnectError) || error.code !== Code.NotFound) throw error;
    }
    const snapshot = toSnapshot(entries);
    const events = compare(this.#snapshot, snapshot, this.#root);
    this.#events.push(...events.slice(0, MAX_EVENTS - this.#events.length));
    this.#snapshot = snapshot;
  }

  [Symbol.dispose](): void {
    this.#stop();
    this.#changed.resolve();
  }
}

/** The watchers of a sandbox by id. */
export class Watchers {
  readonly #home: HomeSession;
  readonly #files: GuestFiles;
  readonly #byId = new Map<string, Watcher>();
  #count = 0;

  constructor(home: HomeSession, files: GuestFiles) {
    this.#home = home;
    this.#files = files;
  }

  /** @throws {ConnectError} if the path is no folder, or there are too many watchers. */
  async open(options: { path: string; recursive: boolean }): Promise<Watcher> {
    if (this.#count >= MAX_WATCHERS) {
      throw new ConnectError(`a sandbox has at most ${MAX_WATCHERS} watchers`, Code.ResourceExhausted);
    }
    this.#count++;
    const watcher = new Watcher(this.#home, this.#files, { ...options, onEnd: () => this.#count-- });
    try {
      await watcher.start();
      return watcher;
    } catch (error) {
      watcher[Symbol.dispose]();
      throw error;
    }
  }

  /** Opens a watcher and returns the watcher's id. */
  async create(options: { path: string; recursive: boolean }): Promise<string> {
    const watcher = await this.open(options);
    const id = crypto.randomUUID();
    this.#byId.set(id, watcher);
    return id;
  }

  /** @throws {ConnectError} if there is no such watcher. */
  find(id: string): Watcher {
    const watcher = this.#byId.get(id);
    if (watcher) return watcher;
    throw new ConnectError(`watcher ${id.slice(0, 64)} not found`, Code.NotFound);
  }

  remove(id: string): void {
    this.#byId.get(id)?.[Symbol.dispose]();
    this.#byId.delete(id);
  }
}

function toSnapshot(entries: readonly SnapshotEntry[]): Snapshot {
  return new Map(entries.map((entry) => [entry.path, entry]));
}

/** Returns the changes between two states. A new file was created, given its mode and written. */
function compare(before: Snapshot, after: Snapshot, root: string): FileEvent[] {
  const nameOf = (path: string) => path.slice(root.length).replace(/^\//, "");
  const changes = [...after].flatMap(([path, entry]) => {
    const old = before.get(path);
    const types = changeTypes(old, entry);
    return types.map((type) => ({ name: nameOf(path), type, path }));
  });
  const removed = [...before.keys()].filter((path) => !after.has(path))
    .map((path) => ({ name: nameOf(path), type: EventType.REMOVE, path: undefined }));
  return [...removed, ...changes];
}

function changeTypes(old: SnapshotEntry | undefined, entry: SnapshotEntry): EventType[] {
  const isFile = entry.type === "file";
  if (old === undefined) {
    return isFile ? [EventType.CREATE, EventType.CHMOD, EventType.WRITE] : [EventType.CREATE];
  }
  const isWritten = isFile && (old.modifiedNs !== entry.modifiedNs || old.size !== entry.size);
  return [
    ...(isWritten ? [EventType.WRITE] : []),
    ...(old.mode !== entry.mode ? [EventType.CHMOD] : []),
  ];
}
