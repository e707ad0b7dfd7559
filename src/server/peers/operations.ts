/**
 * Descriptions of the routes of compatible systems, which check their requests themselves. Their errors have the
 * formats of those systems.
 *
 * @module
 */
import type { RouteConfig } from "@hono/zod-openapi";
import type { OpenEnvKind } from "./openenv/env_kind.ts";
import { e2bOperations } from "./e2b/operations/contexts.ts";
import { e2bSandboxOperations, type SandboxStates } from "./e2b/operations/sandboxes.ts";
import { mcpOperations } from "../mcp/operations.ts";
import { nemoSkillsOperations } from "./nemo_skills/operations.ts";
import { openEnvOperations } from "./openenv/operations.ts";
import { pistonOperations } from "./piston/operations.ts";
import { sandboxFusionOperations } from "./sandbox_fusion/operations.ts";

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
