import * as z from "zod";
import type { CheckpointEvery } from "../../sandbox/contract/checkpoint.ts";
import type { SessionLease, SessionPool } from "../../sandbox/contract/pool.ts";
import { createSessionRequestSchema } from "../../wire/v1_sessions.ts";
import type { SessionToolSpec } from "../../wire/v1_tools.ts";
import type { SessionLimits } from "./session_limits.ts";

/** A pool whose sessions several servers can use: a cluster's pool. */
export interface SharedPool extends SessionPool {
  /**
   * Lets other servers find a session that was leased here, with settings that they read.
   *
   * @throws {SandboxError} if the pool cannot be reached, or the settings are too large.
   */
  share(lease: SessionLease, settings: object): Promise<SharedLease>;
  /**
   * Leases a session that another server has shared. Returns `undefined` if the owner has none of this id.
   *
   * @throws {SandboxError} if the pool cannot be reached.
   */
  join(id: string, owner: string): Promise<{ lease: SharedLease; settings: unknown } | undefined>;
}

/**
 * The lease of a session that other servers can use too. Disposing the lease ends the session, unless another
 * server has used the session.
 */
export interface SharedLease extends SessionLease {
  /** Id by which all servers find the session. */
  readonly id: string;
  /**
   * Makes this server the last server that has used the session.
   *
   * @throws {SessionClosedError} if the session has ended.
   * @throws {SandboxError} if the pool cannot be reached.
   */
  claim(): Promise<void>;
  /** Ends the lease. The session goes on for other servers, which have some minutes to use the session. */
  leave(): Promise<void>;
}

/** Settings of a shared session, which all servers read. */
export interface SharedSettings {
  readonly createdAt: Date;
  readonly expiresAt?: Date | undefined;
  readonly limits?: SessionLimits | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly checkpointEvery?: CheckpointEvery | undefined;
  readonly tools?: readonly SessionToolSpec[] | undefined;
}

const { limits, metadata, checkpointEvery, tools } = createSessionRequestSchema.shape;
const date = z.iso.datetime().transform((text) => new Date(text));
const settingsSchema = z.strictObject({
  createdAt: date,
  expiresAt: date.optional(),
  limits,
  metadata,
  checkpointEvery,
  tools,
});

/** True if several servers can use the sessions of a pool. */
export function isSharedPool(pool: SessionPool): pool is SharedPool {
  return "share" in pool && "join" in pool;
}

/** Returns the settings of a shared session, or `undefined` if the settings are from another version. */
export function parseSharedSettings(value: unknown): SharedSettings | undefined {
  const parsed = settingsSchema.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}
