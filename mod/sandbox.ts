/**
 * Sandboxes, sessions, pools, profiles and isolation layers.
 *
 * @example Run Python in a sandbox
 * ```ts
 * import { Sandbox } from "@paddock/paddock/sandbox";
 *
 * await using sandbox = await Sandbox.start();
 * await using session = await sandbox.openSession();
 * const result = await session.exec("sum(range(10))", { timeoutMs: 2_000 });
 * if (result.status !== "ok" || result.value !== "45") throw new Error(result.status);
 * ```
 *
 * @module
 */
export {
  CheckpointError,
  type CheckpointErrorCode,
  GuestFileError,
  type GuestFileErrorCode,
  SandboxError,
  SessionClosedError,
  WaitingExecError,
  type WaitingExecErrorCode,
} from "../src/errors.ts";
export type { JsonValue } from "../src/json.ts";
export { readCheckpoint } from "../src/sandbox/checkpoint/checkpoint.ts";
export type {
  CaptureOptions,
  Checkpoint,
  CheckpointEvery,
  CheckpointOptions,
  ForkOptions,
  RestoredFrom,
  RestoreOptions,
} from "../src/sandbox/contract/checkpoint.ts";
export type {
  DeniedAttempts,
  ExecOptions,
  ExecOutcome,
  ExecResult,
  ExecStatus,
  GuestError,
  MimeBundle,
  ProgramOptions,
  ResumeOptions,
  ToolAnswer,
  WaitingCall,
} from "../src/sandbox/contract/exec.ts";
export type {
  AcquireOptions,
  BranchingLease,
  BranchingPool,
  BranchingSession,
  PythonSession,
  ResetOptions,
  SandboxAcquireOptions,
  SessionLease,
  SessionPool,
} from "../src/sandbox/contract/pool.ts";
export type { ShellDeadline, ShellOptions, ShellResult } from "../src/sandbox/contract/shell.ts";
export { EncodedToolValue, type MediaPlace, ToolMedia } from "../src/sandbox/tool_value.ts";
export {
  type HostTool,
  hostTool,
  type HostToolContext,
  type HostToolInPython,
} from "../src/sandbox/host_tool.ts";
export type { Grant, Grants } from "../src/sandbox/process/grants.ts";
export { measureTimeScale, type TimeScaleOptions } from "../src/sandbox/time_scale/time_scale.ts";
export { type OkResult, orThrow, ProgramError } from "../src/sandbox/or_throw.ts";
export { activeLayers, detectLayers, type Layer, type LayerReport } from "../src/sandbox/process/layers.ts";
export type { Lease } from "../src/sandbox/lease.ts";
export type { NetworkTrial } from "../src/sandbox/network/broker/egress_policy.ts";
export { SecretValues } from "../src/sandbox/profile/secret_values.ts";
export type { NetworkMatch, NetworkSecret, NetworkSettings } from "../src/sandbox/profile/network.ts";
export type { Limits } from "../src/sandbox/profile/schema.ts";
export { SandboxPool, type SandboxPoolOptions } from "../src/sandbox/pool.ts";
export { loadProfile, parseProfile, type Preload, type Profile } from "../src/sandbox/profile/profile.ts";
export { Sandbox, type SandboxOptions } from "../src/sandbox/sandbox.ts";
export type { Session } from "../src/sandbox/session.ts";
