/**
 * Memory that a server gives to the states of sessions. A server adds the options of this module to the options of the
 * public contract; sessions and pools of other packages ignore them.
 *
 * @module
 */

/**
 * Memory of this process for states of sessions that are not compressed: those that are being captured or restored.
 * Room is taken when nothing else must be waited for, and until the state is compressed or restored.
 */
export interface StateMemory {
  /**
   * Waits for room for a state of at most so many bytes.
   *
   * @throws the reason of `signal` if it aborts, or an error if there is no room for too long.
   */
  reserve(bytes: number, signal?: AbortSignal): Promise<StateRoom>;
}

/** Room of a state, which is free when disposed. */
export interface StateRoom extends Disposable {
  /** Frees what is beyond so many bytes. */
  shrink(bytes: number): void;
}

/** Room for the last checkpoint of a session in the memory of this process. */
export interface CheckpointMemory {
  /** Number of bytes that the checkpoint may have now. */
  readonly availableBytes: number;
  /** Sets the number of bytes that the checkpoint has; 0 if there is none. An error means that there is no room. */
  resize(bytes: number): void;
  /**
   * Memory of the state while it is captured. A `CheckpointError` means that the earlier checkpoint remains.
   *
   * @default no limit but the limit of the profile
   */
  readonly states?: StateMemory | undefined;
}

/** Option of each call that makes or restores a checkpoint, beside the options of the contract. */
export interface StateMemoryOptions {
  /**
   * Memory of the state while it is not compressed.
   *
   * @default 128 MiB for each owner, and what is being captured
   */
  readonly states?: StateMemory | undefined;
}

/** Option of a lease with `checkpointEvery`, beside the options of the contract. */
export interface CheckpointMemoryOptions {
  /**
   * Room for the checkpoints that the session takes by itself.
   *
   * @default no limit but the limit of the profile
   */
  readonly checkpointMemory?: CheckpointMemory | undefined;
}

/** Returns the memory that a server has added to the options of a call. */
export function statesOf(options: object): StateMemory | undefined {
  return (options as StateMemoryOptions).states;
}

/** Returns the room for checkpoints that a server has added to the options of a lease. */
export function checkpointMemoryOf(options: object): CheckpointMemory | undefined {
  return (options as CheckpointMemoryOptions).checkpointMemory;
}
