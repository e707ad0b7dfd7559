import type { CheckpointError } from "../../errors.ts";
import type { Checkpoint } from "../../sandbox/exec.ts";
import { Budget } from "../budget.ts";
import { ServerError } from "../http/errors.ts";
import { HIBERNATION_BYTES, HIBERNATION_COPY_MS, MAX_HIBERNATING, STATE_DIRECTORY_BYTES } from "../limits.ts";
import { type HibernatedEntry as Entry, type HibernatedState, NEW_ENTRY } from "./hibernated_state.ts";
import type { SavedSession } from "./saved_sessions.ts";
import { clientBytes, type SessionRecord, type SessionRecordParts } from "./session_record.ts";
import type { StateDirectory } from "./state_directory.ts";
import { ENTRY_BYTES, holdRoom, type Room, type RoomPart, StateRooms, takeRoom } from "./state_rooms.ts";
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

/** A state for which there was no room. */
export interface UnfitState extends Pick<Checkpoint, "id" | "storedBytes"> {
  /** Memory for what the client has given to its session. */
  readonly clientBytes: number;
}

/** Makes the state of one copy, whose session has this record. */
export type PlaceCopy = (describe: () => SessionRecordParts) => HibernatedState;

/**
 * The states of sessions that hibernate, in memory and in a state directory. Their bytes and their number are limited,
 * and each owner has a reserved share. If the memory of an owner is full, its least recently used states move to the
 * directory. No state is dropped for another one. Equal states of an owner are kept once. States that stay in memory are
 * copied to the directory if that has room, as the server may be killed.
 */
export class HibernationStore {
  readonly #directory: StateDirectory | undefined;
  readonly #memory: Budget;
  readonly #files: Budget;
  readonly #count: Budget;
  readonly #memoryRooms: StateRooms<Checkpoint>;
  readonly #fileRooms: StateRooms<undefined>;
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
    this.#memoryRooms = new StateRooms(this.#memory);
    this.#fileRooms = new StateRooms(this.#files, { isShared: directory?.canLink ?? false });
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

  /** True if an owner has room for a session now, for whose client it takes so many bytes beside its state. */
  hasRoom(owner: string, { id, storedBytes: bytes, clientBytes }: UnfitState): boolean {
    const left = this.#memory.available(owner) - clientBytes;
    if (this.#count.available(owner) <= 0 || left < 0) return false;
    const state = { owner, id, bytes };
    return left >= this.#memoryRooms.needed(state) ||
      this.#directory !== undefined && this.#files.available(owner) >= this.#fileRooms.needed(state);
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
    const session = await this.#takeSession(owner, clientBytes(describe()));
    const entry = this.#newEntry(checkpoint, session, { owner, describe, outlivesServer });
    try {
      if (await this.#keep([entry], checkpoint)) this.#copyLater(entry);
      else await this.#write(entry, checkpoint);
      return this.#stateOf(entry);
    } catch (error) {
      entry.session[Symbol.dispose]();
      throw error;
    }
  }

  /**
   * Takes room in memory for copies of a session in one state, which is kept once. A later server continues the copies.
   * Returns what makes the state of each; all of them must be called.
   *
   * @param parent record of the session
   *
   * @throws {ServerError} `busy` or `too_large` if there is no room.
   */
  async putCopies(checkpoint: Checkpoint, count: number, parent: SessionRecordParts): Promise<PlaceCopy[]> {
    const { owner } = parent;
    const entries: Entry[] = [];
    const add = (session: Room) =>
      entries.push(
        this.#newEntry(checkpoint, session, { owner, describe: notDescribed, outlivesServer: true }),
      );
    try {
      const bytes = clientBytes(parent);
      for (let copy = 0; copy < count; copy++) add(await this.#takeSession(owner, bytes));
      if (!await this.#keep(entries, checkpoint)) {
        throw new ServerError("busy", "The copies have no room in memory");
      }
    } catch (error) {
      for (const entry of entries) {
        this.#leaveMemory(entry);
        entry.session[Symbol.dispose]();
      }
      throw error;
    }
    return entries.map((entry) => (describe) => {
      entry.describe = describe;
      this.#copyLater(entry);
      return this.#stateOf(entry);
    });
  }

  /** Takes a session that the directory had when it was opened, also if a limit is lower than before. */
  adopt({ record, bytes, unusable }: SavedSession, describe: () => SessionRecordParts): HibernatedState {
    const { owner, checkpoint: id, stateBytes } = record;
    const session = holdRoom(owner, this.#sessionParts(clientBytes(record)));
    const file = { session: record.id, room: this.#fileRooms.hold({ owner, id, bytes }, undefined) };
    const parts = { owner, id, bytes, stateBytes, describe, outlivesServer: true, session };
    return this.#stateOf({ ...parts, ...NEW_ENTRY, file, unusable });
  }

  #newEntry(
    { id, storedBytes: bytes, stateBytes }: Checkpoint,
    session: Room,
    parts: Pick<Entry, "owner" | "describe" | "outlivesServer">,
  ): Entry {
    return { ...parts, id, bytes, stateBytes, session, ...NEW_ENTRY };
  }

  /** Takes the room of a session, for which older states may move. @throws {ServerError} `busy` if there is none. */
  async #takeSession(owner: string, bytes: number): Promise<Room> {
    const take = () => takeRoom(owner, this.#sessionParts(bytes));
    return await this.#takeMemory(owner, { needed: () => bytes, take }) ?? take();
  }

  #sessionParts(bytes: number): RoomPart[] {
    return [{ budget: this.#count, amount: 1 }, { budget: this.#memory, amount: bytes }];
  }

  #stateOf(entry: Entry): HibernatedState {
    return {
      get transferBytes() {
        return (entry.stateBytes ?? Infinity) + (entry.memory ? 0 : entry.bytes);
      },
      get unusable() {
        return entry.unusable;
      },
      setUnusable: (error) => this.#setUnusable(entry, error),
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

  #setUnusable(entry: Entry, error: CheckpointError): void {
    entry.unusable = error;
    if (entry.file) this.#directory?.distrust(entry.file.session);
  }

  /**
   * Moves older states of an owner to the directory until so many bytes have room, and takes it. Returns `undefined` if
   * these find no room.
   *
   * @throws {ServerError} `busy` or `too_large` if there is no directory and no room.
   */
  async #takeMemory<T>(
    owner: string,
    { needed, take }: { needed: () => number; take: () => T },
  ): Promise<T | undefined> {
    while (needed() > this.#memory.available(owner) && this.#directory) {
      if (needed() > this.#memory.available(owner) + this.#memory.used(owner)) return undefined; // no use to move all
      const oldest = this.#entries.values().find((entry) => this.#canMove(entry, owner));
      if (!oldest || !oldest.file && !this.#hasFileRoom(oldest)) return undefined;
      await this.#change(oldest, () => this.#move(oldest));
    }
    return take();
  }

  /** Keeps equal states in memory. @throws {ServerError} `busy` or `too_large` if there is no room. */
  async #keep(entries: readonly Entry[], checkpoint: Checkpoint): Promise<boolean> {
    const [first] = entries;
    if (!first) return true;
    const kept = await this.#takeMemory(first.owner, {
      needed: () => this.#memoryRooms.needed(first, entries.length),
      take: () => {
        for (const entry of entries) {
          entry.memory = this.#memoryRooms.take(entry, checkpoint);
          this.#entries.add(entry);
        }
        return true;
      },
    });
    return kept === true;
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
    if (!file) await this.#write(entry, memory.value);
    this.#leaveMemory(entry);
  }

  #copyLater(entry: Entry): void {
    if (!this.#directory || !entry.outlivesServer || entry.file || entry.isDisposed) return;
    entry.copyTimer = setTimeout(() => void this.#change(entry, () => this.#copy(entry)), this.#copyAfterMs);
  }

  /** Copies a state in memory to the directory. One that finds no room there is saved when the server stops. */
  async #copy(entry: Entry): Promise<void> {
    const { memory, file, isDisposed } = entry;
    if (!memory || file || isDisposed || this.#waking.has(entry) || !this.#hasFileRoom(entry)) return;
    try {
      await this.#write(entry, memory.value);
      this.#hasCopyFailed = false;
    } catch (error) {
      if (!this.#hasCopyFailed) this.#onError(error);
      this.#hasCopyFailed = true;
    }
  }

  #hasFileRoom(entry: Entry): boolean {
    return this.#fileRooms.needed(entry) <= this.#files.available(entry.owner);
  }

  async #update(entry: Entry): Promise<void> {
    if (!entry.file || entry.isDisposed || entry.unusable) return;
    await this.#directory?.saveRecord(recordOf(entry));
  }

  async #removeFiles(entry: Entry): Promise<void> {
    const { file } = entry;
    if (!file) return;
    await this.#directory?.remove(file.session);
    file.room[Symbol.dispose]();
    entry.file = undefined;
  }

  async #write(entry: Entry, checkpoint: Checkpoint): Promise<void> {
    const record = recordOf(entry);
    const room = this.#fileRooms.take(entry, undefined);
    try {
      await this.#directory?.save(record, checkpoint);
      entry.file = { session: record.id, room };
    } catch (error) {
      room[Symbol.dispose]();
      throw error;
    }
  }

  async #read({ id, bytes, memory, file }: Entry): Promise<Checkpoint> {
    if (memory) return memory.value;
    if (file && this.#directory) return await this.#directory.read(file.session, id, bytes);
    throw new TypeError("Cannot read state as it was disposed");
  }

  async #suspend(entry: Entry): Promise<void> {
    if (!this.#directory) throw new TypeError("Cannot suspend session as there is no state directory");
    clearTimeout(entry.copyTimer);
    entry.isSuspended = true; // its files remain, even if the time for this is over
    try {
      await this.#change(entry, () => entry.file ? this.#keepFile(entry, entry.file) : this.#move(entry));
    } catch (error) {
      if (!entry.file) throw error; // with an older record, it continues
    }
  }

  /** Lets a file take its room, also if others have had that since its session could not wake. */
  async #keepFile(entry: Entry, { session, room }: NonNullable<Entry["file"]>): Promise<void> {
    room[Symbol.dispose]();
    entry.file = { session, room: this.#fileRooms.hold(entry, undefined) };
    await this.#update(entry);
  }

  #canMove(entry: Entry, owner: string): boolean {
    return entry.owner === owner && !this.#waking.has(entry) && entry.describe !== notDescribed;
  }

  #leaveMemory(entry: Entry): void {
    this.#entries.delete(entry);
    entry.memory?.[Symbol.dispose]();
    entry.memory = undefined;
  }

  async #drop(entry: Entry): Promise<void> {
    if (entry.isDisposed) return;
    entry.isDisposed = true;
    clearTimeout(entry.copyTimer);
    try {
      await this.#change(entry, () => entry.isSuspended ? Promise.resolve() : this.#removeFiles(entry));
    } catch (error) {
      if (entry.file) this.#directory?.removeLater(entry.file.session, entry.bytes);
      throw error;
    } finally {
      this.#leaveMemory(entry);
      if (!entry.isSuspended) entry.file?.room[Symbol.dispose](); // else its files take it
      entry.session[Symbol.dispose]();
      this.#waking.end(entry);
    }
  }
}

function recordOf({ id, stateBytes, describe }: Entry): SessionRecord {
  return { ...describe(), checkpoint: id, stateBytes };
}

function notDescribed(): never {
  throw new TypeError("Cannot save state as its session has no record yet");
}
