import type { ExecResult } from "../../../src/sandbox/contract/exec.ts";
import { HibernationStore } from "../../../src/server/hibernation/hibernation_store.ts";
import type { StateDirectory } from "../../../src/server/hibernation/state_directory.ts";
import { Metrics } from "../../../src/server/metrics.ts";
import type { LiveSession } from "../../../src/server/sessions/live_session.ts";
import { SessionService, type SessionServiceOptions } from "../../../src/server/sessions/session_service.ts";
import { BranchingFakePool, type FakePython, ok } from "../../fake_pool.ts";

/** A signal that never aborts. */
export const signal = new AbortController().signal;

/** Programs: `n` adds n to a counter and returns it as value. */
export const count: FakePython = (code, globals) => {
  globals.set("count", (globals.get("count") ?? 0) + Number(code));
  return ok("", { value: String(globals.get("count")) });
};

/** Returns a service whose sessions hibernate after an hour, unless a request needs their interpreter. */
export function service(
  { store = new HibernationStore(), afterMs = 3_600_000, saved, ...options }:
    & Partial<SessionServiceOptions>
    & {
      store?: HibernationStore;
      afterMs?: number;
      saved?: StateDirectory["sessions"];
    } = {},
): SessionService {
  return new SessionService({
    pool: new BranchingFakePool(count),
    metrics: new Metrics(),
    maxSessions: 1,
    hibernation: { store, afterMs, saved },
    ...options,
  });
}

/** Adds to the counter of a session, and returns its value. */
export async function valueOf(session: LiveSession, code = "1"): Promise<string | undefined> {
  const result: ExecResult = await session.exec(code);
  return result.status === "ok" ? result.value : undefined;
}

/** Milliseconds after which nothing that is awaited comes any more. */
const MAX_WAIT_MS = 60_000;

/** Waits until something is true. Throws if it never becomes so. */
export async function until(isTrue: () => boolean): Promise<void> {
  const startedAt = performance.now();
  while (!isTrue()) {
    if (performance.now() - startedAt > MAX_WAIT_MS) {
      throw new Error(`Waited for ${MAX_WAIT_MS} ms: ${isTrue}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
