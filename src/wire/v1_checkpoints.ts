/**
 * The JSON of `/v1` about checkpoints. See `v1.ts`.
 *
 * @module
 */
import * as z from "zod";
import { MAX_FORK_COUNT } from "./limits.ts";
import { checkpointIdSchema, sessionInfoSchema } from "./v1_sessions.ts";

/** A checkpoint that the server keeps. */
export const checkpointInfoSchema = z.object({
  id: z.string().describe("SHA-256 of its contents"),
  bytes: z.int().nonnegative().describe("size that the server keeps"),
  tools: z.array(z.string()).describe("names of the tools of the last program before it was made"),
  createdAt: z.string(),
  usedAt: z.string(),
  expiresAt: z.string().describe("time at which it is deleted unless it is used before"),
}).meta({ id: "Checkpoint" });

/** Which parts of the state of a session are kept. */
export const checkpointRequestSchema = z.strictObject({
  memory: z.boolean().default(true).describe(
    "false to keep the files alone; a session that is restored then has a fresh interpreter with these files",
  ),
}).meta({ id: "CheckpointSession" });

/** A list of checkpoints. */
export const checkpointListSchema = z.object({ checkpoints: z.array(checkpointInfoSchema) });

/** The checkpoint to which a session returns. */
export const restoreRequestSchema = z.strictObject({
  checkpoint: checkpointIdSchema.describe("id of the checkpoint"),
}).meta({ id: "RestoreSession" });

/** Options of the copies of a session. */
export const forkRequestSchema = z.strictObject({
  count: z.int().min(1).max(MAX_FORK_COUNT).default(1).describe("number of copies"),
  seed: z.int().optional().describe(
    "seed of the first copy's random numbers; each further copy has the next integer; default: new for each",
  ),
}).meta({ id: "ForkSession" });

/** Copies of a session. */
export const forkResponseSchema = z.object({ sessions: z.array(sessionInfoSchema) }).meta({ id: "Fork" });
