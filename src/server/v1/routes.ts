import type { GraderPool } from "../../rewards/worker/grader_pool.ts";
import { AdmissionQueue } from "../admission/admission_queue.ts";
import type { Budgets } from "../admission/budget.ts";
import type { CheckpointService } from "../checkpoints/checkpoint_service.ts";
import type { EnvService } from "../envs/env_service.ts";
import type { Graders } from "../graders.ts";
import { SESSION_WAIT_MS } from "../limits.ts";
import type { RolloutService } from "../rollouts/rollout_service.ts";
import type { SessionService } from "../sessions/session_service.ts";
import { MORE_SESSIONS } from "../sessions/session_slots.ts";
import { addBatchRoutes } from "./batch.ts";
import { addCheckpointRoutes } from "./checkpoints.ts";
import { addEnvBatchRoutes, addEnvRoutes } from "./envs.ts";
import { addExecRoutes } from "./exec.ts";
import { addFamilyRoutes } from "./families.ts";
import { addFileRoutes } from "./files.ts";
import { addGradeRoutes } from "./grade.ts";
import { addRequestRoutes, IdempotencyCache } from "./idempotency.ts";
import { addRolloutRoutes } from "./rollouts.ts";
import type { Api } from "./route.ts";
import { addSessionRoutes } from "./sessions.ts";
import { addCallRoutes, addStreamRoutes } from "./streams.ts";

/** Parts of the server behind `/v1`. The routes of an absent part do not exist. */
export interface V1Parts {
  readonly sessions: SessionService;
  readonly budgets: Budgets;
  readonly checkpoints?: CheckpointService | undefined;
  readonly envs?: EnvService | undefined;
  readonly rollouts?: RolloutService | undefined;
  readonly graders: Graders;
  readonly graderPool: GraderPool;
}

/** Adds the routes of `/v1`, in the order in which the description of the API lists them. */
export function addV1Routes(app: Api, parts: V1Parts): void {
  const { sessions, budgets, checkpoints, envs, rollouts, graders, graderPool: pool } = parts;
  const requests = new IdempotencyCache(budgets);
  app.use("/v1/*", requests.handler());
  addRequestRoutes(app, requests);
  addSessionRoutes(app, { sessions, checkpoints });
  if (checkpoints) addCheckpointRoutes(app, { sessions, checkpoints });
  addStreamRoutes(app, sessions);
  addCallRoutes(app, sessions);
  addFileRoutes(app, sessions);
  addExecRoutes(app, sessions);
  addBatchRoutes(app, sessions);
  const gate = new AdmissionQueue({
    slots: sessions.maxSessions,
    waitMs: SESSION_WAIT_MS,
    name: "grade slot",
    advice: MORE_SESSIONS,
  });
  addGradeRoutes(app, { graders, pool, gate });
  if (envs) {
    addEnvRoutes(app, envs);
    addEnvBatchRoutes(app, envs);
    addFamilyRoutes(app);
  }
  if (rollouts) addRolloutRoutes(app, rollouts);
}
