/**
 * Sessions on the machines of a cluster, which communicate over NATS. `NatsPool` takes the place of a `SandboxPool`.
 *
 * @example Run a program on any node of a cluster
 * ```ts
 * import { NatsPool } from "@paddock/paddock/cluster";
 *
 * async function run(servers: string, code: string) {
 *   await using pool = await NatsPool.connect({ servers, profile: "serve" });
 *   await using lease = await pool.acquire();
 *   return await lease.session.exec(code, { timeoutMs: 2_000 });
 * }
 * ```
 *
 * @module
 */
export { PoolFullError, SandboxLostError } from "../src/errors.ts";
export type { NatsOptions } from "../src/cluster/nats/connection.ts";
export { ClusterNode, type ClusterNodeOptions } from "../src/cluster/node/cluster_node.ts";
export { NatsPool, type NatsPoolOptions } from "../src/cluster/nats_pool.ts";
export type { NodeProperties } from "../src/cluster/nodes_bucket.ts";
export type { PeerOptions } from "../src/cluster/nats/nats_peer.ts";
