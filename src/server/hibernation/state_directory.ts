import { join } from "node:path";
import { Semaphore } from "../../async/semaphore.ts";
import { CheckpointError, errorMessage, SandboxError } from "../../errors.ts";
import { parseUntrustedJson } from "../../json.ts";
import { readCheckpoint } from "../../sandbox/checkpoint/checkpoint.ts";
import { readHostKey } from "../../sandbox/checkpoint/host_key.ts";
import type { Checkpoint } from "../../sandbox/exec.ts";
import { parseRecord, type SessionRecord } from "./session_record.ts";

/** Options of {@linkcode StateDirectory.open}. */
export interface StateDirectoryOptions {
  /**
   * Owners whose sessions are used. Those of others stay in the folder for a later server, with a warning.
   *
   * @default all owners
   */
  readonly owners?: ReadonlySet<string> | undefined;
  /** Called with a warning about each file that is not used. */
  readonly onWarning?: ((message: string) => void) | undefined;
  /** Reads a checkpoint. Default: one of this package. */
  readonly read?: ((bytes: Uint8Array) => Promise<Checkpoint>) | undefined;
}

/** A session of a state directory. */
export interface SavedSession {
  readonly record: SessionRecord;
  /** Size of its checkpoint. */
  readonly bytes: number;
}

const [RECORD, STATE, DRAFT] = [".session.json", ".checkpoint", ".draft"];
/** Names of its files. Others in the folder are not those of sessions, and stay. */
const FILE_NAME = /^[A-Za-z0-9_-]{32}\.(?:session\.json|checkpoint)(?:\.draft)?$/;
const LOCK = "lock";
/** Text from which the key makes the secret of the server. It is no record, as it is not JSON. */
const SECRET = "secret of the server";
/** Sessions that are saved at once. Each has its checkpoint in memory once more meanwhile. */
const MAX_WRITES = 8;
/** A record has at most tools of 64 Ki characters, and metadata. */
const MAX_RECORD_BYTES = 1024 * 1024;
/** Permission bits of the group and of others. */
const SHARED_BITS = 0o077;

const encoder = new TextEncoder();

/**
 * Folder with sessions that hibernate, which a later server continues. Each has two files: its record, which is
 * authenticated by a key in the folder, and its checkpoint, whose id is in the record. One server uses it at a time.
 */
export class StateDirectory implements Disposable {
  readonly path: string;
  /** Sessions that it had when it was opened, least recently used first. */
  readonly sessions: readonly SavedSession[];
  /** Secret of the servers that use the folder, one after the other. It is derived from the key in it. */
  readonly secret: Uint8Array;
  readonly #key: CryptoKey;
  readonly #lock: Deno.FsFile;
  readonly #read: (bytes: Uint8Array) => Promise<Checkpoint>;
  readonly #writes = new Semaphore(MAX_WRITES);

  private constructor(
    path: string,
    parts: {
      key: CryptoKey;
      lock: Deno.FsFile;
      secret: Uint8Array;
      sessions: SavedSession[];
      read: ((bytes: Uint8Array) => Promise<Checkpoint>) | undefined;
    },
  ) {
    const { key, secret, lock, sessions, read = readCheckpoint } = parts;
    this.path = path;
    this.secret = secret;
    this.#key = key;
    this.#lock = lock;
    this.#read = read;
    this.sessions = sessions.sort((one, other) => one.record.usedAt < other.record.usedAt ? -1 : 1);
  }

  /**
   * Opens a state directory, which is created if it does not exist.
   *
   * @throws {SandboxError} if it is no folder that only this user can use, or another server uses it.
   */
  static async open(path: string, options: StateDirectoryOptions = {}): Promise<StateDirectory> {
    const { owners, onWarning = () => {}, read } = options;
    const lock = await openPrivate(path);
    try {
      if (!await lock.tryLock(true)) {
        throw new SandboxError(`Cannot use state directory '${path}' as another server uses it`);
      }
      const key = await readHostKey(path);
      const all = await readSessions(path, { key, onWarning });
      const sessions = all.filter(({ record: { owner } }) => owners === undefined || owners.has(owner));
      const others = all.length - sessions.length;
      if (others > 0) onWarning(`${others} sessions of other tokens stay in '${path}', and are not used`);
      const secret = new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(SECRET)));
      return new StateDirectory(path, { key, secret, lock, sessions, read });
    } catch (error) {
      lock.close();
      throw error;
    }
  }

  /** Saves a session, whose record is written last: without it, the checkpoint is not used. */
  async save(record: SessionRecord, checkpoint: Checkpoint): Promise<void> {
    using _turn = await this.#writes.acquire();
    try {
      await this.#write(`${record.id}${STATE}`, await checkpoint.toBytes());
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

  async #writeRecord(record: SessionRecord): Promise<void> {
    const json = JSON.stringify(record);
    const mac = new Uint8Array(await crypto.subtle.sign("HMAC", this.#key, encoder.encode(json)));
    await this.#write(`${record.id}${RECORD}`, encoder.encode(`${mac.toHex()}\n${json}\n`));
  }

  /**
   * Reads the checkpoint of a saved session, whose id is in its record. It is authenticated when it is restored.
   *
   * @param size bytes of the file when it was saved
   * @throws {CheckpointError} if the file is not that checkpoint, or not whole.
   */
  async read(session: string, id: string, size: number): Promise<Checkpoint> {
    const checkpoint = await this.#read(await this.#readState(session, size));
    if (checkpoint.id === id) return checkpoint;
    throw damaged("its file has another checkpoint");
  }

  /** Removes a session. */
  async remove(id: string): Promise<void> {
    for (const name of [`${id}${RECORD}`, `${id}${STATE}`]) await removeFile(join(this.path, name));
  }

  /** Lets another server use the folder. */
  [Symbol.dispose](): void {
    this.#lock.close();
  }

  async #readState(session: string, size: number): Promise<Uint8Array> {
    const path = join(this.path, `${session}${STATE}`);
    try {
      const found = await Deno.lstat(path);
      if (!found.isFile || found.size > size) { // a pipe would block, and a larger file fill the memory
        throw damaged(
          `its file must have at most ${size} bytes: ${found.isFile ? found.size : "it is no file"}`,
        );
      }
      return await Deno.readFile(path);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) throw damaged("its file was removed");
      throw error;
    }
  }

  async #write(name: string, contents: Uint8Array): Promise<void> {
    const draft = join(this.path, `${name}${DRAFT}`);
    try {
      await Deno.writeFile(draft, contents, { mode: 0o600 });
      await Deno.rename(draft, join(this.path, name));
    } catch (error) {
      await removeFile(draft).catch(() => {}); // a part of it takes room on a full disk
      throw error;
    }
  }
}

/** Makes the folder if it does not exist, and opens its lock file. */
async function openPrivate(path: string): Promise<Deno.FsFile> {
  try {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
    const { mode } = await Deno.stat(path);
    if (mode === null || (mode & SHARED_BITS) === 0) {
      return await Deno.open(join(path, LOCK), { create: true, write: true, mode: 0o600 });
    }
    throw new SandboxError(
      `Cannot use state directory '${path}' as only its owner may use it: its mode is ${
        (mode & 0o7777).toString(8)
      }; run chmod 700 '${path}'`,
    );
  } catch (cause) {
    if (cause instanceof SandboxError) throw cause;
    throw new SandboxError(`Cannot use state directory '${path}': ${errorMessage(cause)}`, { cause });
  }
}

/** Reads the sessions of a folder, and removes files of sessions that were not saved completely. */
async function readSessions(
  path: string,
  { key, onWarning }: { key: CryptoKey; onWarning: (message: string) => void },
): Promise<SavedSession[]> {
  const names = new Set<string>();
  for await (const { name, isFile } of Deno.readDir(path)) {
    if (isFile && FILE_NAME.test(name)) names.add(name);
  }
  const sessions: SavedSession[] = [];
  for (const name of names) {
    const file = join(path, name);
    if (name.endsWith(DRAFT)) await removeFile(file);
    if (name.endsWith(STATE) && !names.has(`${name.slice(0, -STATE.length)}${RECORD}`)) {
      await removeFile(file);
    }
    if (!name.endsWith(RECORD)) continue;
    try {
      const record = await readRecord(file, key);
      if (`${record.id}${RECORD}` !== name) throw new SyntaxError("it is the record of another session");
      const state = `${record.id}${STATE}`;
      if (!names.has(state)) {
        throw new SyntaxError(`its checkpoint '${state}' is missing, or no regular file`);
      }
      const { size: bytes } = await Deno.lstat(join(path, state));
      sessions.push({ record, bytes });
    } catch (error) {
      onWarning(`'${file}' is not used: ${errorMessage(error)}`);
    }
  }
  return sessions;
}

/** Reads a record. Throws if it was changed, or another version of Paddock wrote it. */
async function readRecord(file: string, key: CryptoKey): Promise<SessionRecord> {
  const { size } = await Deno.lstat(file);
  if (size > MAX_RECORD_BYTES) {
    throw new RangeError(`it must have at most ${MAX_RECORD_BYTES} bytes: it has ${size}`);
  }
  const [mac = "", json = ""] = (await Deno.readTextFile(file)).split("\n");
  const isAuthentic = /^[0-9a-f]{64}$/.test(mac) &&
    await crypto.subtle.verify("HMAC", key, Uint8Array.fromHex(mac), encoder.encode(json));
  if (!isAuthentic) throw new SyntaxError("its contents were changed");
  return parseRecord(parseUntrustedJson(json));
}

function damaged(reason: string): CheckpointError {
  return new CheckpointError(`Cannot restore checkpoint as ${reason}`, { code: "checkpoint_damaged" });
}

async function removeFile(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
