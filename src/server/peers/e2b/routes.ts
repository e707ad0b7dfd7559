import { Hono } from "hono";
import type { AppEnv } from "../../http/context.ts";
import type { Peer, PeerServices } from "../peer.ts";
import { codeInterpreter } from "./code/code_interpreter.ts";
import { controlRoutes } from "./control.ts";
import { rpcRoutes } from "./envd/rpc.ts";
import { codeResponse } from "./e2b_errors.ts";
import { fileRoutes } from "./files.ts";
import { forkRoutes } from "./forks.ts";
import { e2bOperations } from "./operations.ts";
import { E2bSandboxes } from "./sandboxes.ts";
import { E2bSnapshots, snapshotRoutes } from "./snapshots.ts";
import { e2bAccess, SandboxAccess } from "./sandbox_access.ts";
import { stateRoutes } from "./states.ts";

/**
 * Serves the SDKs of E2B: the API of sandboxes, the agent in each sandbox (`envd`) and the code interpreter. A request
 * names a sandbox by the header `E2b-Sandbox-Id`, by the host name, or by the signature of the URL.
 */
export function e2b({ sessions, checkpoints, secret }: PeerServices): Peer {
  const access = new SandboxAccess(sessions.directory, secret);
  const sandboxes = new E2bSandboxes(sessions, access);
  const health = new Hono<AppEnv>();
  health.get("/health", async (c, next) => {
    if (sandboxes.named(c) === undefined) return await next(); // another system's health
    return c.body(null, 204);
  });
  const snapshots = checkpoints && new E2bSnapshots(checkpoints);
  const others = [
    stateRoutes(sandboxes),
    ...snapshots ? [forkRoutes(sandboxes, snapshots), snapshotRoutes(sandboxes, snapshots)] : [],
    controlRoutes(sandboxes, snapshots),
    fileRoutes(sandboxes),
    rpcRoutes(sandboxes),
  ];
  return {
    name: "e2b",
    description: "Routes of E2B's code interpreter",
    routes: [
      codeInterpreter(sessions, sandboxes),
      { routes: health, toErrorResponse: codeResponse },
      ...others.map((routes) => ({ routes, toErrorResponse: codeResponse, handlesRefusals: true })),
    ],
    operations: e2bOperations({ canPause: sandboxes.canPause, canCopy: snapshots !== undefined }),
    access: e2bAccess(access),
  };
}
