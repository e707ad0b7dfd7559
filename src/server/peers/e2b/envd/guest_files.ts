import { Code, ConnectError } from "@connectrpc/connect";
import * as z from "zod";
import { parseUntrustedJson } from "../../../../json.ts";
import { MAX_FOLDER_ENTRIES } from "../../../../wire/limits.ts";
import { E2B_HOME, type HomeSession } from "../home_session.ts";
import GUEST_FILES from "./guest_files.py" with { type: "text" };

/** A file, folder or link, in the guest's report. */
export type GuestEntry = z.output<typeof entrySchema>;

/** A change below a watched folder is found by comparing these. */
export type SnapshotEntry = Omit<GuestEntry, "name">;

const [FILE_MS, TRANSFER_MS] = [10_000, 60_000];
/** Characters of a listing. The profile's limit of output applies too. */
const MAX_LISTING_CHARACTERS = 4 * 1024 * 1024;
/** Levels of folders that a listing goes down. */
const MAX_DEPTH = 64;
const MAX_PATH = 4096;

const snapshotEntrySchema = z.object({
  path: z.string().max(2 * MAX_PATH),
  type: z.enum(["file", "directory", "other"]),
  size: z.int().nonnegative(),
  mode: z.int().min(0).max(0o7777),
  permissions: z.string().max(16),
  modifiedNs: z.number(),
  target: z.string().max(2 * MAX_PATH).nullable(),
});
const entrySchema = snapshotEntrySchema.extend({ name: z.string().max(MAX_PATH) });
const oneSchema = z.object({ entry: entrySchema });
const manySchema = z.object({ entries: z.array(entrySchema).max(MAX_FOLDER_ENTRIES) });
const movedSchema = oneSchema.extend({ from: z.string().max(MAX_PATH) });
const snapshotSchema = z.object({
  root: z.string().max(MAX_PATH),
  entries: z.array(snapshotEntrySchema).max(MAX_FOLDER_ENTRIES),
});
const doneSchema = z.object({});

const CODES = {
  not_found: Code.NotFound,
  already_exists: Code.AlreadyExists,
  invalid_argument: Code.InvalidArgument,
  resource_exhausted: Code.ResourceExhausted,
} as const;
const refusalSchema = z.object({
  code: z.enum(Object.keys(CODES) as (keyof typeof CODES)[]),
  message: z.string().max(3 * MAX_PATH),
});

/** Name of a file between the server and the sandbox, which programs do not guess. */
function newCopy(): string {
  return `.e2b-${crypto.randomUUID()}`;
}

/**
 * The files of a sandbox. Programs of the sandbox can change what the guest reports, for the sandbox alone. All methods
 * throw `ConnectError`, or the error of the session.
 */
export class GuestFiles {
  readonly #home: HomeSession;

  constructor(home: HomeSession) {
    this.#home = home;
  }

  async stat(path: string): Promise<GuestEntry> {
    return (await this.#ask({ action: "stat", path }, oneSchema)).entry;
  }

  /** Lists a folder to a depth, each folder before the folder's entries, in the order of names. */
  async list(path: string, depth: number): Promise<GuestEntry[]> {
    const request = {
      action: "list",
      path,
      depth: Math.min(Math.max(depth, 1), MAX_DEPTH),
      ...this.#limits(),
    };
    return (await this.#ask(request, manySchema)).entries;
  }

  /** Returns a folder's full path and the state of the folder's content. */
  async snapshot(path: string, recursive: boolean): Promise<z.output<typeof snapshotSchema>> {
    return await this.#ask({ action: "snapshot", path, recursive, ...this.#limits() }, snapshotSchema);
  }

  async makeDir(path: string): Promise<GuestEntry> {
    return (await this.#ask({ action: "makeDir", path }, oneSchema, { isChange: true })).entry;
  }

  async move(source: string, destination: string): Promise<z.output<typeof movedSchema>> {
    return await this.#ask({ action: "move", source, destination }, movedSchema, { isChange: true });
  }

  async remove(path: string): Promise<void> {
    await this.#ask({ action: "remove", path }, doneSchema, { isChange: true });
  }

  /** Reads a file. The copy needs as much of the session's space again. */
  async read(path: string): Promise<Uint8Array> {
    const copy = newCopy();
    const files: Record<string, Uint8Array> = {};
    await this.#ask({ action: "read", path, copy }, oneSchema, { fetch: copy, files });
    await this.#ask({ action: "discard", copies: [copy] }, doneSchema);
    const contents = files[copy];
    if (contents === undefined) {
      throw new ConnectError("the file is too large to be read", Code.ResourceExhausted);
    }
    return contents;
  }

  /** Writes files and makes the folders above them. */
  async write(files: readonly { path: string; contents: Uint8Array }[]): Promise<GuestEntry[]> {
    const named = files.map(({ path, contents }) => ({ path, contents, copy: newCopy() }));
    const request = { action: "write", files: named.map(({ path, copy }) => [path, copy]) };
    const written = Object.fromEntries(named.map(({ copy, contents }) => [copy, contents]));
    return (await this.#ask(request, manySchema, { isChange: true, put: written })).entries;
  }

  #limits(): { entries: number; characters: number } {
    const { outputBytes = Infinity } = this.#home.session;
    const characters = Math.floor(Math.min(MAX_LISTING_CHARACTERS, 0.9 * outputBytes));
    return { entries: MAX_FOLDER_ENTRIES, characters };
  }

  async #ask<T>(
    request: Readonly<Record<string, unknown>>,
    schema: z.ZodType<T>,
    { isChange = false, put, fetch, files }: AskOptions = {},
  ): Promise<T> {
    const paths = [request.path, request.source, request.destination].filter((path) => path !== undefined);
    if (paths.some((path) => String(path).length > MAX_PATH)) {
      throw new ConnectError(`a path must have at most ${MAX_PATH} characters`, Code.InvalidArgument);
    }
    // JSON texts are Python literals too. The names of the code are not names of the session.
    const text = JSON.stringify(JSON.stringify(request));
    const names = `{"__name__": "paddock_files", "HOME": ${JSON.stringify(E2B_HOME)}, "REQUEST": ${text}}`;
    const code = `exec(${JSON.stringify(GUEST_FILES)}, ${names})`;
    const isTransfer = put !== undefined || fetch !== undefined;
    const options = {
      timeoutMs: isTransfer ? TRANSFER_MS : FILE_MS,
      ...(put && { files: put }),
      ...(fetch !== undefined && { fetchFiles: [fetch] }),
    };
    const result = await (isChange ? this.#home.exec(code, options) : this.#home.query(code, options));
    Object.assign(files ?? {}, result.files);
    return parseAnswer(result.stdout, schema);
  }
}

interface AskOptions {
  /** True if the files change. */
  readonly isChange?: boolean;
  /** Files to write first. */
  readonly put?: Record<string, Uint8Array>;
  /** File to read afterwards into `files`. */
  readonly fetch?: string;
  readonly files?: Record<string, Uint8Array>;
}

function parseAnswer<T>(stdout: string, schema: z.ZodType<T>): T {
  let answer: unknown;
  try {
    answer = parseUntrustedJson(stdout);
    const refusal = refusalSchema.safeParse(answer);
    if (!refusal.success) return schema.parse(answer);
  } catch (cause) {
    throw new ConnectError("the sandbox cannot reach its files", Code.Internal, undefined, undefined, cause);
  }
  const { code, message } = refusalSchema.parse(answer);
  throw new ConnectError(message, CODES[code]);
}
