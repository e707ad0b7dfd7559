/**
 * Graders as a module for `deno serve`: `deno serve --allow-net src/server/edge.ts`. For a token or custom graders,
 * serve a file of two lines instead:
 *
 * ```ts
 * import { edgeApp } from "@paddock/paddock/edge";
 * export default edgeApp({ token: "at least sixteen characters" });
 * ```
 *
 * @module
 */
import { type EdgeApp, edgeApp, type EdgeOptions, type Peer } from "./edge/app.ts";

export { type EdgeApp, edgeApp, type EdgeOptions, type Peer };

const app: EdgeApp = edgeApp();
export default app;
