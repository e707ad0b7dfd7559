import type { Adapter } from "./peer.ts";
import { e2b } from "./e2b/routes.ts";
import { nemoSkills } from "./nemo_skills/routes.ts";
import { openR1 } from "./open_r1/routes.ts";
import { openEnv } from "./openenv/routes.ts";
import { piston } from "./piston/routes.ts";
import { sandboxFusion } from "./sandbox_fusion/routes.ts";

/**
 * The adapters of a server. A new adapter is one more line. Where two use the same route, as `/execute` of
 * NeMo-Skills and E2B, the first takes the requests that are its own and leaves the others to the next.
 */
export const ADAPTERS: readonly Adapter[] = [
  sandboxFusion,
  nemoSkills,
  e2b,
  openR1,
  piston,
  (_, { openEnv: kind, budgets }) => openEnv(kind, budgets),
];
