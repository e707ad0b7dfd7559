import { ArgumentRangeError, ArgumentTypeError, SandboxError } from "../errors.ts";
import type { BranchingLease, BranchingSession, ForkOptions } from "../sandbox/exec.ts";
import { disposeUnless } from "../sandbox/lease.ts";

/** Options of {@linkcode forkByCheckpoint}. */
export interface ForkByCheckpointOptions extends ForkOptions {
  /** Number of copies. */
  readonly count: number;
  /** Leases a session for a copy. */
  readonly acquire: () => Promise<BranchingLease>;
}

/** Throws if the option is given: sessions of a cluster take no checkpoints by themselves. */
export function refuseCheckpointEvery(checkpointEvery: unknown): void {
  if (checkpointEvery === undefined) return;
  throw new ArgumentTypeError(
    "Cannot acquire session with 'checkpointEvery' as sessions of a cluster take no checkpoints by themselves",
  );
}

/**
 * Makes copies of a session, which goes on, in sessions of any process with the same image and key. Their `random` has
 * other numbers.
 *
 * @throws {ArgumentTypeError} if a `seed` is given.
 */
export async function forkByCheckpoint(
  parent: BranchingSession,
  { count, acquire, seed, owner, signal }: ForkByCheckpointOptions,
): Promise<BranchingLease[]> {
  if (!Number.isInteger(count) || count < 1) {
    throw new ArgumentRangeError(
      `Cannot fork session as 'count' must be an integer >= 1: current value is ${count}`,
    );
  }
  if (seed !== undefined) {
    throw new ArgumentTypeError("Cannot fork session with a 'seed' as its copies are sessions of a cluster");
  }
  const from = await parent.checkpoint({ owner, signal });
  const leases: BranchingLease[] = [];
  try {
    while (leases.length < count) {
      const lease = await acquire();
      leases.push(await disposeUnless(lease, lease.session.restore(from, { owner, signal })));
      const { status } = await lease.session.exec("__import__('random').seed()", { signal });
      if (status !== "ok") throw new SandboxError(`Cannot fork session as it has no 'random': ${status}`);
    }
    return leases;
  } catch (error) {
    await Promise.all(leases.map((lease) => lease[Symbol.asyncDispose]()));
    throw error;
  }
}
