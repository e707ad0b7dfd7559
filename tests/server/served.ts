import type { EnvService } from "../../src/server/envs/env_service.ts";
import { Metrics } from "../../src/server/metrics.ts";
import type { RolloutService } from "../../src/server/rollouts/rollout_service.ts";
import { makeServerParts, type ServerParts, type ServerPartsOptions } from "../../src/server/server_parts.ts";
import type { SessionService } from "../../src/server/sessions/session_service.ts";
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
  readonly app: ServerParts["app"];
  send(method: string, path: string, body?: unknown, headers?: HeadersInit): Promise<TestResponse>;
}

/** Options of {@linkcode served}. */
export type ServedOptions = Partial<Omit<ServerPartsOptions, "metrics">>;

/** Starts a server without a socket. Its default pool is a fake one without Python. */
export function served(options: ServedOptions & { python?: FakePython } = {}): Served {
  const { python, ...rest } = options;
  const pool = new FakePool(python);
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const parts = makeServerParts({ pool, maxSessions: 2, onError, ...rest, metrics: new Metrics() });
  const { sessions, envs, rollouts, app } = parts;
  return {
    pool,
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
    [Symbol.asyncDispose]: () => parts[Symbol.asyncDispose](),
  };
}

function jsonRequest(method: string, body: unknown, headers?: HeadersInit): RequestInit {
  if (body === undefined) return { method, ...(headers && { headers }) };
  const all = new Headers(headers);
  if (!all.has("content-type")) all.set("content-type", "application/json");
  return { method, headers: all, body: typeof body === "string" ? body : JSON.stringify(body) };
}
