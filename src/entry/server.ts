/**
 * Paddock's HTTP server as an object, for programs that embed it.
 *
 * @module
 */
export type { AccessOptions } from "../server/http/access.ts";
export { HttpServer, type HttpServerOptions } from "../server/http/http_server.ts";
export { PaddockServer, type PaddockServerOptions } from "../server/paddock_server.ts";
export type { RequestLimits } from "../server/limits.ts";
