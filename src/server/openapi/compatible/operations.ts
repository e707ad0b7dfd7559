/**
 * Descriptions of the routes of compatible systems, which check their requests themselves. Their errors have the
 * formats of those systems.
 *
 * @module
 */
import type { RouteConfig } from "@hono/zod-openapi";
import type { OpenEnvKind } from "../../adapters/openenv/env_kind.ts";
import { e2bOperations } from "./e2b.ts";
import { e2bSandboxOperations, type SandboxStates } from "./e2b_sandboxes.ts";
import { mcpOperations } from "./mcp.ts";
import { nemoSkillsOperations } from "./nemo_skills.ts";
import { openEnvOperations } from "./openenv.ts";
import { pistonOperations } from "./piston.ts";
import { sandboxFusionOperations } from "./sandbox_fusion.ts";

/** Returns the operations of all compatible systems. */
export function compatibleOperations(openEnv: OpenEnvKind, states: SandboxStates): RouteConfig[] {
  return [
    ...mcpOperations(),
    ...sandboxFusionOperations(),
    ...nemoSkillsOperations(),
    ...e2bOperations(),
    ...e2bSandboxOperations(states),
    ...pistonOperations(),
    ...openEnvOperations(openEnv),
  ];
}
