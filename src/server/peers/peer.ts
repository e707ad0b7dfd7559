/**
 * Contract of a peer: another system, whose clients the server understands. Each peer has a folder with `contract.ts`,
 * the schemas of requests and responses; `routes.ts`; and `operations.ts`, which describe the routes. `piston` is a
 * short peer to start from, and `peers.ts` lists all.
 *
 * @module
 */
import type { Hono } from "hono";
import type { Budgets } from "../admission/budget.ts";
import type { CheckpointService } from "../checkpoints/checkpoint_service.ts";
import type { PeerAccess } from "../http/access.ts";
import type { AppEnv } from "../http/context.ts";
import type { SessionService } from "../sessions/session_service.ts";
import type { PeerOperation } from "./operation.ts";

/** Services with which peers are made. */
export interface PeerServices {
  readonly sessions: SessionService;
  readonly budgets: Budgets;
  /** Checkpoints of sessions, if the pool has them. */
  readonly checkpoints: CheckpointService | undefined;
  /** Secret of the server. */
  readonly secret: Uint8Array;
}

/** A system whose clients the server understands. */
export interface Peer {
  /** Name of the group of the peer's operations in the description of the API. */
  readonly name: string;
  /** Description of the group. */
  readonly description: string;
  readonly routes: readonly PeerRoutes[];
  readonly operations: readonly PeerOperation[];
  /** Access of the peer's requests without a token of the server. */
  readonly access?: PeerAccess;
}

/** Routes of a peer, and the form of the system's errors. */
export interface PeerRoutes {
  readonly routes: Hono<AppEnv>;
  /** Returns the response of a failed request, also of a request that the server was too busy to pass to a route. */
  readonly toErrorResponse: (thrown: Error) => Response;
  /**
   * True if `toErrorResponse` also answers requests that are refused before they reach a route, as without a token.
   *
   * @default false: only requests that are refused because the server is busy
   */
  readonly handlesRefusals?: boolean;
}
