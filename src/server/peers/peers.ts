import type { Budgets } from "../budget.ts";
import type { CheckpointService } from "../checkpoints/checkpoint_service.ts";
import type { SessionService } from "../sessions/session_service.ts";
import { e2b } from "./e2b/routes.ts";
import { nemoSkills } from "./nemo_skills/routes.ts";
import { openR1 } from "./open_r1/routes.ts";
import { codingKind } from "./openenv/coding_env.ts";
import type { OpenEnvKind } from "./openenv/contract.ts";
import { openEnv } from "./openenv/routes.ts";
import type { Peer } from "./peer.ts";
import { piston } from "./piston/routes.ts";
import { sandboxFusion } from "./sandbox_fusion/routes.ts";

/** What peers are made with. */
export interface PeerServices {
  readonly sessions: SessionService;
  readonly budgets: Budgets;
  /** Checkpoints of sessions, if the pool has them. */
  readonly checkpoints: CheckpointService | undefined;
  /** Secret of the server. */
  readonly secret: Uint8Array;
  /**
   * Env of OpenEnv's routes.
   *
   * @default the coding env
   */
  readonly openEnvKind?: OpenEnvKind | undefined;
}

/**
 * Makes the peers of a server. A new one is one more line. Where two use the same route, as `/execute` of NeMo-Skills
 * and E2B, the first takes the requests that are its own and leaves the others to the next.
 */
export function makePeers(services: PeerServices): Peer[] {
  const { sessions, budgets, openEnvKind = codingKind(sessions) } = services;
  return [
    sandboxFusion(sessions),
    nemoSkills(sessions),
    e2b(services),
    openR1(sessions),
    piston(sessions),
    openEnv(openEnvKind, budgets),
  ];
}
