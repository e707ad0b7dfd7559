import * as z from "zod";
import type { CheckpointEvery } from "../../sandbox/exec.ts";
import { checkpointEverySchema, checkpointIdSchema, sessionLimitsSchema } from "../../wire/v1_sessions.ts";
import { sessionToolsSchema } from "../../wire/v1_tools.ts";
import { jsonLength } from "../../json.ts";
import { MEMORY_PER_CHARACTER } from "../limits.ts";
import type { SessionLimits } from "../sessions/session_limits.ts";

/** A session in a state directory: all that a server needs to go on with it, beside its checkpoint. */
export interface SessionRecord {
  readonly format: 1;
  readonly id: string;
  readonly owner: string;
  readonly name?: string | undefined;
  /** Id of its checkpoint. */
  readonly checkpoint: string;
  /** Size of its state before it was compressed. */
  readonly stateBytes?: number | undefined;
  /** Random numbers that it gets when it wakes, as it is a copy; absent if they continue. */
  readonly reseeding?: { readonly seed?: number | undefined } | undefined;
  readonly createdAt: string;
  readonly usedAt: string;
  /** End of its life, used or not. */
  readonly expiresAt?: string | undefined;
  readonly execs: number;
  /** Milliseconds without use after which it ends; absent for no limit. */
  readonly idleMs?: number | undefined;
  /** Milliseconds without use after which it may end in favour of another session; absent for never. */
  readonly spareMs?: number | undefined;
  readonly isPaused: boolean;
  readonly pausesAtEnd: boolean;
  readonly limits?: SessionLimits | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly checkpointEvery?: CheckpointEvery | undefined;
  /** Tools of its client, as `sessionToolsSchema` parses them. */
  readonly tools?: readonly unknown[] | undefined;
  /** State of the adapter of its client, in a form of its own. */
  readonly attachment?: string | undefined;
}

/** A record without what is known of the checkpoint when it is saved. */
export type SessionRecordParts = Omit<SessionRecord, "checkpoint" | "stateBytes">;

/** Characters that each value of a record counts as, beside its own: tools are kept with their checked schemas. */
const CHARACTERS_PER_VALUE = 160;

/** Returns the memory that a session takes for what its client has given to it, in bytes. */
export function clientBytes({ tools, metadata, attachment }: SessionRecordParts): number {
  return [tools, metadata, attachment].filter((part) => part !== undefined)
    .reduce<number>(
      (sum, part) => sum + MEMORY_PER_CHARACTER * jsonLength(part, { perValue: CHARACTERS_PER_VALUE }),
      0,
    );
}

const MAX_OWNER_CHARACTERS = 256;
/** A name is that of a header. */
const MAX_NAME_CHARACTERS = 32 * 1024;
/** The variables of a sandbox of E2B have 64 Ki characters, each of which takes up to six in JSON. */
const MAX_ATTACHMENT_CHARACTERS = 512 * 1024;

const time = z.iso.datetime();
const milliseconds = z.number().nonnegative().optional();

const recordSchema = z.strictObject({
  format: z.literal(1),
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
  pausesAtEnd: z.boolean(),
  limits: sessionLimitsSchema.optional(),
  metadata: z.record(z.string(), z.string()).optional(),
  checkpointEvery: checkpointEverySchema.optional(),
  tools: sessionToolsSchema.optional(),
  attachment: z.string().max(MAX_ATTACHMENT_CHARACTERS).optional(),
});

/**
 * Checks a record of a file.
 *
 * @throws {Error} if another version of Paddock wrote it.
 */
export function parseRecord(value: unknown): SessionRecord {
  return recordSchema.parse(value);
}
