import { requireKnownOptions } from "../options.ts";
import type { Tokenizer } from "../chat/tokenizer.ts";
import type { Grader } from "../rewards/grader.ts";
import type { SessionPool } from "../sandbox/contract/pool.ts";
import type { Tool } from "../tools/tool.ts";
import type { AccessOptions } from "./http/access.ts";
import type { RequestRecord } from "./http/access_log.ts";
import type { RequestConnection } from "./http/context.ts";
import { KeyedSandboxes } from "./peers/e2b/keyed_sandboxes.ts";
import { SandboxKeys } from "./peers/e2b/sandbox_keys.ts";
import { chatKind } from "./peers/openenv/chat_env.ts";
import { replKind } from "./peers/openenv/repl_env.ts";
import { Budgets } from "./admission/budget.ts";
import type { ToolGroup } from "./envs/env_config.ts";
import { type HibernationLimits, openHibernation } from "./hibernation/hibernation_limits.ts";
import type { SuspendReport } from "./hibernation/suspend_report.ts";
import { errorReporter } from "./http/http_errors.ts";
import { Metrics } from "./metrics.ts";
import type { RequestLimits } from "./limits.ts";
import type { RolloutOffer } from "./rollouts/rollout_service.ts";
import type { ServerEvent } from "./server_event.ts";
import { makeServerParts, type ServerParts } from "./server_parts.ts";
import type { HibernationSettings } from "./sessions/session_factory.ts";
import type { ViewerOptions } from "../viewer/viewer_app.tsx";

/** Options of {@linkcode PaddockServer}. */
export interface PaddockServerOptions extends AccessOptions {
  /** Pool in which programs run. It must have `maxSessions` interpreters. The caller disposes it. */
  pool: SessionPool;
  /** Maximum number of sessions, including sessions of single programs and envs. */
  maxSessions: number;
  /**
   * Maximum number of sessions per token.
   *
   * @default all but the reserved shares of other tokens
   */
  maxSessionsPerToken?: number | undefined;
  /**
   * Requests that may wait to open a session. Requests that run single programs are not counted.
   *
   * @default 64
   */
  queue?: number | undefined;
  /**
   * Milliseconds that a request waits for a session before it fails with 504.
   *
   * @default 30_000
   */
  waitMs?: number | undefined;
  /**
   * Milliseconds without use after which a session or an env ends.
   *
   * @default 600_000
   */
  idleMs?: number | undefined;
  /**
   * Maximum number of envs.
   *
   * @default 1024
   */
  maxEnvs?: number | undefined;
  /**
   * Memory of data that waits or is kept, in bytes: requests, messages, unread output, envs, and responses to requests
   * with an id. Each token has a reserved share of one half.
   *
   * @default 512 MiB
   */
  bufferBytes?: number | undefined;
  /**
   * Memory of the checkpoints that clients keep, in bytes. Each token has a reserved share of one half.
   *
   * @default 1 GiB
   */
  checkpointBytes?: number | undefined;
  /**
   * Lets idle sessions hibernate: they are checkpoints, without an interpreter, until they are used again. It needs a
   * pool with checkpoints.
   *
   * @default sessions keep their interpreters
   */
  hibernation?: HibernationLimits | undefined;
  /**
   * True if clients of `/mcp` have the tools `checkpoint` and `restore`. It needs a pool with checkpoints.
   *
   * @default false
   */
  mcpCheckpoints?: boolean | undefined;
  /** Graders by name, each made at its first use. Graders that run Python need their own pools. */
  graders?: ReadonlyMap<string, () => Grader> | undefined;
  /** Tools that envs may call. All clients share them. The caller disposes them. */
  tools?: readonly Tool[] | undefined;
  /** Files with tools that run in a session of each episode, as `pythonTools()` opens them. */
  toolFiles?: readonly ToolGroup[] | undefined;
  /** Tokenizer of OpenEnv's chat env, which then replaces its coding env. */
  openEnvTokenizer?: Tokenizer | undefined;
  /**
   * Env of OpenEnv's routes without a tokenizer: its coding env, or its env of recursive language models.
   *
   * @default "coding"
   */
  openEnv?: "coding" | "repl" | undefined;
  /**
   * Policies and envs that the rollouts of clients may use.
   *
   * @default there are no such rollouts
   */
  rollouts?: RolloutOffer | undefined;
  /**
   * Pages of saved episodes at `/runs`. Every token opens them.
   *
   * @default there are no such pages
   */
  runs?: ViewerOptions | undefined;
  /** Limits of a request that differ from the defaults of {@linkcode RequestLimits}. */
  limits?: Partial<RequestLimits> | undefined;
  /**
   * Returns the metrics of the cluster behind the pool, in the text format of Prometheus. `/metrics` has them beside
   * the metrics of the process.
   *
   * @default no such metrics
   */
  formatClusterMetrics?: (() => string) | undefined;
  /** Called after each response, for a log. It must not throw. */
  onRequest?: ((record: RequestRecord) => void) | undefined;
  /** Called when a session opens or ends, an interpreter is lost, or a request is refused. It must not throw. */
  onEvent?: ((event: ServerEvent) => void) | undefined;
  /**
   * Called with internal errors, which clients never see.
   *
   * @default they are dropped
   */
  onError?: ((error: unknown) => void) | undefined;
}

/** Parts of a server that a gateway beside it uses. They are no part of the public API. */
export interface GatewayParts {
  readonly sandboxes: KeyedSandboxes;
  readonly metrics: Metrics;
}

/** Returns the parts of a server that a gateway beside it uses. */
export let partsOf: (server: PaddockServer) => GatewayParts;

/**
 * The server of `paddock serve` as a request handler: sessions, envs and graders under `/v1`, the Model Context
 * Protocol at `/mcp`, and the routes of SandboxFusion, OpenEnv, E2B, NeMo-Skills and Piston.
 *
 * Without `tokens` it serves every request that reaches it. Without `hosts` it accepts any host name; a foreign web
 * page could then reach a server on the loopback interface by DNS rebinding.
 *
 * @example Handle a request without a socket
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { loadProfile, SandboxPool } from "@paddock/paddock";
 * import { PaddockServer } from "@paddock/paddock/server";
 *
 * await using pool = new SandboxPool({ profile: await loadProfile("serve"), size: 1 });
 * await using server = new PaddockServer({ pool, maxSessions: 1 });
 * const response = await server.fetch(
 *   new Request("http://localhost/run_code", {
 *     method: "POST",
 *     body: JSON.stringify({ code: "print(6 * 7)", language: "python" }),
 *   }),
 * );
 * const { run_result } = await response.json();
 * assertEquals(run_result.stdout, "42\n");
 * ```
 */
export class PaddockServer implements AsyncDisposable {
  /**
   * Handles a request. It needs no `this` and never rejects. The work of a request stops when its signal or
   * `connection.disconnected` aborts before the response.
   */
  readonly fetch: (request: Request, connection?: RequestConnection) => Promise<Response>;
  readonly #parts: ServerParts;
  readonly #ofGateway: GatewayParts;
  readonly #hibernation: HibernationSettings | undefined;

  /**
   * @throws {RangeError} if `maxSessions` is less than 1.
   * @throws {TypeError} if `mcpCheckpoints` is set and the pool has no checkpoints.
   */
  constructor(options: PaddockServerOptions) {
    requireKnownOptions("create PaddockServer", options, OPTIONS);
    const { openEnvTokenizer, openEnv, rollouts: offer, hibernation: limits, ...rest } = options;
    const metrics = new Metrics();
    const owners = options.tokens?.length;
    const onError = errorReporter(options.onError ?? (() => {}));
    const hibernation = this.#hibernation = limits &&
      openHibernation(options.pool, limits, { metrics, owners, onError });
    const keys = new SandboxKeys();
    const parts = this.#parts = makeServerParts({
      ...rest,
      onError,
      metrics,
      offer,
      hibernation,
      budgets: new Budgets({ bytes: options.bufferBytes, owners }),
      checkpointLimits: { bytes: options.checkpointBytes },
      secret: limits?.directory?.secret,
      keys: [keys],
      makeOpenEnv(sessions) {
        if (openEnvTokenizer) return chatKind(openEnvTokenizer);
        return openEnv === "repl" ? replKind(sessions) : undefined;
      },
    });
    this.#ofGateway = { metrics, sandboxes: new KeyedSandboxes(parts.sessions, keys) };
    this.fetch = async (request, connection) => await parts.app.fetch(request, connection);
  }

  static {
    partsOf = (server) => server.#ofGateway;
  }

  /** Bytes of memory of the checkpoints, and of the sessions that hibernate. */
  get stateBytes(): number {
    return this.#parts.checkpoints.bytes() + (this.#hibernation?.store.bytes("memory") ?? 0);
  }

  /**
   * Saves the sessions that clients find by id in the state directory, and ends them. Programs are interrupted, and
   * further requests are refused. Returns how many sessions were saved, and why others could not be.
   */
  async suspend(): Promise<SuspendReport> {
    return await this.#parts.sessions.suspend();
  }

  /** Ends all envs and sessions, aborts their programs, and rejects waiting requests. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts[Symbol.asyncDispose]();
  }
}

/** Names of the options. */
const OPTIONS: Readonly<Record<keyof PaddockServerOptions, true>> = {
  toolFiles: true,
  openEnv: true,
  pool: true,
  maxSessions: true,
  maxSessionsPerToken: true,
  queue: true,
  waitMs: true,
  idleMs: true,
  maxEnvs: true,
  bufferBytes: true,
  checkpointBytes: true,
  hibernation: true,
  mcpCheckpoints: true,
  graders: true,
  tools: true,
  openEnvTokenizer: true,
  rollouts: true,
  runs: true,
  limits: true,
  formatClusterMetrics: true,
  onRequest: true,
  onEvent: true,
  onError: true,
  tokens: true,
  metricsToken: true,
  corsOrigins: true,
  hosts: true,
};
