/**
 * Graders as a module that `deno serve` takes: `deno serve --allow-net src/server/edge.ts`. With a token, or graders
 * of its own, a file of two lines is served in its place:
 *
 * ```ts
 * import { edgeApp } from "@paddock/paddock/edge";
 * export default edgeApp({ token: "at least sixteen characters" });
 * ```
 *
 * @module
 */
import { type EdgeApp, edgeApp, type EdgeOptions } from "./edge/edge_app.ts";
import type { Peer } from "./edge/peer.ts";

export { type EdgeApp, edgeApp, type EdgeOptions, type Peer };

const app: EdgeApp = edgeApp();
export default app;
