/**
 * The JSON of `/v1` about sessions and their files. See `v1.ts`.
 *
 * @module
 */
import * as z from "zod";
import { CHECKPOINT_ERROR_CODES } from "../errors.ts";
import { filesSchema } from "../sandbox/contract/wire_forms.ts";
import { MAX_EVERY_SECONDS } from "../sandbox/exec/exec_check.ts";
import {
  MAX_METADATA_BYTES,
  MAX_METADATA_ENTRIES,
  MAX_METADATA_KEY_CHARACTERS,
  MAX_PATH_CHARACTERS,
  MAX_TIMEOUT_MS,
  MAX_TTL_SECONDS,
  MIN_MEMORY_BYTES,
} from "./limits.ts";
import { execRequestSchema } from "./v1.ts";
import { optionalKey } from "./schema.ts";
import { callEventSchema, sessionToolsSchema } from "./v1_tools.ts";

/** Id of a checkpoint. */
export const checkpointIdSchema = z.string().regex(/^[0-9a-f]{64}$/, "must be 64 hexadecimal digits");

/** When a session takes checkpoints by itself. */
export const checkpointEverySchema = z.union([
  z.literal("exec"),
  z.number().positive().max(MAX_EVERY_SECONDS),
], {
  error: `must be "exec", or > 0 and <= ${MAX_EVERY_SECONDS} seconds`,
});

/** Limits of a session, within the limits of the server. */
export const sessionLimitsSchema = z.strictObject({
  timeoutMs: z.number().positive().max(MAX_TIMEOUT_MS).optional()
    .describe("default and maximum of the timeoutMs of a program, in milliseconds"),
  memoryBytes: z.int().min(MIN_MEMORY_BYTES).optional()
    .describe("memory of the interpreter and its program; at most that of the server's profile"),
}).meta({ id: "SessionLimits" });

/** Texts by name, which the server keeps for the client. */
export const metadataSchema = z.record(z.string(), z.string()).superRefine((metadata, context) => {
  const fault = metadataFault(Object.entries(metadata));
  if (fault !== undefined) context.addIssue({ code: "custom", message: fault });
}).meta({
  maxProperties: MAX_METADATA_ENTRIES,
  propertyNames: { minLength: 1, maxLength: MAX_METADATA_KEY_CHARACTERS },
}).describe(`texts by name, of at most ${MAX_METADATA_BYTES} bytes together`);

function metadataFault(entries: readonly (readonly [string, string])[]): string | undefined {
  if (entries.length > MAX_METADATA_ENTRIES) {
    return `must have at most ${MAX_METADATA_ENTRIES} entries: found ${entries.length}`;
  }
  const wrong = entries.find(([key]) => key.length === 0 || key.length > MAX_METADATA_KEY_CHARACTERS);
  if (wrong !== undefined) {
    return `a key must have 1 to ${MAX_METADATA_KEY_CHARACTERS} characters: found one of ${wrong[0].length}`;
  }
  const bytes = new TextEncoder().encode(entries.flat().join("")).length;
  if (bytes > MAX_METADATA_BYTES) return `must have at most ${MAX_METADATA_BYTES} bytes: found ${bytes}`;
  return undefined;
}

/** A session. */
export const sessionInfoSchema = z.object({
  id: z.string(),
  createdAt: z.string(),
  usedAt: z.string(),
  execs: z.number().int(),
  expiresAt: optionalKey(z.string()).describe("time at which it ends, if it has ttlSeconds"),
  limits: optionalKey(sessionLimitsSchema),
  metadata: optionalKey(z.record(z.string(), z.string())),
  checkpointEvery: optionalKey(checkpointEverySchema).describe(
    "when it takes checkpoints by itself, if it does",
  ),
  tools: optionalKey(z.array(z.string())).describe("names of the client's tools, if it offers any"),
  waiting: optionalKey(callEventSchema).describe(
    "the call that its program waits for, to be answered at /v1/sessions/{id}/resume",
  ),
  unusable: optionalKey(z.enum(CHECKPOINT_ERROR_CODES)).describe(
    "why the server cannot continue it after a restart, if that is so: the reason of the error of its requests",
  ),
}).meta({ id: "Session" });

/** A list of sessions. */
export const sessionListSchema = z.object({ sessions: z.array(sessionInfoSchema) });

/** A longer filter may not fit in the head of a request, where each character takes up to nine bytes. */
const METADATA_QUERY_CHARACTERS = MAX_METADATA_BYTES + 2048;

/** Filter of a list of sessions. */
export const sessionQuerySchema = z.strictObject({
  metadata: z.string().max(METADATA_QUERY_CHARACTERS).optional()
    .describe("only sessions with this metadata, such as user=ada&run=7; keys and values are URL-encoded")
    .meta({ example: "user=ada" }),
});

/** Options of a new session. */
export const createSessionRequestSchema = z.strictObject({
  seed: z.int().optional().describe("makes random, secrets, uuid4 and os.urandom reproducible"),
  from: checkpointIdSchema.optional().describe(
    "id of a checkpoint with whose state it starts; excludes seed",
  ),
  checkpointEvery: checkpointEverySchema.optional().describe(
    "takes a checkpoint after every program, command and written file (exec), or so many seconds after the last one. " +
      "If the interpreter is lost, the session returns to it, and the next result has restoredFrom. " +
      "Default: a lost interpreter is replaced by a new one",
  ),
  ttlSeconds: z.number().min(1).max(MAX_TTL_SECONDS).optional().describe(
    "seconds after which it ends, used or not; default: it ends when it is idle for the server's idle time",
  ),
  limits: sessionLimitsSchema.optional(),
  metadata: metadataSchema.optional(),
  tools: sessionToolsSchema.optional(),
}).refine(({ from, seed }) => from === undefined || seed === undefined, {
  error: "only one of seed and from may be given",
}).meta({ id: "CreateSession" });

/** Options of a session's reset. */
export const resetSessionRequestSchema = z.strictObject({
  mode: z.enum(["fresh", "rewind"]).optional()
    .describe(
      "fresh starts a new interpreter; rewind is faster, and safe only if you trust the last program",
    ),
  seed: z.int().optional(),
}).meta({ id: "ResetSession" });

/** A program that runs in a separate session. */
export const programRequestSchema = execRequestSchema.extend({
  seed: createSessionRequestSchema.shape.seed,
  limits: sessionLimitsSchema.optional(),
}).meta({ id: "ProgramRequest" });

const path = z.string().min(1).max(MAX_PATH_CHARACTERS);

/** Files to write. */
export const filesRequestSchema = z.strictObject({
  files: filesSchema.describe(
    "contents in base64, by paths relative to the working directory, or absolute in the session's own file system",
  ),
}).meta({ id: "Files" });

/** Number of files that were written. */
export const filesWrittenSchema = z.object({ written: z.int() });

/** A file or folder of a session. */
export const fileInfoSchema = z.object({
  path: z.string().describe("relative to the working directory"),
  bytes: z.number().describe("0 if it is not a file"),
  type: optionalKey(z.enum(["file", "directory", "link", "other"])),
  modifiedAt: optionalKey(z.string()).describe("by the session's clock; absent if it is no date"),
}).meta({ id: "FileInfo" });

/** A list of files. */
export const fileListSchema = z.object({
  files: z.array(fileInfoSchema),
  truncated: optionalKey(z.literal(true)).describe("the folder has more entries than the list"),
  total: optionalKey(z.int()).describe("number of entries of the folder"),
}).meta({ id: "FileList" });

/** Folder whose files are listed. */
export const listFilesQuerySchema = z.strictObject({
  path: path.optional().meta({ example: "." })
    .describe("list the entries of this folder, folders too; default: all files below the working directory"),
});

/** File or folder to remove. */
export const removeFileQuerySchema = z.strictObject({
  path: path.meta({ example: "data.txt" }),
  recursive: z.enum(["true", "false"]).optional().describe("true to remove a folder with all in it"),
});

/** Folder to make. */
export const makeDirectoryRequestSchema = z.strictObject({ path }).meta({ id: "MakeDirectory" });
