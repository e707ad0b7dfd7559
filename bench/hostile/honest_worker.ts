/// <reference lib="deno.worker" />
/** The worker of {@linkcode HonestTenant}: a thread of its own, so that a busy attacker does not delay its clock. */
import { HONEST_REQUESTS, type HonestContext, type HonestKind } from "./honest_requests.ts";
import type { HonestReport, HonestStart } from "./honest_tenant.ts";
import { RefusedError, Tenant } from "./tenant.ts";

const PAUSE_MS = 100;
const RETRY_MS = 200;
/** Statuses of requests that will not be answered later either. */
const FINAL = [400, 401, 403, 404, 405, 409, 422];
const { signal } = new AbortController();

let times: { kind: HonestKind; ms: number }[] = [];
let wrong: string[] = [];
let retries = 0;
const running = new Map<HonestKind, number>();

self.onmessage = ({ data }: MessageEvent<HonestStart | "report">) => {
  if (data !== "report") {
    const { url, token, kinds, ...context } = data;
    for (const kind of kinds) loop(kind, { ...context, tenant: new Tenant(url, token) });
    return;
  }
  const now = performance.now();
  const waiting = [...running].map(([kind, since]) => ({ kind, ms: now - since }));
  self.postMessage({ times, waiting, wrong, retries } satisfies HonestReport);
  [times, wrong, retries] = [[], [], 0];
};

async function loop(kind: HonestKind, context: HonestContext): Promise<void> {
  for (let number = 1;; number++) {
    const startedAt = performance.now();
    running.set(kind, startedAt);
    await askUntilAnswered(kind, context, number);
    running.delete(kind);
    times.push({ kind, ms: performance.now() - startedAt });
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

/** Sends a request again while the server refuses it: the wait of a client ends with its answer. */
async function askUntilAnswered(kind: HonestKind, context: HonestContext, number: number): Promise<void> {
  for (;;) {
    try {
      const fault = await HONEST_REQUESTS[kind](context, number, signal);
      if (fault !== undefined) wrong.push(`${kind}: ${fault}`);
      return;
    } catch (error) {
      retries++;
      if (error instanceof RefusedError && FINAL.includes(error.status)) {
        wrong.push(`${kind}: ${error.message}`);
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}
