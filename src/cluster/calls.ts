/**
 * The calls of sessions over NATS, and their replies. A node parses each call by these schemas, where unknown keys are
 * errors, as the HTTP interface does; a caller parses each reply by them.
 *
 * @module
 */
import * as z from "zod";
import { CHECKPOINT_ERROR_CODES, GUEST_FILE_ERROR_CODES } from "../errors.ts";
import { EXEC_FIELDS, SHELL_FIELDS } from "../sandbox/contract/exec_fields.ts";
import { pathSchema } from "../sandbox/contract/wire_forms.ts";
import { MAX_EVERY_SECONDS } from "../sandbox/exec/exec_check.ts";
import { mimeBundleSchema } from "../wire/v1.ts";
import { INBOX_TOKEN, PEER_ID, SESSION_ID } from "./nats/subjects.ts";

/** Identifies an owner: a SHA-256, or nothing. */
export const ownerSchema = z.string().regex(/^([0-9a-f]{64})?$/);
const from = {
  caller: z.string().regex(PEER_ID),
  call: z.string().regex(INBOX_TOKEN),
  owner: ownerSchema,
};
const inSession = { ...from, session: z.string().regex(SESSION_ID) };
const part = z.int().nonnegative();

/** When a session takes checkpoints. */
export const everySchema = z.union([z.literal("exec"), z.number().positive().max(MAX_EVERY_SECONDS)])
  .optional();

const exec = {
  code: z.string(),
  ...EXEC_FIELDS.message,
  /** Which of them the caller follows. */
  follows: z.array(z.enum(["output", "display"])).optional(),
};

const callSchemas = [
  z.strictObject({
    op: z.literal("open"),
    ...from,
    seed: z.int().optional(),
    /** When the session takes checkpoints, with which the session can continue on another node. */
    every: everySchema,
  }),
  /** Continues a session of another node from the last checkpoint; with `seed`, if there is no checkpoint. */
  z.strictObject({
    op: z.literal("resume"),
    ...inSession,
    seed: z.int().optional(),
    every: everySchema,
    shared: z.boolean().optional(),
  }),
  z.strictObject({
    op: z.literal("exec"),
    ...inSession,
    ...exec,
    /** True to end the session with the exec. */
    last: z.boolean().optional(),
  }),
  /** Runs a program in a separate session. */
  z.strictObject({ op: z.literal("run"), ...from, seed: z.int().optional(), ...exec }),
  z.strictObject({
    op: z.literal("shell"),
    ...inSession,
    command: z.string(),
    ...SHELL_FIELDS.message,
    follows: z.array(z.enum(["output"])).optional(),
  }),
  z.strictObject({ op: z.literal("write"), ...inSession, path: pathSchema }),
  z.strictObject({ op: z.literal("read"), ...inSession, path: pathSchema }),
  z.strictObject({
    op: z.literal("reset"),
    ...inSession,
    mode: z.enum(["fresh", "rewind"]).optional(),
    seed: z.int().optional(),
  }),
  z.strictObject({
    op: z.literal("checkpoint"),
    ...inSession,
    scope: z.string().max(256).optional(),
    memory: z.boolean().optional(),
  }),
  z.strictObject({
    op: z.literal("restore"),
    ...inSession,
    scope: z.string().max(256).optional(),
    reseed: z.boolean().optional(),
    seed: z.int().optional(),
  }),
  z.strictObject({ op: z.literal("end"), ...inSession }),
  z.strictObject({ op: z.literal("keep"), ...inSession }),
  /** Lets other callers use the session for the owner. The session then outlives this caller. */
  z.strictObject({ op: z.literal("share"), ...inSession }),
  /** The checkpoint is in the first part. */
  z.strictObject({ op: z.literal("verify"), ...from, scope: z.string().max(256) }),
  z.strictObject({ op: z.literal("drain"), ...from }),
] as const;

/** A call of a node. */
export const callSchema = z.discriminatedUnion("op", callSchemas);
/** A call of a node. */
export type Call = z.output<typeof callSchema>;
/** A call of one kind. */
export type CallOf<Op extends Call["op"]> = Extract<Call, { op: Op }>;

/** Messages about a call that runs. */
export const controlSchema = z.discriminatedUnion("op", [
  z.strictObject({ op: z.literal("abort"), caller: from.caller, call: from.call }),
  /** The caller gives an `open` or `run` to the node that has taken it, and to no other node. */
  z.strictObject({ op: z.literal("go"), caller: from.caller, call: from.call }),
  /** The caller does not wait for the session that was opened. */
  z.strictObject({
    op: z.literal("disown"),
    caller: from.caller,
    call: from.call,
    session: inSession.session,
  }),
  /** The caller has read so many characters of output. */
  z.strictObject({ op: z.literal("credit"), caller: from.caller, call: from.call, characters: part }),
  /** The answer to a call of a host tool: the value as JSON in the first part, or the error. */
  z.strictObject({
    op: z.literal("answer"),
    caller: from.caller,
    call: from.call,
    toolCall: part,
    error: z.string().max(65_536).optional(),
    /** Places of data in the value. */
    media: z.array(z.tuple([z.array(z.union([z.string(), z.number()])), z.string().nullable()])).optional(),
  }),
]);
/** A message about a call that runs. */
export type Control = z.output<typeof controlSchema>;

/** Codes of errors of calls. */
const CALL_ERROR_CODES = [
  "aborted",
  "argument_range",
  "argument_type",
  "busy",
  "checkpoint",
  "guest_file",
  "in_use",
  "internal",
  "invalid",
  "moved",
  "no_slot",
  "sandbox",
  "session_closed",
] as const;

/** A reply to a call. `taken`, `output`, `display`, `tool` and `toolEnd` come before the last reply. */
export const callReplySchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("opened"),
    session: z.string().regex(SESSION_ID),
    /** The checkpoint from which the session continues: earlier calls, and Unix time in milliseconds. */
    restored: z.object({ calls: part, takenAt: part }).optional(),
  }),
  /** A slot of the node has an `open` or `run`, which begins when the caller answers `go`. */
  z.object({ kind: z.literal("taken") }),
  z.object({ kind: z.literal("output"), stream: z.enum(["stdout", "stderr"]), text: z.string() }),
  z.object({ kind: z.literal("display"), bundle: mimeBundleSchema }),
  z.object({
    kind: z.literal("tool"),
    toolCall: part,
    name: z.string(),
    /** JSON of an object, with the numbers as the program wrote them. */
    arguments: z.string(),
  }),
  z.object({ kind: z.literal("toolEnd"), toolCall: part }),
  /** The files are parts, whose names are in order. */
  z.object({ kind: z.literal("result"), result: z.unknown(), files: z.array(z.string()).optional() }),
  z.object({ kind: z.literal("done") }),
  z.object({ kind: z.literal("bytes") }),
  z.object({
    kind: z.literal("error"),
    code: z.enum(CALL_ERROR_CODES),
    message: z.string(),
    reason: z.enum([...GUEST_FILE_ERROR_CODES, ...CHECKPOINT_ERROR_CODES]).optional(),
  }),
]);
/** A reply to a call. */
export type CallReply = z.output<typeof callReplySchema>;
