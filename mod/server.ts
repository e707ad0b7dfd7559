/**
 * Paddock's HTTP server as an object, for programs that embed it.
 *
 * @module
 */
export type { AccessOptions } from "../src/server/http/access.ts";
export type { RequestRecord } from "../src/server/http/access_log.ts";
export type { RequestConnection } from "../src/server/http/context.ts";
export type { HibernationLimits } from "../src/server/hibernation/hibernation_limits.ts";
export { HttpServer, type HttpServerOptions } from "../src/server/http/http_server.ts";
export { PaddockServer, type PaddockServerOptions } from "../src/server/paddock_server.ts";
export { StateDirectory, type StateDirectoryOptions } from "../src/server/hibernation/state_directory.ts";
export { StateDirectoryError } from "../src/server/hibernation/state_folder.ts";
export type { SavedSession } from "../src/server/hibernation/saved_sessions.ts";
export type { LossReason, SuspendReport } from "../src/server/hibernation/suspend_report.ts";
export type { RequestLimits } from "../src/server/limits.ts";
export type {
  InterpreterLost,
  RequestRefused,
  ServerEvent,
  SessionEvent,
} from "../src/server/server_event.ts";
export type { RolloutOffer, RolloutPolicyOptions } from "../src/server/rollouts/rollout_service.ts";
