import { Hono } from "hono";
import * as z from "zod";
import { MAX_TTL_SECONDS } from "../../../wire/limits.ts";
import type { CheckpointService } from "../../checkpoints/checkpoint_service.ts";
import type { AppEnv } from "../../http/context.ts";
import { ServerError } from "../../http/errors.ts";
import type { LiveSession } from "../../sessions/live_session.ts";
import { NotImplementedError, readCodeBody } from "./errors.ts";
import { connectionBody } from "./sandbox_bodies.ts";
import type { E2bSandbox, E2bSandboxes } from "./sandboxes.ts";

/** Seconds of life of a sandbox whose request states none. */
export const DEFAULT_TIMEOUT = 15;
/** Name of a template that is the id of a snapshot. */
export const SNAPSHOT_ID: RegExp = /^[0-9a-f]{64}$/;
/** Why a server does not pause sandboxes. */
export const NO_PAUSE = "This server of Paddock does not pause sandboxes, as its sessions do not hibernate";
/** Why a server does not copy sandboxes. */
export const NO_COPIES = "This server of Paddock does not copy sandboxes, as its pool has no checkpoints";
/** Copies that one request makes. */
const MAX_FORKS = 20;

/** Seconds of life of a sandbox. */
export const timeout: z.ZodNumber = z.number().nonnegative().max(MAX_TTL_SECONDS);

/** Body of `/sandboxes/{id}/connect`. */
export const connectRequest = z.object({ timeout: timeout.nullish(), memory: z.boolean().nullish() });
/** Body of `/sandboxes/{id}/pause`. */
export const pauseRequest = z.object({ memory: z.boolean().nullish() });
/** Body of `/sandboxes/{id}/fork`. */
export const forkRequest = z.object({
  timeout: timeout.nullish(),
  count: z.int().min(1).max(MAX_FORKS).nullish(),
});
/** Body of `/sandboxes/{id}/snapshots`. */
export const snapshotRequest = z.object({ name: z.string().nullish(), memory: z.boolean().nullish() });

/** Serves the states of E2B's sandboxes that the server can keep. */
export function stateRoutes(
  sandboxes: E2bSandboxes,
  checkpoints: CheckpointService | undefined,
): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  app.on("POST", ["/sandboxes/:id/connect", "/v2/sandboxes/:id/connect"], async (c) => {
    const sandbox = sandboxes.ofPath(c);
    const { timeout, memory } = await readCodeBody(c, connectRequest);
    const { isPaused } = sandbox.session.life;
    if (isPaused) await resume(sandbox, { timeout, memory });
    else extend(sandbox, timeout ?? 0);
    return c.json(connectionBody(c, sandbox), isPaused ? 201 : 200);
  });
  if (sandboxes.canPause) addPauseRoutes(app, sandboxes);
  if (checkpoints) addCopyRoutes(app, sandboxes, checkpoints);
  return app;
}

function addPauseRoutes(app: Hono<AppEnv>, sandboxes: E2bSandboxes): void {
  app.post("/sandboxes/:id/pause", async (c) => {
    const { session } = sandboxes.ofPath(c);
    const { memory } = await readCodeBody(c, pauseRequest);
    requirePause(sandboxes, memory);
    if (session.life.isPaused) throw new ServerError("conflict", "The sandbox is paused already");
    await pause(session);
    return c.body(null, 204);
  });
  app.post("/sandboxes/:id/resume", async (c) => {
    const sandbox = sandboxes.ofPath(c);
    const request = await readCodeBody(c, connectRequest);
    if (!sandbox.session.life.isPaused) throw new ServerError("conflict", "The sandbox is running already");
    await resume(sandbox, request);
    return c.json(connectionBody(c, sandbox), 201);
  });
}

/** Adds copies and snapshots, which need checkpoints. */
function addCopyRoutes(app: Hono<AppEnv>, sandboxes: E2bSandboxes, checkpoints: CheckpointService): void {
  app.post("/sandboxes/:id/fork", async (c) => {
    const parent = sandboxes.ofPath(c);
    const { timeout, count } = await readCodeBody(c, forkRequest);
    if (parent.session.life.isPaused) {
      throw new ServerError("conflict", "The sandbox is paused: resume it first");
    }
    const ttlMs = toTtl(timeout ?? DEFAULT_TIMEOUT);
    const copies = await sandboxes.fork(parent, { count: count ?? 1, ttlMs, signal: c.get("signal") });
    return c.json(copies.map((sandbox) => ({ sandbox: connectionBody(c, sandbox) })), 201);
  });
  app.post("/sandboxes/:id/snapshots", async (c) => {
    const { session } = sandboxes.ofPath(c);
    const { name, memory } = await readCodeBody(c, snapshotRequest);
    if (name) throw new NotImplementedError("Paddock's snapshots have no names: use the snapshotID");
    if (memory === false) throw new NotImplementedError(WITHOUT_MEMORY);
    const { id } = await checkpoints.create(session, c.get("signal"));
    return c.json(snapshotBody(id), 201);
  });
  app.get(
    "/snapshots",
    (c) => c.json(checkpoints.store.list(c.get("owner")).map(({ id }) => snapshotBody(id))),
  );
  app.delete("/templates/:id", async (c, next) => {
    const id = c.req.param("id");
    if (!SNAPSHOT_ID.test(id)) return await next(); // there are no templates
    checkpoints.store.delete(c.get("owner"), id);
    return c.body(null, 204);
  });
}

/** Throws if the server cannot keep the state of a sandbox in the way that a request states. */
export function requirePause(sandboxes: E2bSandboxes, memory: boolean | null | undefined): void {
  if (!sandboxes.canPause) {
    throw new NotImplementedError(NO_PAUSE);
  }
  if (memory === false) throw new NotImplementedError(WITHOUT_MEMORY);
}

/** Message about a state without memory. */
const WITHOUT_MEMORY = "Paddock keeps the memory of sandboxes with their files: set memory to true";

/**
 * Pauses a session. One that cannot be paused is no conflict for E2B's SDKs, which take that for a pause.
 *
 * @throws {ServerError} `unavailable` with the reason, if it runs a program or has what no checkpoint has.
 */
async function pause(session: LiveSession): Promise<void> {
  try {
    await session.life.pause();
  } catch (cause) {
    if (!(cause instanceof ServerError) || cause.code !== "conflict") throw cause;
    throw new ServerError("unavailable", `Cannot pause sandbox: ${cause.message}`, { cause });
  }
}

/** Resumes a sandbox for so many seconds. */
async function resume(
  { session }: E2bSandbox,
  { timeout, memory }: z.output<typeof connectRequest>,
): Promise<void> {
  if (memory === false) throw new NotImplementedError(WITHOUT_MEMORY);
  await session.life.resume();
  session.life.endAfter(toTtl(timeout ?? DEFAULT_TIMEOUT));
}

/** Lets a sandbox live at least that many seconds from now. */
export function extend({ session }: E2bSandbox, seconds: number): void {
  const endsAt = session.life.expiresAt?.getTime() ?? 0;
  if (Date.now() + 1000 * seconds > endsAt) session.life.endAfter(toTtl(seconds));
}

/** Returns a life of so many seconds, in milliseconds. */
export function toTtl(seconds: number): number {
  return Math.max(1, 1000 * seconds);
}

function snapshotBody(id: string): Record<string, unknown> {
  return { snapshotID: id, names: [] };
}
