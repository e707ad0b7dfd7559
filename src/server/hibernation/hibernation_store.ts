import type { CheckpointError } from "../../errors.ts";
import type { Checkpoint } from "../../sandbox/contract/checkpoint.ts";
import { Budget, type BudgetPart, type Room } from "../admission/budget.ts";
import { ServerError } from "../http/http_errors.ts";
import { HIBERNATION_BYTES, MAX_HIBERNATING } from "../limits.ts";
import { type HibernatedEntry as Entry, type HibernatedState, NEW_ENTRY } from "./hibernated_state.ts";
import type { SavedSession } from "./saved_sessions.ts";
import { clientBytes, type SessionRecordParts } from "./session_record.ts";
import { StateFiles, type StateFilesOptions } from "./state_files.ts";
import { StateRooms } from "./state_rooms.ts";
import { WakingStates } from "./waking_states.ts";

/** Options of {@linkcode HibernationStore}. */
export interface HibernationStoreOptions extends StateFilesOptions {
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
}

/** A session whose state is taken. */
export interface StoredSession {
  /** Returns the record of the session, which is saved with the state. */
  readonly describe: () => SessionRecordParts;
  /**
   * True if a later server continues the session.
   *
   * @default true
   */
  readonly outlivesServer?: boolean | undefined;
}

/** A state for which there was no room. */
export interface UnfitState extends Pick<Checkpoint, "id" | "storedBytes"> {
  /** Memory for data that the client has given to the session. */
  readonly clientBytes: number;
}

/** Makes the state of a copy, whose session has this record. */
export type PlaceCopy = (describe: () => SessionRecordParts) => HibernatedState;

/**
 * The states of sessions that hibernate, in memory and in a state directory. Their bytes and their number are limited,
 * and each owner has a reserved share. If the memory of an owner is full, its least recently used states move to the
 * directory. No state is dropped for another state. Equal states of an owner are kept once. States that stay in memory
 * are copied to the directory if there is room, as the server may be killed.
 */
export class HibernationStore {
  readonly #memory: Budget;
  readonly #count: Budget;
  readonly #memoryRooms: StateRooms<Checkpoint>;
  /** States in memory, least recently used first. */
  readonly #entries = new Set<Entry>();
  readonly #waking = new WakingStates();
  readonly #files: StateFiles;

  constructor(options: HibernationStoreOptions = {}) {
    const { bytes = HIBERNATION_BYTES, count = MAX_HIBERNATING, owners } = options;
    this.#files = new StateFiles(options, (entry) => this.#waking.has(entry));
    this.#memory = new Budget({
      total: bytes,
      owners,
      unit: "bytes of hibernating sessions",
      advice: "end sessions that you do not need, or start the server with more hibernation memory",
    });
    this.#count = new Budget({
      total: count,
      owners,
      unit: "hibernating sessions",
      advice: "end sessions that you do not need",
    });
    this.#memoryRooms = new StateRooms(this.#memory);
  }

  /** True if sessions continue in a later server. */
  get isDurable(): boolean {
    return this.#files.isDurable;
  }

  /** Returns the number of states of an owner, or of all. */
  count(owner?: string): number {
    return this.#count.used(owner);
  }

  /** Returns the bytes of the states of an owner, or of all, in memory or in the directory. */
  bytes(place: "memory" | "directory", owner?: string): number {
    return place === "memory" ? this.#memory.used(owner) : this.#files.bytes(owner);
  }

  /** Returns whether an owner has room for a session now. `clientBytes`: memory of the client's data, beside the state. */
  hasRoom(owner: string, { id, storedBytes: bytes, clientBytes }: UnfitState): boolean {
    const left = this.#memory.available(owner) - clientBytes;
    if (this.#count.available(owner) <= 0 || left < 0) return false;
    const state = { owner, id, bytes };
    return left >= this.#memoryRooms.needed(state) || this.#files.hasRoom(state);
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
      if (await this.#keep([entry], checkpoint)) this.#files.copyLater(entry);
      else await this.#files.write(entry, checkpoint);
      return this.#stateOf(entry);
    } catch (error) {
      entry.session[Symbol.dispose]();
      throw error;
    }
  }

  /**
   * Takes room in memory for copies of a session in the same state, which is kept once. A later server continues the
   * copies. Returns what makes the state of each; all of them must be called.
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
      this.#files.copyLater(entry);
      return this.#stateOf(entry);
    });
  }

  /** Takes a session that the directory had when opened, also if a limit is lower than before. */
  adopt({ record, bytes, unusable }: SavedSession, describe: () => SessionRecordParts): HibernatedState {
    const { owner, checkpoint: id, stateBytes } = record;
    const session = Budget.holdAll(owner, this.#sessionParts(clientBytes(record)));
    const file = this.#files.hold({ owner, id, bytes }, record.id);
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
    const take = () => Budget.takeAll(owner, this.#sessionParts(bytes));
    return await this.#takeMemory(owner, { needed: () => bytes, take }) ?? take();
  }

  #sessionParts(bytes: number): BudgetPart[] {
    return [[this.#count, 1], [this.#memory, bytes]];
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
      read: async () => entry.memory?.value ?? await this.#files.read(entry),
      beginWake: () => {
        clearTimeout(entry.copyTimer);
        this.#waking.begin(entry);
      },
      cancelWake: () => {
        this.#waking.cancel(entry);
        this.#files.copyLater(entry);
      },
      update: () => this.#files.change(entry, () => this.#files.update(entry)),
      removeFiles: () => this.#files.change(entry, () => this.#files.remove(entry)),
      suspend: () => this.#suspend(entry),
      [Symbol.asyncDispose]: () => this.#drop(entry),
    };
  }

  #setUnusable(entry: Entry, error: CheckpointError): void {
    entry.unusable = error;
    this.#files.distrust(entry);
  }

  /**
   * Moves older states of an owner to the directory until so many bytes have room, and takes the room. Returns
   * `undefined` if the bytes find no room.
   *
   * @throws {ServerError} `busy` or `too_large` if there is no directory and no room.
   */
  async #takeMemory<T>(
    owner: string,
    { needed, take }: { needed: () => number; take: () => T },
  ): Promise<T | undefined> {
    let canWrite = true;
    while (needed() > this.#memory.available(owner) && this.isDurable) {
      if (needed() > this.#memory.available(owner) + this.#memory.used(owner)) return undefined; // no use to move all
      const oldest = this.#entries.values().find((entry) =>
        this.#canMove(entry, owner) && (canWrite || entry.file)
      );
      if (!oldest) return undefined;
      try {
        await this.#files.change(oldest, () => this.#move(oldest));
      } catch (error) {
        if (error instanceof ServerError) throw error;
        canWrite = false; // the disk has refused the state, which stays: those that the directory has can leave memory
      }
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

  async #move(entry: Entry): Promise<void> {
    const { memory, file, isDisposed } = entry;
    if (!memory || isDisposed) return;
    if (!file) await this.#files.write(entry, memory.value);
    this.#leaveMemory(entry);
  }

  async #suspend(entry: Entry): Promise<void> {
    if (!this.isDurable) throw new TypeError("Cannot suspend session as there is no state directory");
    clearTimeout(entry.copyTimer);
    entry.isSuspended = true; // the files remain, even if the time is over
    try {
      await this.#files.change(entry, () => entry.file ? this.#files.keep(entry) : this.#move(entry));
    } catch (error) {
      if (!entry.file) throw error; // the session continues with an older record
    }
  }

  /** True if a state can leave memory: the directory has the state, or has room for the state. */
  #canMove(entry: Entry, owner: string): boolean {
    if (entry.owner !== owner || this.#waking.has(entry) || entry.describe === notDescribed) return false;
    return entry.file !== undefined || this.#files.hasRoom(entry);
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
      await this.#files.change(
        entry,
        () => entry.isSuspended ? Promise.resolve() : this.#files.remove(entry),
      );
    } catch (error) {
      this.#files.removeLater(entry);
      throw error;
    } finally {
      this.#leaveMemory(entry);
      if (!entry.isSuspended) entry.file?.room[Symbol.dispose](); // else the files take the room
      entry.session[Symbol.dispose]();
      this.#waking.end(entry);
    }
  }
}

function notDescribed(): never {
  throw new TypeError("Cannot save state as its session has no record yet");
}
