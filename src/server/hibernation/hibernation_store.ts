import type { Checkpoint } from "../../sandbox/exec.ts";
import { Budget, type BudgetLease } from "../budget.ts";
import { HIBERNATION_BYTES, HIBERNATION_COPY_MS, MAX_HIBERNATING, STATE_DIRECTORY_BYTES } from "../limits.ts";
import { type HibernatedEntry as Entry, type HibernatedState, NEW_ENTRY } from "./hibernated_state.ts";
import type { SavedSession } from "./saved_sessions.ts";
import type { SessionRecordParts } from "./session_record.ts";
import type { StateDirectory } from "./state_directory.ts";
import { WakingStates } from "./waking_states.ts";

/** Options of {@linkcode HibernationStore}. */
export interface HibernationStoreOptions {
  /**
   * Memory of the states, in bytes.
   *
   * @default 512 MiB
   */
  readonly bytes?: number | undefined;
  /**
   * Number of states.
   *
   * @default 10_000
   */
  readonly count?: number | undefined;
  /**
   * Number of owners. Half of each limit is divided among them and reserved.
   *
   * @default 1
   */
  readonly owners?: number | undefined;
  /**
   * Folder of states for which the memory of their owner is full, of copies of the others, and of all when the server
   * stops.
   *
   * @default none: a session that finds no room stays awake
   */
  readonly directory?: StateDirectory | undefined;
  /**
   * Size of the checkpoints in the directory, in bytes.
   *
   * @default 4 GiB
   */
  readonly directoryBytes?: number | undefined;
  /**
   * Milliseconds after which a state in memory is copied to the directory, if it is still there.
   *
   * @default 1000
   */
  readonly copyAfterMs?: number | undefined;
  /** Called with the error of a copy. Further ones follow only after one that was made. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** A session whose state is taken. */
export interface StoredSession {
  /** Returns the record of the session, which is saved with the state. */
  readonly describe: () => SessionRecordParts;
  /**
   * True if a later server continues it.
   *
   * @default true
   */
  readonly outlivesServer?: boolean | undefined;
}

/** Memory of an entry beside its bytes: the session and its timers. */
const ENTRY_BYTES = 4096;

/**
 * The states of sessions that hibernate, in memory and in a state directory. Their bytes and their number are limited,
 * and each owner has a reserved share. If the memory of an owner is full, its least recently used states move to the
 * directory. No state is dropped for another one. States that stay in memory are copied to the directory if that has
 * room, as the server may be killed.
 */
export class HibernationStore {
  readonly #directory: StateDirectory | undefined;
  readonly #memory: Budget;
  readonly #files: Budget;
  readonly #count: Budget;
  /** States in memory, least recently used first. */
  readonly #entries = new Set<Entry>();
  readonly #waking = new WakingStates();
  readonly #copyAfterMs: number;
  readonly #onError: (error: unknown) => void;
  #hasCopyFailed = false;

  constructor(options: HibernationStoreOptions = {}) {
    const { bytes = HIBERNATION_BYTES, count = MAX_HIBERNATING, owners, directory } = options;
    const { directoryBytes = STATE_DIRECTORY_BYTES, copyAfterMs = HIBERNATION_COPY_MS } = options;
    this.#directory = directory;
    this.#copyAfterMs = copyAfterMs;
    this.#onError = options.onError ?? (() => {});
    this.#memory = new Budget({
      total: bytes,
      owners,
      unit: "bytes of hibernating sessions",
      advice: "end sessions that you do not need, or start the server with a larger --hibernate-memory",
    });
    this.#files = new Budget({
      total: directoryBytes,
      owners,
      unit: "bytes of the state directory",
      advice: "end sessions that you do not need, or start the server with a larger --state-disk",
      heldByOthers: directory && (() => directory.unused.bytes + ENTRY_BYTES * directory.unused.count),
    });
    this.#count = new Budget({
      total: count,
      owners,
      unit: "hibernating sessions",
      advice: "end sessions that you do not need",
    });
  }

  /** True if sessions continue in a later server. */
  get isDurable(): boolean {
    return this.#directory !== undefined;
  }

  /** Returns the number of states of one owner, or of all. */
  count(owner?: string): number {
    return this.#count.used(owner);
  }

  /** Returns the bytes of the states of one owner, or of all, in memory or in the directory. */
  bytes(place: "memory" | "directory", owner?: string): number {
    return (place === "memory" ? this.#memory : this.#files).used(owner);
  }

  /** True if an owner has room for a state of so many bytes now. */
  hasRoom(owner: string, storedBytes: number): boolean {
    const size = ENTRY_BYTES + storedBytes;
    const places = this.#directory ? [this.#memory, this.#files] : [this.#memory];
    return this.#count.available(owner) > 0 && places.some((place) => place.available(owner) >= size);
  }

  /**
   * Takes the state of a session.
   *
   * @throws {ServerError} `busy` or `too_large` if there is no room.
   */
  async put(
    owner: string,
    checkpoint: Checkpoint,
    { describe, outlivesServer = true }: StoredSession,
  ): Promise<HibernatedState> {
    const size = ENTRY_BYTES + checkpoint.storedBytes;
    const slot = this.#count.take(owner, 1);
    const entry: Entry = { owner, describe, outlivesServer, size, slot, ...NEW_ENTRY };
    try {
      const room = await this.#takeMemory(owner, size);
      if (room) {
        entry.memory = { checkpoint, room };
        this.#entries.add(entry);
        this.#copyLater(entry);
      } else {
        await this.#write(entry, checkpoint);
      }
      return this.#stateOf(entry);
    } catch (error) {
      slot[Symbol.dispose]();
      throw error;
    }
  }

  /** Takes a session that the directory had when it was opened, also if a limit is lower than before. */
  adopt({ record, bytes, unusable }: SavedSession, describe: () => SessionRecordParts): HibernatedState {
    const { owner, id, checkpoint } = record;
    const size = ENTRY_BYTES + bytes;
    const slot = this.#count.hold(owner, 1);
    const file = { session: id, checkpoint, room: this.#files.hold(owner, size) };
    const state = this.#stateOf({ owner, describe, outlivesServer: true, size, slot, ...NEW_ENTRY, file });
    if (unusable) state.setUnusable(unusable);
    return state;
  }

  #stateOf(entry: Entry): HibernatedState {
    return {
      get unusable() {
        return entry.unusable;
      },
      setUnusable: (error) => void (entry.unusable = error),
      read: () => this.#read(entry),
      beginWake: () => {
        clearTimeout(entry.copyTimer);
        this.#waking.begin(entry);
      },
      cancelWake: () => {
        this.#waking.cancel(entry);
        this.#copyLater(entry);
      },
      update: () => this.#change(entry, () => this.#update(entry)),
      removeFiles: () => this.#change(entry, () => this.#removeFiles(entry)),
      suspend: () => this.#suspend(entry),
      [Symbol.asyncDispose]: () => this.#drop(entry),
    };
  }

  /** Takes memory, for which older states of the owner move to the directory. Returns `undefined` if none is left. */
  async #takeMemory(owner: string, size: number): Promise<BudgetLease | undefined> {
    while (size > this.#memory.available(owner) && this.#directory) {
      if (size > this.#memory.available(owner) + this.#memory.used(owner)) return undefined; // no use to move them all
      const oldest = this.#entries.values().find((entry) =>
        entry.owner === owner && !this.#waking.has(entry)
      );
      if (!oldest || !oldest.file && oldest.size > this.#files.available(owner)) return undefined;
      await this.#change(oldest, () => this.#move(oldest));
    }
    return this.#memory.take(owner, size);
  }

  /** Changes the files of a state after earlier changes. */
  #change(entry: Entry, change: () => Promise<void>): Promise<void> {
    const changed = entry.changed.then(change);
    entry.changed = changed.catch(() => {}); // the caller gets the error
    return changed;
  }

  async #move(entry: Entry): Promise<void> {
    const { memory, file, isDisposed } = entry;
    if (!memory || isDisposed) return;
    if (!file) await this.#write(entry, memory.checkpoint);
    this.#leaveMemory(entry);
  }

  #copyLater(entry: Entry): void {
    if (!this.#directory || !entry.outlivesServer || entry.file) return;
    entry.copyTimer = setTimeout(() => void this.#change(entry, () => this.#copy(entry)), this.#copyAfterMs);
  }

  /** Copies a state in memory to the directory. One that finds no room there is saved when the server stops. */
  async #copy(entry: Entry): Promise<void> {
    const { memory, file, isDisposed, owner, size } = entry;
    const hasRoom = size <= this.#files.available(owner);
    if (!memory || file || isDisposed || this.#waking.has(entry) || !hasRoom) return;
    try {
      await this.#write(entry, memory.checkpoint);
      this.#hasCopyFailed = false;
    } catch (error) {
      if (!this.#hasCopyFailed) this.#onError(error);
      this.#hasCopyFailed = true;
    }
  }

  async #update({ file, isDisposed, unusable, describe }: Entry): Promise<void> {
    if (!file || isDisposed || unusable) return;
    await this.#directory?.saveRecord({ ...describe(), checkpoint: file.checkpoint });
  }

  async #removeFiles(entry: Entry): Promise<void> {
    const { file } = entry;
    if (!file) return;
    await this.#directory?.remove(file.session);
    file.room[Symbol.dispose]();
    entry.file = undefined;
  }

  async #write(entry: Entry, checkpoint: Checkpoint): Promise<void> {
    const record = { ...entry.describe(), checkpoint: checkpoint.id };
    const room = this.#files.take(entry.owner, entry.size);
    try {
      await this.#directory?.save(record, checkpoint);
      entry.file = { session: record.id, checkpoint: checkpoint.id, room };
    } catch (error) {
      room[Symbol.dispose]();
      throw error;
    }
  }

  async #read({ memory, file, size }: Entry): Promise<Checkpoint> {
    if (memory) return memory.checkpoint;
    if (file && this.#directory) {
      return await this.#directory.read(file.session, file.checkpoint, size - ENTRY_BYTES);
    }
    throw new TypeError("Cannot read state as it was disposed");
  }

  async #suspend(entry: Entry): Promise<void> {
    if (!this.#directory) throw new TypeError("Cannot suspend session as there is no state directory");
    entry.isSuspended = true; // its files remain, even if the time for this is over
    try {
      await this.#change(entry, () => entry.file ? this.#update(entry) : this.#move(entry));
    } catch (error) {
      if (!entry.file) throw error; // with an older record, it continues
    }
  }

  #leaveMemory(entry: Entry): void {
    this.#entries.delete(entry);
    entry.memory?.room[Symbol.dispose]();
    entry.memory = undefined;
  }

  async #drop(entry: Entry): Promise<void> {
    if (entry.isDisposed) return;
    entry.isDisposed = true;
    clearTimeout(entry.copyTimer);
    try {
      await this.#change(entry, () => entry.isSuspended ? Promise.resolve() : this.#removeFiles(entry));
    } catch (error) {
      if (entry.file) this.#directory?.removeLater(entry.file.session, entry.size - ENTRY_BYTES);
      throw error;
    } finally {
      this.#leaveMemory(entry);
      if (!entry.isSuspended) entry.file?.room[Symbol.dispose](); // else its files take it
      entry.slot[Symbol.dispose]();
      this.#waking.end(entry);
    }
  }
}
