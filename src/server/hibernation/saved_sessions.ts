import { join } from "node:path";
import { mapConcurrently } from "../../async/map_concurrently.ts";
import { CheckpointError, type CheckpointErrorCode, errorMessage } from "../../errors.ts";
import { parseUntrustedJson } from "../../json.ts";
import {
  CHECKPOINT_HEAD_BYTES,
  type CheckpointOrigin,
  originError,
  readCheckpointHead,
} from "../../sandbox/checkpoint/checkpoint.ts";
import { endOf, isOtherFormat, parseRecord, type SessionRecord } from "./session_record.ts";

/** A session of a state directory. */
export interface SavedSession {
  readonly record: SessionRecord;
  /** Size of the checkpoint. */
  readonly bytes: number;
  /** Why this server cannot continue the session. The files stay until the session ends, for a server that can. */
  readonly unusable?: CheckpointError | undefined;
}

/** The file of the checkpoint of a session. */
interface StateFile {
  /** Size of the file. */
  readonly bytes: number;
  /** Number of the file, by which equal states share the file, if the file system has numbers. */
  readonly file?: number | undefined;
}

/** A session of an owner that the server does not have. */
export interface OtherSession extends StateFile {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly endsAt: number;
  /** True if the server had no tokens. */
  readonly hasNoOwner: boolean;
}

/** Files whose record cannot be read, and the file of the checkpoint, if present. */
export interface UnreadableSession extends StateFile {
  readonly error: CheckpointError;
}

/** Contents of a state directory. */
export interface SavedSessions {
  readonly own: readonly SavedSession[];
  readonly others: readonly OtherSession[];
  /** By the id of the session. */
  readonly unreadable: ReadonlyMap<string, UnreadableSession>;
}

/** Options of {@linkcode readSavedSessions}. */
export interface ReadSavedOptions {
  /** Key of the records. */
  readonly key: CryptoKey;
  readonly owners: ReadonlySet<string> | undefined;
  readonly origin: CheckpointOrigin | undefined;
}

/** Ends of the names of the files of a session. */
export const [RECORD, STATE, DRAFT] = [".session.json", ".checkpoint", ".draft"] as const;
/** Names of the session's files. Other files of the folder belong to no session, and stay. */
const FILE_NAME = /^[A-Za-z0-9_-]{32}\.(?:session\.json|checkpoint)(?:\.draft)?$/;
/** A record has at most tools of 64 Ki characters, and metadata. */
const MAX_RECORD_BYTES = 1024 * 1024;
/** Sessions whose files are read at once. */
const MAX_READS = 16;

const encoder = new TextEncoder();

/** Reads the sessions of a folder, and removes files of sessions that were not saved completely. */
export async function readSavedSessions(folder: string, options: ReadSavedOptions): Promise<SavedSessions> {
  const names = new Set<string>();
  for await (const { name } of Deno.readDir(folder)) if (FILE_NAME.test(name)) names.add(name);
  await removeIncomplete(folder, names);
  const ids = [...names].filter((name) => name.endsWith(RECORD)).map((name) => name.slice(0, -RECORD.length));
  const own: SavedSession[] = [];
  const others: OtherSession[] = [];
  const unreadable = new Map<string, UnreadableSession>();
  const read = async (id: string) => {
    const state = await findState(folder, id);
    const { bytes, file } = state ?? { bytes: 0 };
    const record = await readRecord(folder, id, options.key).catch(toUnreadable);
    if (record instanceof CheckpointError) {
      return void unreadable.set(id, { error: record, bytes, file });
    }
    if (options.owners?.has(record.owner) === false) {
      others.push({ id, bytes, file, endsAt: endOf(record), hasNoOwner: record.owner === "" });
      return;
    }
    const unusable = state === undefined
      ? damaged("its file is missing, or no regular file")
      : await findUnusable(folder, { record, bytes, origin: options.origin });
    own.push({ record, bytes, unusable });
  };
  await Array.fromAsync(mapConcurrently(ids, read, { concurrency: MAX_READS }));
  return { own, others, unreadable };
}

/** Reads the state of a session. */
export async function readState(folder: string, id: string, size: number): Promise<Uint8Array> {
  const path = join(folder, `${id}${STATE}`);
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

/** Returns the error of a checkpoint that was changed. */
export function damaged(reason: string, cause?: unknown): CheckpointError {
  return new CheckpointError(`Cannot restore checkpoint as ${reason}`, { code: "checkpoint_damaged", cause });
}

/** Returns the contents of the file of a record, with the MAC. */
export async function sealRecord(record: SessionRecord, key: CryptoKey): Promise<Uint8Array> {
  const json = JSON.stringify(record);
  const mac = new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(json)));
  return encoder.encode(`${mac.toHex()}\n${json}\n`);
}

/** Removes a file, if the file exists. */
export async function removeFile(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Removes the leftovers of a killed server: drafts, and states whose record was not written yet. */
async function removeIncomplete(folder: string, names: ReadonlySet<string>): Promise<void> {
  for (const name of names) {
    const hasNoRecord = name.endsWith(STATE) && !names.has(`${name.slice(0, -STATE.length)}${RECORD}`);
    if (name.endsWith(DRAFT) || hasNoRecord) await removeFile(join(folder, name));
  }
}

/** Returns the file of the state of a session. Returns `undefined` if there is no regular file. */
async function findState(folder: string, id: string): Promise<StateFile | undefined> {
  try {
    const { isFile, size, ino } = await Deno.lstat(join(folder, `${id}${STATE}`));
    return isFile ? { bytes: size, file: ino ?? undefined } : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Reads a record. Throws if the record was changed, or another version of Paddock wrote the record. */
async function readRecord(folder: string, id: string, key: CryptoKey): Promise<SessionRecord> {
  const path = join(folder, `${id}${RECORD}`);
  const { isFile, size } = await Deno.lstat(path);
  if (!isFile) throw damaged("its record is no regular file");
  if (size > MAX_RECORD_BYTES) {
    throw damaged(`its record must have at most ${MAX_RECORD_BYTES} bytes: it has ${size}`);
  }
  const [mac = "", json = ""] = (await Deno.readTextFile(path)).split("\n");
  const isAuthentic = /^[0-9a-f]{64}$/.test(mac) &&
    await crypto.subtle.verify("HMAC", key, Uint8Array.fromHex(mac), encoder.encode(json));
  if (!isAuthentic) throw damaged("its record was changed, or the key of its folder was replaced");
  const value = parseUntrustedJson(json);
  if (isOtherFormat(value)) throw otherFormat();
  const record = parseRecord(value);
  if (record.id !== id) throw damaged("its record is that of another session");
  return record;
}

/** Returns why a record cannot be read, in words for the client of the session. */
function toUnreadable(error: unknown): CheckpointError {
  if (error instanceof CheckpointError) return error;
  return isSystemError(error) ? damaged("its record cannot be read", error) : otherFormat(error);
}

/** True for errors of the operating system. */
function isSystemError(error: unknown): boolean {
  return error instanceof Error && "code" in error;
}

function otherFormat(cause?: unknown): CheckpointError {
  const message = "Cannot restore checkpoint as another version of Paddock wrote the record of its session";
  return new CheckpointError(message, { code: "checkpoint_other_format", cause });
}

/** Returns why a server of an origin cannot continue a session. The restore authenticates the state. */
async function findUnusable(
  folder: string,
  { record, bytes, origin }: SavedSession & { origin: CheckpointOrigin | undefined },
): Promise<CheckpointError | undefined> {
  if (origin === undefined) return undefined;
  try {
    const head = await readCheckpointHead(await readStart(join(folder, `${record.id}${STATE}`)), bytes);
    if (head.id !== record.checkpoint) return damaged("its file has another checkpoint");
    return originError(head.origin, origin);
  } catch (error) {
    return error instanceof CheckpointError ? error : damaged("its file cannot be read", error);
  }
}

async function readStart(path: string): Promise<Uint8Array> {
  using file = await Deno.open(path);
  const bytes = new Uint8Array(CHECKPOINT_HEAD_BYTES);
  let length = 0;
  for (let read: number | null = 0; read !== null && length < bytes.length; length += read ?? 0) {
    read = await file.read(bytes.subarray(length));
  }
  return bytes.subarray(0, length);
}

/** Requirements of a server that continues sessions, by the reason for which another server cannot. */
const REMEDIES: Readonly<Partial<Record<CheckpointErrorCode, string>>> = {
  checkpoint_other_profile: "start the server with the profile and the required layers that they had",
  checkpoint_other_image: "start the version of Paddock that they had, with its cache folder",
  checkpoint_foreign: "start the server with the cache folder or the checkpoint key that they had",
  checkpoint_other_format: "start the version of Paddock that they had",
};
const NO_REMEDY = "only a copy of their files, if there is one, can bring them back";

/** Files that a warning lists. */
const MAX_LISTED = 5;

/** Returns warnings about unused parts of a folder, each with advice to make the part usable. */
export function warningsOf({ own, others, unreadable }: SavedSessions, folder: string): string[] {
  return [
    ...unusableWarning(own, folder),
    ...unreadableWarning(unreadable, folder),
    ...othersWarning(others, folder),
  ];
}

function unusableWarning(own: readonly SavedSession[], folder: string): string[] {
  const unusable = own.filter((saved) => saved.unusable !== undefined);
  if (unusable.length === 0) return [];
  const byCode = Map.groupBy(unusable, (saved) => saved.unusable?.code);
  const reasons = [...byCode].map(([code, sessions]) => {
    const remedy = code && REMEDIES[code] || NO_REMEDY;
    return `${sessions.length} with ${code}${profilesOf(code, sessions)}: ${remedy}`;
  });
  return [
    `This server cannot continue ${countSessions(unusable.length)} of '${folder}' (${reasons.join("; ")}). ` +
    "Files of such sessions stay until they end or are deleted by their owner",
  ];
}

/** Names the profiles of sessions for which another profile is needed. */
function profilesOf(code: CheckpointErrorCode | undefined, sessions: readonly SavedSession[]): string {
  if (code !== "checkpoint_other_profile") return "";
  const names = new Set(sessions.flatMap(({ record: { profile } }) => profile ?? []));
  const listed = [...names].slice(0, MAX_LISTED).map((name) => `'${name}'`);
  return names.size === 0 ? "" : `, which had profile ${listed.join(", ")}`;
}

function unreadableWarning(unreadable: SavedSessions["unreadable"], folder: string): string[] {
  if (unreadable.size === 0) return [];
  const byReason = Map.groupBy(
    unreadable,
    ([, { error: { message, cause } }]) => isSystemError(cause) ? errorMessage(cause) : message,
  );
  const reasons = [...byReason].slice(0, MAX_LISTED).map(([reason, files]) => {
    const names = files.slice(0, MAX_LISTED).map(([id]) => `'${id}${RECORD}'`);
    return `${names.join(", ")}${files.length > MAX_LISTED ? ", …" : ""}: ${reason}`;
  });
  return [
    `This server cannot read ${countSessions(unreadable.size)} of '${folder}' (${reasons.join("; ")}). ` +
    "Their files stay until you repair or remove them",
  ];
}

function othersWarning(others: readonly OtherSession[], folder: string): string[] {
  if (others.length === 0) return [];
  const withoutOwner = others.filter(({ hasNoOwner }) => hasNoOwner).length;
  const rest = withoutOwner === 0 ? "" : `, ${withoutOwner} of them of a server without tokens`;
  return [
    `'${folder}' has ${countSessions(others.length)} of tokens that this server does not have${rest}. ` +
    "Files of such sessions stay until they end; a server with these tokens continues them",
  ];
}

/** Returns a number of sessions as text. */
export function countSessions(count: number): string {
  return count === 1 ? "1 session" : `${count} sessions`;
}
