import { e2b } from "./e2b/routes.ts";
import { nemoSkills } from "./nemo_skills/routes.ts";
import { openR1 } from "./open_r1/routes.ts";
import { codingKind } from "./openenv/coding_env.ts";
import type { OpenEnvKind } from "./openenv/env_kind.ts";
import { openEnv } from "./openenv/routes.ts";
import type { Peer, PeerServices } from "./peer.ts";
import { piston } from "./piston/routes.ts";
import { sandboxFusion } from "./sandbox_fusion/routes.ts";

/**
 * Makes the peers of a server. A new peer is another line. Where two peers use the same route, as `/execute` of
 * NeMo-Skills and E2B, the first peer takes its requests and leaves the others to the next peer. OpenEnv has the coding
 * env by default.
 */
export function makePeers(services: PeerServices, openEnvKind?: OpenEnvKind): Peer[] {
  const { sessions, budgets } = services;
  return [
    sandboxFusion(sessions),
    nemoSkills(sessions),
    e2b(services),
    openR1(sessions),
    piston(sessions),
    openEnv(openEnvKind ?? codingKind(sessions), budgets),
  ];
}
