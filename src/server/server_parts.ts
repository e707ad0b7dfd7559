import { GraderPool, type GraderPoolOptions } from "../rewards/worker/grader_pool.ts";
import { isBranchingPool } from "../sandbox/contract/pool.ts";
import { Budgets } from "./admission/budget.ts";
import { paddockApp, type PaddockAppOptions } from "./app.ts";
import { CheckpointService } from "./checkpoints/checkpoint_service.ts";
import { CheckpointStore, type CheckpointStoreOptions } from "./checkpoints/checkpoint_store.ts";
import { EnvService, type EnvServiceOptions } from "./envs/env_service.ts";
import { errorReporter } from "./http/http_errors.ts";
import type { OpenEnvKind } from "./peers/openenv/env_kind.ts";
import { type RolloutOffer, RolloutService } from "./rollouts/rollout_service.ts";
import { SessionService, type SessionServiceOptions } from "./sessions/session_service.ts";
import type { Api } from "./v1/route.ts";

/** Options of {@linkcode makeServerParts}: the options of the parts, without the parts that the function makes. */
export interface ServerPartsOptions
  extends
    Omit<PaddockAppOptions, "sessions" | "checkpoints" | "envs" | "openEnv" | "rollouts" | "graderPool">,
    Omit<SessionServiceOptions, "owners" | "checkpointStore">,
    Pick<EnvServiceOptions, "tools" | "toolFiles" | "maxEnvs"> {
  /** Limits of the checkpoints that clients keep. */
  readonly checkpointLimits?: Omit<CheckpointStoreOptions, "owners"> | undefined;
  readonly graderLimits?: GraderPoolOptions | undefined;
  /** Policies and envs that the rollouts of clients may use. */
  readonly offer?: RolloutOffer | undefined;
  /**
   * Makes the env of OpenEnv's routes.
   *
   * @default the coding env
   */
  readonly makeOpenEnv?: ((sessions: SessionService) => OpenEnvKind | undefined) | undefined;
}

/** The parts of a server, and the app that serves them. Disposing them ends all programs and rejects requests. */
export interface ServerParts extends AsyncDisposable {
  readonly sessions: SessionService;
  readonly checkpoints: CheckpointStore;
  readonly envs: EnvService;
  readonly rollouts: RolloutService;
  readonly app: Api;
}

/**
 * Makes the parts of a server over a pool.
 *
 * @throws {RangeError} if `maxSessions` is less than 1.
 * @throws {TypeError} if `mcpCheckpoints` is set and the pool has no checkpoints.
 */
export function makeServerParts({ makeOpenEnv, ...options }: ServerPartsOptions): ServerParts {
  const { pool, metrics, offer, checkpointLimits, graderLimits } = options;
  const owners = options.tokens?.length;
  const onError = errorReporter(options.onError ?? (() => {}));
  const { budgets = new Budgets({ owners }) } = options;
  const graderPool = new GraderPool(graderLimits);
  const shared = { ...options, onError, budgets, graderPool };
  const store = new CheckpointStore({ ...checkpointLimits, owners });
  const sessions = new SessionService({ ...shared, owners, checkpointStore: store });
  const { transfers } = sessions;
  const checkpoints = isBranchingPool(pool)
    ? new CheckpointService({ pool, store, transfers, metrics })
    : undefined;
  const envs = new EnvService({ ...shared, sessions });
  const rollouts = new RolloutService({ envs, metrics, offer, budgets, timeScale: pool.timeScale });
  const openEnv = makeOpenEnv?.(sessions);
  const app = paddockApp({ ...shared, sessions, checkpoints, envs, rollouts, openEnv });
  return {
    sessions,
    checkpoints: store,
    envs,
    rollouts,
    app,
    async [Symbol.asyncDispose]() {
      await rollouts[Symbol.asyncDispose](); // their envs use the sessions
      await Promise.all([envs, sessions, graderPool].map((resource) => resource[Symbol.asyncDispose]()));
      store[Symbol.dispose]();
    },
  };
}
