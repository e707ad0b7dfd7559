/** A layer that the process takes up itself, before it reads anything. */
export type OwnLayer = "descriptors" | "seccomp" | "landlock" | "speculation";

/** Layers that a process takes up itself, and what they leave to it. */
export interface ConfinePlan {
  readonly layers: readonly OwnLayer[];
  /** Files and directories that Landlock lets the process read. */
  readonly readable: readonly string[];
  /** RLIMIT_NOFILE of the process: its own descriptors are below. */
  readonly openFiles: number;
  /** RLIMIT_NPROC, which counts threads. Only for a process in its own user namespace, which counts for itself. */
  readonly threads?: number;
}
