import { Hono } from "hono";
import type { AppContext, AppEnv } from "../../http/context.ts";
import { ServerError } from "../../http/http_errors.ts";
import { DEFAULT_TIMEOUT, forkRequest } from "./contract.ts";
import { readCodeBody } from "./e2b_errors.ts";
import { connectionBody } from "./sandbox_bodies.ts";
import type { E2bSandbox, E2bSandboxes, ForkSandboxOptions } from "./sandboxes.ts";
import type { E2bSnapshots } from "./snapshots.ts";
import { toTtl } from "./states.ts";

/**
 * Serves copies of sandboxes, running or paused, and of snapshots. The path of a sandbox may name a snapshot by id or
 * name, so that `Sandbox.fork(name)` of the SDKs opens copies of the snapshot.
 */
export function forkRoutes(sandboxes: E2bSandboxes, snapshots: E2bSnapshots): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  app.post("/sandboxes/:id/fork", async (c) => {
    const id = c.req.param("id");
    const parent = sandboxes.find(id, c.get("owner"));
    if (parent) return await respond(c, (options) => sandboxes.fork(parent, options));
    if (!snapshots.has(c.get("owner"), id)) sandboxes.ofPath(c); // throws, as there is no such sandbox
    return await forkSnapshot(c, id);
  });
  app.post("/snapshots/:id/fork", (c) => forkSnapshot(c, c.req.param("id")));
  return app;

  async function forkSnapshot(c: AppContext, templateId: string): Promise<Response> {
    const owner = c.get("owner");
    using snapshot = snapshots.hold(owner, templateId);
    if (!snapshot) throw new ServerError("not_found", "There is no such snapshot");
    const { checkpoint, continues } = snapshot;
    const state = { templateId, checkpoint, continues };
    return await respond(c, (options) => sandboxes.forkSnapshot(state, { ...options, owner }));
  }
}

/** Opens as many copies as the body of a request wants. */
async function respond(
  c: AppContext,
  fork: (options: ForkSandboxOptions) => Promise<E2bSandbox[]>,
): Promise<Response> {
  const { timeout, count } = await readCodeBody(c, forkRequest);
  const ttlMs = toTtl(timeout ?? DEFAULT_TIMEOUT);
  const copies = await fork({ count: count ?? 1, ttlMs, signal: c.get("signal") });
  return c.json(copies.map((sandbox) => ({ sandbox: connectionBody(sandbox) })), 201);
}
