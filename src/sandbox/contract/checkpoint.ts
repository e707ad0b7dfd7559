/**
 * The contract of checkpoints: the state of a session as a value.
 *
 * @module
 */

/**
 * The state of a session as a value: heap, files, open files and shell. The state is executable: only the host that
 * made the state restores the state, in sessions of the same base image, profile and owner.
 */
export interface Checkpoint {
  /** SHA-256 of the contents. */
  readonly id: string;
  /** Size of the compressed bytes. */
  readonly storedBytes: number;
  /** Size of the state before compression, if known. */
  readonly stateBytes?: number | undefined;
  /** Names of the host tools of the last exec before the checkpoint. */
  readonly tools: readonly string[];
  /** Returns the bytes, from which the same host can read the checkpoint again. */
  toBytes(): Promise<Uint8Array>;
}

/**
 * When a session takes checkpoints by itself: after every exec, command and written file (`exec`), or so many seconds
 * after the last checkpoint, at most a day.
 */
export type CheckpointEvery = "exec" | number;

/** A checkpoint to which a session returned by itself, as the interpreter was lost. */
export interface RestoredFrom {
  /**
   * Number of execs, commands and written files that had ended after the checkpoint, and whose effects are lost. What
   * an exec that lost the interpreter did is lost, too, and not counted.
   */
  lostCalls: number;
  /** Age of the checkpoint, in milliseconds. */
  ageMs: number;
}

/** Options of what makes or restores checkpoints. */
export interface CheckpointOptions {
  /**
   * Identifies who may restore the checkpoint, such as the hash of a token.
   *
   * @default ""
   */
  owner?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** Options of {@linkcode BranchingSession.checkpoint}. */
export interface CaptureOptions extends CheckpointOptions {
  /**
   * False to keep the files alone. A session that is restored then has a fresh interpreter and a fresh shell with
   * these files. What runs in the session does not matter.
   *
   * @default true
   */
  memory?: boolean | undefined;
  /**
   * True if there is no checkpoint when the interpreter was lost and no result has reported that yet.
   *
   * @default false
   */
  refuseLost?: boolean | undefined;
}

/** Options of {@linkcode BranchingSession.restore}. */
export interface RestoreOptions extends CheckpointOptions {
  /**
   * True if `random` and `numpy.random` get other random numbers, as in a fork. Otherwise both continue.
   *
   * @default true if `seed` is given
   */
  reseed?: boolean | undefined;
  /** Seed of those numbers, and of `secrets` and `os.urandom`. */
  seed?: number | undefined;
}

/** Options of {@linkcode BranchingSession.fork}. */
export interface ForkOptions extends CheckpointOptions {
  /**
   * Seed of the first copy's `random`, `secrets` and `os.urandom`. Each further copy has the next integer. Without a
   * seed, each copy has random numbers of its own.
   */
  seed?: number | undefined;
}
