import { GraderPool, type GraderPoolOptions } from "../../src/rewards/worker/grader_pool.ts";
import { EnvService, type EnvServiceOptions } from "../../src/server/envs/env_service.ts";
import { errorReporter } from "../../src/server/http/http_errors.ts";
import { Metrics } from "../../src/server/metrics.ts";
import { paddockApp, type PaddockAppOptions } from "../../src/server/app.ts";
import { type RolloutOffer, RolloutService } from "../../src/server/rollouts/rollout_service.ts";
import { SessionService, type SessionServiceOptions } from "../../src/server/sessions/session_service.ts";
import { isBranchingPool } from "../../src/sandbox/contract/pool.ts";
import { CheckpointService } from "../../src/server/checkpoints/checkpoint_service.ts";
import {
  CheckpointStore,
  type CheckpointStoreOptions,
} from "../../src/server/checkpoints/checkpoint_store.ts";
import { FakePool, type FakePython } from "../fake_pool.ts";

/** Response of a request. */
export interface TestResponse {
  status: number;
  headers: Headers;
  // deno-lint-ignore no-explicit-any
  body: any;
}

/** A server without a socket. */
export interface Served extends AsyncDisposable {
  readonly pool: FakePool;
  readonly sessions: SessionService;
  readonly envs: EnvService;
  readonly rollouts: RolloutService;
  readonly errors: unknown[];
  readonly app: ReturnType<typeof paddockApp>;
  send(method: string, path: string, body?: unknown, headers?: HeadersInit): Promise<TestResponse>;
}

/** Options of {@linkcode served}. */
export type ServedOptions =
  & Partial<Omit<PaddockAppOptions, "rollouts">>
  & Partial<SessionServiceOptions>
  & Pick<Partial<EnvServiceOptions>, "tools" | "maxEnvs">;

/** Starts a server without a socket. Its default pool is a fake one without Python. */
export function served(
  options: ServedOptions & {
    python?: FakePython;
    graderLimits?: GraderPoolOptions;
    offer?: RolloutOffer;
    checkpointLimits?: CheckpointStoreOptions;
  } = {},
): Served {
  const { python, graderLimits, offer, checkpointLimits, maxSessions = 2, ...rest } = options;
  const fake = new FakePool(python);
  const metrics = new Metrics();
  const errors: unknown[] = [];
  const onError = errorReporter((error) => errors.push(error));
  const owners = options.tokens?.length;
  const store = new CheckpointStore({ owners, ...checkpointLimits });
  const sessions = new SessionService({
    ...{ pool: fake, onError, checkpointStore: store },
    ...rest,
    ...{ metrics, maxSessions },
  });
  const { pool = fake } = options;
  const { transfers } = sessions;
  const checkpoints = isBranchingPool(pool)
    ? new CheckpointService({ pool, store, transfers, metrics })
    : undefined;
  const graderPool = new GraderPool(graderLimits);
  const envs = new EnvService({ onError, ...rest, graderPool, sessions, metrics });
  const rollouts = new RolloutService({ ...rest, envs, metrics, offer });
  const app = paddockApp({ onError, ...rest, graderPool, sessions, checkpoints, envs, rollouts, metrics });
  return {
    pool: fake,
    sessions,
    envs,
    rollouts,
    errors,
    app,
    async send(method, path, body, headers) {
      const response = await app.request(path, jsonRequest(method, body, headers));
      const text = await response.text();
      const json = response.headers.get("content-type")?.startsWith("application/json");
      return {
        status: response.status,
        headers: response.headers,
        body: json ? JSON.parse(text) : text,
      };
    },
    async [Symbol.asyncDispose]() {
      await rollouts[Symbol.asyncDispose]();
      await envs[Symbol.asyncDispose]();
      await sessions[Symbol.asyncDispose]();
      await graderPool[Symbol.asyncDispose]();
      store[Symbol.dispose]();
    },
  };
}

function jsonRequest(method: string, body: unknown, headers?: HeadersInit): RequestInit {
  if (body === undefined) return { method, ...(headers && { headers }) };
  const all = new Headers(headers);
  if (!all.has("content-type")) all.set("content-type", "application/json");
  return { method, headers: all, body: typeof body === "string" ? body : JSON.stringify(body) };
}
