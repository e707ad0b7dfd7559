import * as z from "zod";
import type { CheckpointEvery } from "../../sandbox/contract/checkpoint.ts";
import { checkpointEverySchema, checkpointIdSchema, sessionLimitsSchema } from "../../wire/v1_sessions.ts";
import { sessionToolsSchema } from "../../wire/v1_tools.ts";
import { jsonLength } from "../../json.ts";
import { MAX_JOURNAL_BYTES } from "../../sandbox/waiting/journal.ts";
import { HIBERNATION_LIFE_MS, MEMORY_PER_CHARACTER } from "../limits.ts";
import type { SessionLimits } from "../sessions/session_limits.ts";

/** True if a session pauses at the end of the time, instead of ending; `files` if the pause keeps the files only. */
export type PausesAtEnd = boolean | "files";

/** A session in a state directory: all that a server needs to continue the session, beside the checkpoint. */
export interface SessionRecord {
  readonly format: 1;
  readonly id: string;
  readonly owner: string;
  readonly name?: string | undefined;
  /** Id of the checkpoint. */
  readonly checkpoint: string;
  /** Size of the state before compression. */
  readonly stateBytes?: number | undefined;
  /** Random numbers that a copy gets at the wake; absent if they continue. */
  readonly reseeding?: { readonly seed?: number | undefined } | undefined;
  readonly createdAt: string;
  readonly usedAt: string;
  /** End of the session's life, used or not. */
  readonly expiresAt?: string | undefined;
  readonly execs: number;
  /** Milliseconds without use after which the session ends; absent for no limit. */
  readonly idleMs?: number | undefined;
  /** Milliseconds without use after which the session may end in favour of another session; absent for never. */
  readonly spareMs?: number | undefined;
  readonly isPaused: boolean;
  /** False if the session wakes with files only; absent for true. */
  readonly hasMemory?: false | undefined;
  /** True if the session pauses at the end of life; `files` if the pause keeps the files only. */
  readonly pausesAtEnd: PausesAtEnd;
  readonly limits?: SessionLimits | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly checkpointEvery?: CheckpointEvery | undefined;
  /** Tools of the client, as `sessionToolsSchema` parses them. */
  readonly tools?: readonly unknown[] | undefined;
  /** The call for which the program waits, as JSON. */
  readonly waiting?: string | undefined;
  /** State of the client's peer, in the peer's form. */
  readonly attachment?: string | undefined;
  /** Name of the profile, for messages. */
  readonly profile?: string | undefined;
}

/** A record without the parts that are known at the save. */
export type SessionRecordParts = Omit<SessionRecord, "checkpoint" | "stateBytes" | "profile">;

/** The part of a record that the life of the session knows. */
export type LifeRecord = Pick<
  SessionRecord,
  "usedAt" | "expiresAt" | "idleMs" | "spareMs" | "isPaused" | "hasMemory" | "pausesAtEnd" | "reseeding"
>;

/**
 * Characters that each value of a record counts as, beside the value's own characters: tools are kept with their checked
 * schemas.
 */
const CHARACTERS_PER_VALUE = 160;

/** Returns the memory of a session for data of the client, in bytes. */
export function clientBytes({ tools, metadata, attachment, waiting }: SessionRecordParts): number {
  return [tools, metadata, attachment, waiting].filter((part) => part !== undefined)
    .reduce<number>(
      (sum, part) => sum + MEMORY_PER_CHARACTER * jsonLength(part, { perValue: CHARACTERS_PER_VALUE }),
      0,
    );
}

const MAX_OWNER_CHARACTERS = 256;
/** A name is the name of a header. */
const MAX_NAME_CHARACTERS = 32 * 1024;
/** The variables of a sandbox of E2B have 64 Ki characters, each of which takes up to six in JSON. */
const MAX_ATTACHMENT_CHARACTERS = 512 * 1024;
/** A profile has the name of a file. */
const MAX_PROFILE_CHARACTERS = 4096;

/** Version of the format. */
const FORMAT = 1;

const time = z.iso.datetime();
const milliseconds = z.number().nonnegative().optional();

const recordSchema = z.strictObject({
  format: z.literal(FORMAT),
  id: z.string().regex(/^[A-Za-z0-9_-]{32}$/),
  owner: z.string().max(MAX_OWNER_CHARACTERS),
  name: z.string().max(MAX_NAME_CHARACTERS).optional(),
  checkpoint: checkpointIdSchema,
  stateBytes: z.int().nonnegative().optional(),
  reseeding: z.strictObject({ seed: z.int().optional() }).optional(),
  createdAt: time,
  usedAt: time,
  expiresAt: time.optional(),
  execs: z.int().nonnegative(),
  idleMs: milliseconds,
  spareMs: milliseconds,
  isPaused: z.boolean(),
  hasMemory: z.literal(false).optional(),
  pausesAtEnd: z.union([z.boolean(), z.literal("files")]),
  limits: sessionLimitsSchema.optional(),
  metadata: z.record(z.string(), z.string()).optional(),
  checkpointEvery: checkpointEverySchema.optional(),
  tools: sessionToolsSchema.optional(),
  waiting: z.string().max(MAX_JOURNAL_BYTES + MAX_NAME_CHARACTERS).optional(),
  attachment: z.string().max(MAX_ATTACHMENT_CHARACTERS).optional(),
  profile: z.string().max(MAX_PROFILE_CHARACTERS).optional(),
});

/**
 * Checks a record of a file.
 *
 * @throws {Error} if another version of Paddock wrote the record.
 */
export function parseRecord(value: unknown): SessionRecord {
  return recordSchema.parse(value);
}

/** True if a record has another format. */
export function isOtherFormat(value: unknown): boolean {
  return !z.object({ format: z.literal(FORMAT) }).safeParse(value).success;
}

/** Returns the record of a session at a time, in milliseconds since 1970: the session may be paused since the save. */
export function asOf(record: SessionRecord, now: number): SessionRecord {
  const { expiresAt, pausesAtEnd } = record;
  if (!pausesAtEnd || expiresAt === undefined || Date.parse(expiresAt) > now) return record;
  const hasMemory = pausesAtEnd === "files" ? false : record.hasMemory;
  return { ...record, isPaused: true, hasMemory, usedAt: expiresAt, expiresAt: undefined };
}

/**
 * Returns when a session ends that no server has, in milliseconds since 1970: a paused session a day after the last use.
 */
export function endOf({ usedAt, expiresAt, pausesAtEnd }: SessionRecord): number {
  if (expiresAt === undefined) return Date.parse(usedAt) + HIBERNATION_LIFE_MS;
  return Date.parse(expiresAt) + (pausesAtEnd ? HIBERNATION_LIFE_MS : 0);
}
