import { join } from "node:path";
import { Semaphore } from "../../async/semaphore.ts";
import type { CheckpointError } from "../../errors.ts";
import { requireKnownOptions } from "../../options.ts";
import { type CheckpointOrigin, piecesOf, readCheckpoint } from "../../sandbox/checkpoint/checkpoint.ts";
import { readHostKey } from "../../sandbox/checkpoint/host_key.ts";
import type { Checkpoint } from "../../sandbox/contract/checkpoint.ts";
import { STATE_SWEEP_MS } from "../limits.ts";
import {
  damaged,
  DRAFT,
  type OtherSession,
  readSavedSessions,
  readState,
  RECORD,
  removeFile,
  type SavedSession,
  type SavedSessions,
  sealRecord,
  STATE,
  type UnreadableSession,
  warningsOf,
} from "./saved_sessions.ts";
import type { SessionRecord } from "./session_record.ts";
import { LOCK, lockFolder } from "./state_folder.ts";
import { canLinkIn, StateLinks } from "./state_links.ts";

/** Options of {@linkcode StateDirectory.open}. */
export interface StateDirectoryOptions {
  /**
   * Owners whose sessions are used. Sessions of others stay in the folder until they end, with a warning.
   *
   * @default all owners
   */
  readonly owners?: ReadonlySet<string> | undefined;
  /**
   * Origin to which checkpoints of the server's pool are bound: the pool's `checkpointOrigin()`. Sessions of another
   * origin stay in the folder until they end, with a warning, and their requests get the reason.
   *
   * @default each session is compared at the first use
   */
  readonly origin?: CheckpointOrigin | undefined;
  /** Name of the server's profile, by which the warning of a server with another profile names this profile. */
  readonly profile?: string | undefined;
  /** Called with a warning about each kind of sessions that are not used. */
  readonly onWarning?: ((message: string) => void) | undefined;
  /** Called with each error of removing sessions that have ended. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Reads a checkpoint. Default: a checkpoint of this package. */
  readonly read?: ((bytes: Uint8Array) => Promise<Checkpoint>) | undefined;
}

/** Text from which the key makes the secret of the server. The text is no record, as the text is not JSON. */
const SECRET = "secret of the server";
/** Sessions that are saved at once. */
const MAX_WRITES = 8;

/**
 * Folder with sessions that hibernate, which a later server continues. Each session has two files: the record,
 * which is authenticated by a key in the folder, and the checkpoint, whose id is in the record. One server uses a folder
 * at a time.
 */
export class StateDirectory implements Disposable {
  readonly path: string;
  /** Sessions in the folder at the opening, least recently used first. */
  readonly sessions: readonly SavedSession[];
  /** Secret of the servers that use the folder in turn, derived from the key in the folder. */
  readonly secret: Uint8Array;
  /** Why sessions cannot be read, by their id. Their files stay. */
  readonly unreadable: ReadonlyMap<string, CheckpointError>;
  readonly #parts: DirectoryParts;
  readonly #writes = new Semaphore(MAX_WRITES);
  readonly #links: StateLinks;
  readonly #sweepTimer = setInterval(() => void this.removeEnded(), STATE_SWEEP_MS);
  readonly #unreadable: readonly UnreadableSession[];
  /** Sessions of other owners, and ended sessions whose files could not be removed, by id. */
  readonly #others: Map<string, OtherSession>;
  /** Absent after {@linkcode StateDirectory.unused} has changed. */
  #unused: UnusedSessions | undefined;

  private constructor(path: string, parts: DirectoryParts, { own, others, unreadable }: SavedSessions) {
    this.path = path;
    this.secret = parts.secret;
    this.#parts = parts;
    this.#links = new StateLinks(path, parts);
    this.sessions = own.toSorted((one, other) => one.record.usedAt < other.record.usedAt ? -1 : 1);
    this.unreadable = new Map([...unreadable].map(([id, { error }]) => [id, error]));
    this.#unreadable = [...unreadable.values()];
    this.#others = new Map(others.map((session) => [session.id, session]));
    for (const { record, unusable } of own) if (!unusable) this.#links.add(record);
    Deno.unrefTimer(this.#sweepTimer);
  }

  /**
   * Opens a state directory. A missing folder is created, and an empty folder of this user is closed to other users.
   *
   * @throws {StateDirectoryError} if others can use the folder too, the path is no folder, or another server uses the
   * folder.
   */
  static async open(path: string, options: StateDirectoryOptions = {}): Promise<StateDirectory> {
    requireKnownOptions("open StateDirectory", options, {
      owners: true,
      origin: true,
      profile: true,
      onWarning: true,
      onError: true,
      read: true,
    });
    const { owners, origin, profile, onWarning = () => {}, onError = () => {}, read } = options;
    const lock = await lockFolder(path);
    try {
      const key = await readHostKey(path);
      const secret = new Uint8Array(await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(SECRET)));
      const saved = await readSavedSessions(path, { key, owners, origin });
      const ended = await removeEnded(path, saved.others, { now: Date.now(), onError });
      const others = saved.others.filter(({ id }) => !ended.has(id));
      for (const warning of warningsOf({ ...saved, others }, path)) onWarning(warning);
      const canLink = await canLinkIn(path, LOCK);
      const parts = { key, secret, lock, canLink, profile, onError, read: read ?? readCheckpoint };
      return new StateDirectory(path, parts, { ...saved, others });
    } catch (error) {
      lock.close();
      throw error;
    }
  }

  /** True if equal checkpoints of an owner take their place once. */
  get canLink(): boolean {
    return this.#links.canLink;
  }

  /** Number and size of unused sessions in the folder: sessions of other owners, and unreadable sessions. */
  get unused(): UnusedSessions {
    return this.#unused ??= this.#countUnused();
  }

  #countUnused(): UnusedSessions {
    const sessions = [...this.#others.values(), ...this.#unreadable];
    return { count: sessions.length, bytes: sizeOf(sessions) };
  }

  /** Saves a session, whose record is written last: without a record, the checkpoint is not used. */
  async save(record: SessionRecord, checkpoint: Checkpoint): Promise<void> {
    using _turn = await this.#writes.acquire();
    try {
      await this.#links.save(
        record,
        checkpoint.storedBytes,
        () => this.#write(`${record.id}${STATE}`, piecesOf(checkpoint)),
      );
      await this.#writeRecord(record);
    } catch (error) {
      await this.remove(record.id).catch(() => {}); // the disk fails: a later server removes what remains
      throw error;
    }
  }

  /** Replaces the record of a saved session. */
  async saveRecord(record: SessionRecord): Promise<void> {
    using _turn = await this.#writes.acquire();
    await this.#writeRecord(record);
  }

  /**
   * Reads the checkpoint of a saved session, whose id is in the record. The restore authenticates the checkpoint.
   *
   * @param size bytes of the file at the save
   * @throws {CheckpointError} if the file is not that checkpoint, or not whole.
   */
  async read(session: string, id: string, size: number): Promise<Checkpoint> {
    const checkpoint = await this.#parts.read(await readState(this.path, session, size));
    if (checkpoint.id === id) return checkpoint;
    throw damaged("its file has another checkpoint");
  }

  /** Removes a session. */
  async remove(id: string): Promise<void> {
    this.#links.remove(id);
    await removeSession(this.path, id);
  }

  /** Lets no equal state have the file of a session whose state cannot be restored. */
  distrust(id: string): void {
    this.#links.remove(id);
  }

  /** Removes a session that has ended and could not be removed now. The session counts as unused until then. */
  removeLater(id: string, bytes: number): void {
    this.#others.set(id, { id, bytes, endsAt: 0, hasNoOwner: false });
    this.#unused = undefined;
  }

  /**
   * Removes the files of sessions that no server uses and that have ended. The directory does so each hour by itself.
   *
   * @param now milliseconds since 1970
   */
  async removeEnded(now: number = Date.now()): Promise<void> {
    const others = [...this.#others.values()];
    const ended = await removeEnded(this.path, others, { now, onError: this.#parts.onError });
    for (const id of ended) this.#others.delete(id);
    this.#unused = undefined;
  }

  /** Lets another server use the folder. */
  [Symbol.dispose](): void {
    clearInterval(this.#sweepTimer);
    this.#parts.lock.unlockSync(); // a process that is just being started has a copy of the descriptor
    this.#parts.lock.close();
  }

  async #writeRecord(record: SessionRecord): Promise<void> {
    const { key, profile } = this.#parts;
    await this.#write(`${record.id}${RECORD}`, [await sealRecord({ ...record, profile }, key)]);
  }

  async #write(name: string, pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<void> {
    const draft = join(this.path, `${name}${DRAFT}`);
    try {
      await Deno.writeFile(draft, ReadableStream.from(pieces), { mode: 0o600 });
      await Deno.rename(draft, join(this.path, name));
    } catch (error) {
      await removeFile(draft).catch(() => {}); // a part of the file takes room on a full disk
      throw error;
    }
  }
}

/** Sessions of a folder that are not used. */
interface UnusedSessions {
  readonly count: number;
  readonly bytes: number;
}

interface DirectoryParts {
  readonly key: CryptoKey;
  readonly secret: Uint8Array;
  readonly lock: Deno.FsFile;
  readonly canLink: boolean;
  readonly profile: string | undefined;
  readonly onError: (error: unknown) => void;
  readonly read: (bytes: Uint8Array) => Promise<Checkpoint>;
}

/** Removes the sessions that have ended, and returns the ids of those that are removed. */
async function removeEnded(
  folder: string,
  sessions: readonly OtherSession[],
  { now, onError }: { now: number } & Pick<DirectoryParts, "onError">,
): Promise<ReadonlySet<string>> {
  const removed = new Set<string>();
  for (const { id } of sessions.filter(({ endsAt }) => endsAt <= now)) {
    try {
      await removeSession(folder, id);
      removed.add(id);
    } catch (error) {
      onError(error);
    }
  }
  return removed;
}

/** Returns the size of the checkpoints of sessions. A file with several names counts once. */
function sizeOf(sessions: readonly (OtherSession | UnreadableSession)[]): number {
  const files = new Set<number>();
  return sessions.reduce((sum, { bytes, file }) => {
    if (file === undefined) return sum + bytes;
    if (files.has(file)) return sum;
    files.add(file);
    return sum + bytes;
  }, 0);
}

async function removeSession(folder: string, id: string): Promise<void> {
  for (const name of [`${id}${RECORD}`, `${id}${STATE}`]) await removeFile(join(folder, name));
}
