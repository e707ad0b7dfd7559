/**
 * Client of a Paddock server. `PaddockClient` takes the place of a `SandboxPool`.
 *
 * @module
 */
// @ts-types="../src/client/paddock_client.d.ts"
export {
  type AcquireOptions,
  type BatchOutcome,
  type BatchProgram,
  PaddockClient,
  type PaddockClientOptions,
  type RemoteExecOptions,
} from "../src/client/paddock_client.ts";
export {
  ArgumentRangeError,
  ArgumentTypeError,
  CheckpointError,
  type CheckpointErrorCode,
  GuestFileError,
  type GuestFileErrorCode,
  SandboxError,
  SessionClosedError,
  WaitingExecError,
  type WaitingExecErrorCode,
} from "../src/errors.ts";
export { type OkResult, orThrow, ProgramError } from "../src/sandbox/or_throw.ts";
export {
  RequestError,
  type RequestErrorCode,
  type RequestErrorOptions,
} from "../src/client/request_error.ts";
export type {
  GatewayRequestOptions,
  GatewayRowsOptions,
  GatewaySessionHandle,
  GatewaySessionState,
  GatewayTask,
  GatewayTests,
  OpenGatewaySessionOptions,
  RemoteGateway,
  RemoteGatewaySession,
} from "../src/client/gateway_types.ts";
export type { RemoteLease } from "../src/client/remote_lease.ts";
export type {
  ClientTool,
  Fetch,
  RemoteAdvantage,
  RemoteCheckpoint,
  RemoteFile,
  RemoteFiles,
  RemoteLimits,
  RemoteRollout,
  RemoteRolloutItem,
  RemoteRolloutOptions,
  RemoteSessionInfo,
  RemoteTask,
} from "../src/client/client_options.ts";
export {
  type HostTool,
  hostTool,
  type HostToolContext,
  type HostToolInPython,
} from "../src/sandbox/host_tool.ts";
export type { ResumeOptions, ToolAnswer, WaitingCall } from "../src/sandbox/contract/exec.ts";
