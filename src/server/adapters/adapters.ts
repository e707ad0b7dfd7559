import type { Adapter } from "./adapter.ts";
import { e2b } from "./e2b/e2b.ts";
import { nemoSkills } from "./nemo_skills.ts";
import { openR1 } from "./open_r1.ts";
import { openEnv } from "./openenv/openenv.ts";
import { piston } from "./piston.ts";
import { sandboxFusion } from "./sandbox_fusion/sandbox_fusion.ts";

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
