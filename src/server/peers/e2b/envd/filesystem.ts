import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import type { Account } from "../../../admission/budget.ts";
import type { E2bSandbox } from "../sandboxes.ts";
import { toUserPath } from "../signed_files.ts";
import type { FileEvent } from "./watchers.ts";
import { toConnectError } from "./connect_error.ts";
import {
  type EntryInfo,
  EntryInfoSchema,
  type Filesystem,
  type FilesystemEvent,
  FilesystemEventSchema,
  FileType,
  WatchDirResponseSchema,
} from "./filesystem_pb.ts";
import type { GuestEntry } from "./guest_files.ts";

/** Owner of all files, by E2B's name. */
const USER = "user";
const TYPES = { file: FileType.FILE, directory: FileType.DIRECTORY, other: FileType.UNSPECIFIED } as const;
const MAX_DATE_MS = Date.parse("9999-12-31T23:59:59Z");
/** Milliseconds between two signs of life of a stream. */
export const STREAM_KEEP_ALIVE_MS = 50_000;

/** A call of a client: the sandbox, and the memory for waiting data. */
export interface EnvdCall {
  readonly sandbox: E2bSandbox;
  /** User of the call; empty for the default user. */
  readonly user: string;
  readonly memory: Account;
}

/** Returns envd's service `filesystem`. */
export function filesystemService(
  callOf: (context: HandlerContext) => EnvdCall,
): ServiceImpl<typeof Filesystem> {
  const sandboxOf = (context: HandlerContext) => callOf(context).sandbox;
  const full = (path: string, context: HandlerContext) => toUserPath(path, callOf(context).user);
  return {
    async stat({ path }, context) {
      const sandbox = sandboxOf(context);
      return { entry: toEntryInfo(sandbox, await sandbox.files.stat(full(path, context))) };
    },
    async listDir({ path, depth }, context) {
      const sandbox = sandboxOf(context);
      const entries = await sandbox.files.list(full(path, context), depth);
      return { entries: entries.map((entry) => toEntryInfo(sandbox, entry)) };
    },
    async makeDir({ path }, context) {
      const sandbox = sandboxOf(context);
      return { entry: toEntryInfo(sandbox, await sandbox.files.makeDir(full(path, context))) };
    },
    async move({ source, destination }, context) {
      const sandbox = sandboxOf(context);
      const { entry, from } = await sandbox.files.move(full(source, context), full(destination, context));
      const metadata = sandbox.fileMetadata.get(from);
      sandbox.fileMetadata.delete(from);
      sandbox.fileMetadata.delete(entry.path);
      if (metadata) sandbox.fileMetadata.set(entry.path, metadata);
      return { entry: toEntryInfo(sandbox, entry) };
    },
    async remove({ path }, context) {
      await sandboxOf(context).files.remove(full(path, context));
      return {};
    },
    watchDir: ({ path, recursive, includeEntry }, context) => {
      return watch(sandboxOf(context), {
        path: full(path, context),
        recursive,
        includeEntry,
        signal: context.signal,
      });
    },
    async createWatcher({ path, recursive, includeEntry }, context) {
      const sandbox = sandboxOf(context);
      const watcherId = await sandbox.watchers.create({ path: full(path, context), recursive });
      sandbox.watchers.find(watcherId).includeEntry = includeEntry;
      return { watcherId };
    },
    async getWatcherEvents({ watcherId }, context) {
      const sandbox = sandboxOf(context);
      const watcher = sandbox.watchers.find(watcherId);
      const events = await watcher.take();
      return { events: await toEvents(sandbox, events, watcher.includeEntry) };
    },
    removeWatcher({ watcherId }, context) {
      sandboxOf(context).watchers.remove(watcherId);
      return {};
    },
  };
}

interface WatchOptions {
  readonly path: string;
  readonly recursive: boolean;
  readonly includeEntry: boolean;
  readonly signal: AbortSignal;
}

async function* watch(sandbox: E2bSandbox, { signal, includeEntry, ...options }: WatchOptions) {
  using watcher = await sandbox.watchers.open(options);
  yield create(WatchDirResponseSchema, { event: { case: "start", value: {} } });
  const ended = AbortSignal.any([signal, sandbox.session.life.endSignal]);
  while (!ended.aborted) {
    const isChanged = await watcher.wait(AbortSignal.any([ended, AbortSignal.timeout(STREAM_KEEP_ALIVE_MS)]));
    if (ended.aborted) break;
    if (!isChanged) yield create(WatchDirResponseSchema, { event: { case: "keepalive", value: {} } });
    const changes = await watcher.take().catch((error) => Promise.reject(toConnectError(error)));
    const events = await toEvents(sandbox, changes, includeEntry);
    for (const value of events) {
      yield create(WatchDirResponseSchema, { event: { case: "filesystem", value } });
    }
  }
  if (sandbox.session.ended) throw new ConnectError("the sandbox was not found", Code.Unavailable);
}

async function toEvents(
  sandbox: E2bSandbox,
  events: readonly FileEvent[],
  includeEntry: boolean,
): Promise<FilesystemEvent[]> {
  return await Promise.all(events.map(async ({ name, type, path }) => {
    const found = includeEntry && path !== undefined
      ? await sandbox.files.stat(path).catch(() => {})
      : undefined;
    return create(FilesystemEventSchema, {
      name,
      type,
      ...(found && { entry: toEntryInfo(sandbox, found) }),
    });
  }));
}

/** Returns a time that a message can have: programs can set the time of a file to any value. */
function toMs(ns: number): number {
  return Math.trunc(Math.min(Math.max(ns / 1e6, 0), MAX_DATE_MS));
}

function toEntryInfo({ fileMetadata }: E2bSandbox, entry: GuestEntry): EntryInfo {
  const { name, path, size, mode, permissions, type, target, modifiedNs } = entry;
  return create(EntryInfoSchema, {
    name,
    path,
    type: TYPES[type],
    size: BigInt(size),
    mode,
    permissions,
    owner: USER,
    group: USER,
    modifiedTime: timestampFromMs(toMs(modifiedNs)),
    ...(target !== null && { symlinkTarget: target }),
    metadata: { ...fileMetadata.get(path) },
  });
}
