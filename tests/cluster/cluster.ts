import { delay } from "@std/async";
import { Serving } from "../../bench/serving.ts";
import type { NatsPool } from "../../src/cluster/nats_pool.ts";
import { HANG_MS } from "../deadline.ts";
import type { NatsServer } from "./nats_server.ts";

/** Sessions of a node. */
export const SLOTS = 2;

/** Options of tests that start processes. */
export const options = { sanitizeOps: false, sanitizeResources: false, timeout: HANG_MS } as const;

/** Prints a figure. */
export async function print(line: string): Promise<void> {
  await Deno.stdout.write(new TextEncoder().encode(`${line}\n`));
}

/** Starts a node in a process. */
export function startNode(nats: NatsServer, ...args: string[]): Promise<Serving> {
  return Serving.start("--nats", nats.url, "--max-sessions", `${SLOTS}`, "--drain", "5", ...args);
}

/** Waits until the nodes of a pool are as they must be. */
export async function whenNodes(
  pool: NatsPool,
  isReady: (nodes: NatsPool["nodes"]) => boolean,
): Promise<void> {
  while (!isReady(pool.nodes)) await delay(50);
}
