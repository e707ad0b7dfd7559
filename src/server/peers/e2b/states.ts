import { Hono } from "hono";
import { abortable, Deadline } from "../../../async/abort.ts";
import type { AppEnv } from "../../http/context.ts";
import { ServerError } from "../../http/http_errors.ts";
import { connectRequest, type ConnectSandboxRequest, DEFAULT_TIMEOUT, pauseRequest } from "./contract.ts";
import { readCodeBody } from "./e2b_errors.ts";
import { grantOf } from "./sandbox_access.ts";
import { connectionBody } from "./sandbox_bodies.ts";
import type { E2bSandbox, E2bSandboxes } from "./sandboxes.ts";

/** Why a server does not pause sandboxes. */
export const NO_PAUSE = "This server of Paddock does not pause sandboxes, as its sessions do not hibernate";
/** Why a server does not copy sandboxes. */
export const NO_COPIES = "This server of Paddock does not copy sandboxes, as its pool has no checkpoints";
/** Serves the states of E2B's sandboxes that the server can keep, but for copies: see `forks.ts` and `snapshots.ts`. */
export function stateRoutes(sandboxes: E2bSandboxes): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  app.on("POST", ["/sandboxes/:id/connect", "/v2/sandboxes/:id/connect"], async (c) => {
    const sandbox = sandboxes.ofPath(c);
    const { timeout, memory } = await readCodeBody(c, connectRequest);
    const { isPaused } = sandbox.session.life;
    if (isPaused) await resume(sandbox, { timeout, memory });
    else if (!grantOf(c)?.isWhole) extend(sandbox, timeout ?? 0);
    return c.json(connectionBody(sandbox), isPaused ? 201 : 200);
  });
  if (sandboxes.canPause) addPauseRoutes(app, sandboxes);
  return app;
}

function addPauseRoutes(app: Hono<AppEnv>, sandboxes: E2bSandboxes): void {
  app.post("/sandboxes/:id/pause", async (c) => {
    const sandbox = sandboxes.ofPath(c);
    const { memory } = await readCodeBody(c, pauseRequest);
    const options = { waitMs: sandboxes.pauseWaitMs, memory: memory ?? true, signal: c.get("signal") };
    await pause(sandbox, options);
    return c.body(null, 204);
  });
  app.post("/sandboxes/:id/resume", async (c) => {
    const sandbox = sandboxes.ofPath(c);
    const request = await readCodeBody(c, connectRequest);
    if (!sandbox.session.life.isPaused) throw new ServerError("conflict", "The sandbox is running already");
    await resume(sandbox, request);
    return c.json(connectionBody(sandbox), 201);
  });
}

/**
 * Pauses a sandbox when all programs and commands have ended. A sandbox that cannot be paused gives no conflict error, as
 * E2B's SDKs take a conflict for a pause.
 *
 * @throws {ServerError} `unavailable` with the reason, if a program or command still runs, or the sandbox has something
 * that no checkpoint can hold; `not_found` if the sandbox ends meanwhile.
 */
async function pause(
  { home, session }: E2bSandbox,
  { waitMs, memory, signal }: { waitMs: number; memory: boolean; signal: AbortSignal },
): Promise<void> {
  using deadline = new Deadline(waitMs, { signal: AbortSignal.any([signal, session.life.endSignal]) });
  // when the time is up, the session states that a program is running
  await abortable(home.whenIdle(), deadline.signal).catch(() => signal.throwIfAborted());
  if (session.ended) throw new ServerError("not_found", "The sandbox has ended");
  if (session.life.isPaused) throw new ServerError("conflict", "The sandbox is paused already");
  try {
    await session.life.pause.begin({ memory });
  } catch (cause) {
    if (!(cause instanceof ServerError) || cause.code !== "conflict") throw cause;
    throw new ServerError("unavailable", `Cannot pause sandbox: ${cause.message}`, { cause });
  }
}

/** Resumes a sandbox for so many seconds. */
async function resume(
  { home, session: { life } }: E2bSandbox,
  { timeout, memory }: ConnectSandboxRequest,
): Promise<void> {
  if (memory === false || !life.pause.hasMemory) home.beginAnew(); // before a request finds the sandbox running
  await life.pause.resume({ memory: memory ?? true });
  life.endAfter(toTtl(timeout ?? DEFAULT_TIMEOUT));
}

/**
 * Lets a sandbox live at least that many seconds from now.
 *
 * @throws {ServerError} with the reason of a checkpoint, if this server cannot continue the sandbox.
 */
export function extend({ session }: E2bSandbox, seconds: number): void {
  session.life.requireUsable();
  const endsAt = session.life.expiresAt?.getTime() ?? 0;
  if (Date.now() + 1000 * seconds > endsAt) session.life.endAfter(toTtl(seconds));
}

/** Returns a life of so many seconds, in milliseconds. */
export function toTtl(seconds: number): number {
  return Math.max(1, 1000 * seconds);
}
