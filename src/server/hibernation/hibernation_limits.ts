import { isBranchingPool, type SessionPool } from "../../sandbox/contract/pool.ts";
import type { Metrics } from "../metrics.ts";
import type { HibernationSettings } from "../sessions/session_factory.ts";
import { isSharedPool } from "../sessions/shared_pool.ts";
import { HibernationStore, type HibernationStoreOptions } from "./hibernation_store.ts";

/** Limits of the hibernation of a a server's sessions. */
export interface HibernationLimits
  extends Pick<HibernationStoreOptions, "bytes" | "directory" | "directoryBytes"> {
  /**
   * Milliseconds without use after which a session hibernates. A session that is idle for less hibernates when a
   * request waits for an interpreter.
   *
   * @default 60_000
   */
  readonly afterMs?: number | undefined;
}

/**
 * Opens the store of sessions that hibernate, and adds its metrics.
 *
 * @throws {TypeError} if the pool has no checkpoints, or the pool's sessions belong to several servers.
 */
export function openHibernation(
  pool: SessionPool,
  { afterMs, ...limits }: HibernationLimits,
  { metrics, ...rest }: Pick<HibernationStoreOptions, "owners" | "onError"> & { metrics: Metrics },
): HibernationSettings {
  if (!isBranchingPool(pool) || isSharedPool(pool)) {
    throw new TypeError(
      "Cannot let sessions hibernate as 'pool' must be one whose sessions have checkpoints, and not of a cluster",
    );
  }
  const store = new HibernationStore({ ...limits, ...rest });
  metrics.addGauge("paddock_hibernating_sessions", "Sessions that hibernate.", (owner) => store.count(owner));
  metrics.addGauge(
    "paddock_hibernating_memory_bytes",
    "Bytes of hibernating sessions in memory.",
    (owner) => store.bytes("memory", owner),
  );
  metrics.addGauge(
    "paddock_hibernating_disk_bytes",
    "Bytes of hibernating sessions in the state directory.",
    (owner) => store.bytes("directory", owner),
  );
  const { sessions: saved, unreadable } = limits.directory ?? {};
  return { afterMs, store, saved, unreadable };
}
