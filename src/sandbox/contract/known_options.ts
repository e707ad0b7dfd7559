/**
 * Names of the options of sessions and pools, which refuse others: see {@linkcode requireKnownOptions}.
 *
 * @module
 */
import { requireKnownOptions } from "../../options.ts";
import type { CaptureOptions, CheckpointOptions, ForkOptions, RestoreOptions } from "./checkpoint.ts";
import type { ResumeOptions } from "./exec.ts";
import type { CheckpointMemoryOptions, StateMemoryOptions } from "../checkpoint/state_memory.ts";
import type { ResetOptions, SandboxAcquireOptions } from "./pool.ts";

type Names<Options> = Readonly<Record<keyof Options, true>>;

const RESUME: Names<ResumeOptions> = {
  timeoutMs: true,
  signal: true,
  onOutput: true,
  onDisplay: true,
  captures: true,
  callId: true,
  tools: true,
};
const RESET: Names<ResetOptions> = { mode: true, seed: true, signal: true };
const READ: Names<CheckpointOptions & StateMemoryOptions> = { owner: true, states: true, signal: true };
const CAPTURE: Names<CaptureOptions & StateMemoryOptions> = { ...READ, memory: true, refuseLost: true };
const RESTORE: Names<RestoreOptions & StateMemoryOptions> = { ...READ, reseed: true, seed: true };
const FORK: Names<ForkOptions & StateMemoryOptions> = { ...READ, seed: true };
const ACQUIRE: Names<SandboxAcquireOptions & CheckpointMemoryOptions> = {
  seed: true,
  checkpointEvery: true,
  checkpointMemory: true,
  once: true,
  owner: true,
  signal: true,
  from: true,
  near: true,
};

const OPTIONS = {
  acquire: ["acquire session", ACQUIRE],
  resume: ["resume exec", RESUME],
  reset: ["reset session", RESET],
  checkpoint: ["make checkpoint", CAPTURE],
  restore: ["restore checkpoint", RESTORE],
  fork: ["fork session", FORK],
  readCheckpoint: ["read checkpoint", READ],
} as const;

/**
 * Checks the names of the options of a call of a session or a pool.
 *
 * @throws {ArgumentTypeError} if a name is unknown.
 */
export function checkOptionNames(call: keyof typeof OPTIONS, options: object): void {
  const [action, known] = OPTIONS[call];
  requireKnownOptions(action, options, known);
}
