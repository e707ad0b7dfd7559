import {
  type EpisodeCheckpoint,
  type EpisodeCheckpointOptions,
  type EpisodeForkOptions,
  refuseCheckpoint,
} from "../episode_checkpoint.ts";
import type { BranchingSession, PythonSession, SessionLease } from "../sandbox/contract/pool.ts";
import type { Env } from "./env.ts";

/** State of an env and its running episode, as a value. */
export type EnvCheckpoint = EpisodeCheckpoint<BranchingEnv>;

/** An env whose episode can continue in copies. Checkpoints and copies are made between two calls of the env. */
export interface BranchingEnv extends Env {
  /**
   * Returns the state of the env: history, steps, rewards, the end of the episode, the state of tools and transforms,
   * and the sandbox. The env goes on. The state lives as long as this process, and needs nothing of the env, except
   * the pools that its owner has opened.
   *
   * @throws {CheckpointError} with the code `checkpoint_refused` if a part of the env cannot be copied.
   */
  checkpoint(options?: EpisodeCheckpointOptions): Promise<EnvCheckpoint>;
  /**
   * Returns copies of the env, which continue its episode with other random numbers. The caller disposes them. Each one
   * whose episode has run code needs a session of the pool.
   *
   * @throws {CheckpointError} as {@linkcode BranchingEnv.checkpoint} does.
   * @throws {RangeError} if `count` is not from 1 to 1024.
   */
  fork(count: number, options?: EpisodeForkOptions): Promise<BranchingEnv[]>;
}

/** True if the env has checkpoints. A part of it may still refuse them. */
export function isBranchingEnv(env: Env): env is BranchingEnv {
  return "checkpoint" in env && typeof env.checkpoint === "function";
}

/**
 * Makes a checkpoint of an env that another one contains.
 *
 * @throws {CheckpointError} if it has none.
 */
export async function checkpointEnv(env: Env, options?: EpisodeCheckpointOptions): Promise<EnvCheckpoint> {
  if (isBranchingEnv(env)) return await env.checkpoint(options);
  return refuseCheckpoint(`the env '${env.constructor.name}' has no method 'checkpoint'`);
}

/** Options of {@linkcode checkpointSession}. */
export interface SessionCheckpointOptions extends EpisodeCheckpointOptions {
  /** Leases a session with the same base image and profile. */
  acquire: (signal: AbortSignal | undefined) => Promise<SessionLease>;
}

/**
 * Makes a checkpoint of a leased session. A copy is a further lease, of a session in that state.
 *
 * @throws {CheckpointError} if the session has no checkpoints, as one of a server, or refuses one.
 */
export async function checkpointSession(
  session: PythonSession,
  { acquire, signal }: SessionCheckpointOptions,
): Promise<EpisodeCheckpoint<SessionLease>> {
  const checkpoint = await requireBranching(session).checkpoint({ signal });
  return {
    async copy({ reseed, seed, signal } = {}): Promise<SessionLease> {
      await using stack = new AsyncDisposableStack();
      const lease = stack.use(await acquire(signal));
      await requireBranching(lease.session).restore(checkpoint, { reseed, seed, signal });
      stack.move();
      return lease;
    },
  };
}

function requireBranching(session: PythonSession): BranchingSession {
  if ("checkpoint" in session && "restore" in session) return session as BranchingSession;
  return refuseCheckpoint("its sessions must be of a pool of this process: those of a server are not copied");
}
