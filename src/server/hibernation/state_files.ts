import type { Checkpoint } from "../../sandbox/contract/checkpoint.ts";
import { Budget } from "../admission/budget.ts";
import { HIBERNATION_COPY_MS, STATE_DIRECTORY_BYTES, STATE_RETRY_MS } from "../limits.ts";
import type { HibernatedEntry as Entry } from "./hibernated_state.ts";
import type { SessionRecord } from "./session_record.ts";
import type { StateDirectory } from "./state_directory.ts";
import { ENTRY_BYTES, type RoomedState, StateRooms } from "./state_rooms.ts";

/** Options of {@linkcode StateFiles}. */
export interface StateFilesOptions {
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
   * Number of owners. Half of each limit is divided among them and reserved.
   *
   * @default 1
   */
  readonly owners?: number | undefined;
  /**
   * Milliseconds after which a state that is still in memory is copied to the directory.
   *
   * @default 1000
   */
  readonly copyAfterMs?: number | undefined;
  /**
   * Milliseconds after which states are written again after the disk has refused a state. Until then, only smaller states
   * are written.
   *
   * @default 5000
   */
  readonly retryAfterMs?: number | undefined;
  /** Called with the error of a copy. Further errors follow only after a copy that was made. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/**
 * The files of states in a state directory, and their room. The files of a state are changed in order, one at a time.
 * Copies are made of states in memory if the directory has room, as the server may be killed.
 */
export class StateFiles {
  readonly #directory: StateDirectory | undefined;
  readonly #budget: Budget;
  readonly #rooms: StateRooms<undefined>;
  readonly #copyAfterMs: number;
  readonly #retryAfterMs: number;
  readonly #onError: (error: unknown) => void;
  readonly #isWaking: (entry: Entry) => boolean;
  #hasCopyFailed = false;
  /** The smallest state that the disk has refused, and the time until which no larger state is tried. */
  #refused: { readonly bytes: number; readonly until: number } | undefined;

  /** @param isWaking returns true for a state of which no copy is made, as the session wakes */
  constructor(options: StateFilesOptions, isWaking: (entry: Entry) => boolean) {
    const { directory, directoryBytes = STATE_DIRECTORY_BYTES, owners } = options;
    const { copyAfterMs = HIBERNATION_COPY_MS, retryAfterMs = STATE_RETRY_MS, onError = () => {} } = options;
    this.#directory = directory;
    this.#budget = new Budget({
      total: directoryBytes,
      owners,
      unit: "bytes of the state directory",
      advice: "end sessions that you do not need, or start the server with a larger state disk",
      heldByOthers: directory && (() => directory.unused.bytes + ENTRY_BYTES * directory.unused.count),
    });
    this.#rooms = new StateRooms(this.#budget, { isShared: directory?.canLink ?? false });
    this.#copyAfterMs = copyAfterMs;
    this.#retryAfterMs = retryAfterMs;
    this.#onError = onError;
    this.#isWaking = isWaking;
  }

  /** True if there is a directory. */
  get isDurable(): boolean {
    return this.#directory !== undefined;
  }

  /** Returns the bytes of the files of an owner, or of all. */
  bytes(owner?: string): number {
    return this.#budget.used(owner);
  }

  /** True if the directory has room for a state now, and the disk has not just refused a state that is no larger. */
  hasRoom(state: RoomedState): boolean {
    return this.isDurable && !this.#isRefused(state) &&
      this.#rooms.needed(state) <= this.#budget.available(state.owner);
  }

  #isRefused({ bytes }: RoomedState): boolean {
    const refused = this.#refused;
    return refused !== undefined && bytes >= refused.bytes && performance.now() < refused.until;
  }

  /** Returns the files of a session that the directory has, also if there is no room for them. */
  hold(state: RoomedState, session: string): Entry["file"] {
    return { session, room: this.#rooms.hold(state, undefined) };
  }

  /** Changes the files of a state after earlier changes. */
  change(entry: Entry, change: () => Promise<void>): Promise<void> {
    const changed = entry.changed.then(change);
    entry.changed = changed.catch(() => {}); // the caller gets the error
    return changed;
  }

  /** Copies a state to the directory, if the state stays in memory. */
  copyLater(entry: Entry, afterMs = this.#copyAfterMs): void {
    if (!this.#directory || !entry.outlivesServer || entry.file || entry.isDisposed) return;
    entry.copyTimer = setTimeout(() => void this.change(entry, () => this.#copy(entry)), afterMs);
  }

  /** Copies a state. A state without room is saved when the server stops; a state that the disk refuses is tried again. */
  async #copy(entry: Entry): Promise<void> {
    const { memory, file, isDisposed } = entry;
    if (!memory || file || isDisposed || this.#isWaking(entry)) return;
    if (!this.hasRoom(entry)) {
      if (this.#isRefused(entry)) this.copyLater(entry, this.#retryAfterMs);
      return;
    }
    try {
      await this.write(entry, memory.value);
      this.#hasCopyFailed = false;
    } catch (error) {
      if (!this.#hasCopyFailed) this.#onError(error);
      this.#hasCopyFailed = true;
      this.copyLater(entry, this.#retryAfterMs);
    }
  }

  /**
   * Writes the files of a state.
   *
   * @throws {ServerError} `busy` or `too_large` if there is no room.
   */
  async write(entry: Entry, checkpoint: Checkpoint): Promise<void> {
    const record = recordOf(entry);
    const room = this.#rooms.take(entry, undefined);
    try {
      await this.#directory?.save(record, checkpoint);
      entry.file = { session: record.id, room };
      if (this.#refused && entry.bytes >= this.#refused.bytes) this.#refused = undefined;
    } catch (error) {
      const bytes = Math.min(entry.bytes, this.#refused?.bytes ?? Infinity);
      this.#refused = { bytes, until: performance.now() + this.#retryAfterMs };
      room[Symbol.dispose]();
      throw error;
    }
  }

  /** Saves the record of a state again, if there are files. */
  async update(entry: Entry): Promise<void> {
    if (!entry.file || entry.isDisposed || entry.unusable) return;
    await this.#directory?.saveRecord(recordOf(entry));
  }

  /** Lets the files of a state remain. They take room, also if others have had that since the session could not wake. */
  async keep(entry: Entry): Promise<void> {
    if (!entry.file) return;
    entry.file.room[Symbol.dispose]();
    entry.file = this.hold(entry, entry.file.session);
    await this.update(entry);
  }

  /** Reads a state. @throws {CheckpointError} if the file is damaged. */
  async read({ id, bytes, file }: Entry): Promise<Checkpoint> {
    if (file && this.#directory) return await this.#directory.read(file.session, id, bytes);
    throw new TypeError("Cannot read state as it was disposed");
  }

  /** Lets no equal state have the file of a state that cannot be restored. */
  distrust({ file }: Entry): void {
    if (file) this.#directory?.distrust(file.session);
  }

  /** Removes the files of a state. */
  async remove(entry: Entry): Promise<void> {
    const { file } = entry;
    if (!file) return;
    await this.#directory?.remove(file.session);
    file.room[Symbol.dispose]();
    entry.file = undefined;
  }

  /** Removes files later that could not be removed now. */
  removeLater({ file, bytes }: Entry): void {
    if (file) this.#directory?.removeLater(file.session, bytes);
  }
}

function recordOf({ id, stateBytes, describe }: Entry): SessionRecord {
  return { ...describe(), checkpoint: id, stateBytes };
}
