import type { Tokenizer } from "../chat/tokenizer.ts";
import type { Grader } from "../rewards/grader.ts";
import type { SessionPool } from "../sandbox/exec.ts";
import type { Tool } from "../tools/tool.ts";
import type { AccessOptions } from "./access.ts";
import { chatKind } from "./adapters/openenv/chat_env.ts";
import { paddockApp } from "./app.ts";
import { EnvService } from "./env_service.ts";
import { faultReport } from "./fault_report.ts";
import { Metrics } from "./metrics.ts";
import type { RequestLimits } from "./request_limits.ts";
import { SessionService } from "./session_service.ts";

/** What a {@linkcode PaddockServer} serves, to whom, and how much of it. */
export interface PaddockServerOptions extends AccessOptions {
  /** Where programs run. It must have `maxSessions` interpreters, and stays its owner's. */
  pool: SessionPool;
  /** Sessions at once, those of a single program and of envs included. */
  maxSessions: number;
  /** Of these at once for one token; all unless given. */
  maxSessionsEach?: number | undefined;
  /** Requests that may wait for a session; 64 unless given. */
  queue?: number | undefined;
  /** Milliseconds that a request waits for a session before it is told to come again; 30,000 unless given. */
  waitMs?: number | undefined;
  /** Milliseconds after which a session, or an env, that nobody uses ends; 600,000 unless given. */
  idleMs?: number | undefined;
  /** Envs at once; 1024 unless given. */
  maxEnvs?: number | undefined;
  /** Who may score, by name, each made when the first asks for it. Those that run Python need pools of their own. */
  graders?: ReadonlyMap<string, () => Grader> | undefined;
  /** What envs may call. They stay their owner's, and everybody who is served shares them. */
  tools?: readonly Tool[] | undefined;
  /** Has OpenEnv's paths serve its chat env, with this tokenizer, in place of its coding env. */
  openEnvTokenizer?: Tokenizer | undefined;
  /** What a request may be. */
  limits?: Partial<RequestLimits> | undefined;
  /** Told of what failed in the server, which nobody who asks is told. */
  onFault?: ((error: unknown) => void) | undefined;
}

/**
 * The server of `paddock serve` as a function of requests: sessions, envs and graders under `/v1`, the Model Context
 * Protocol at `/mcp`, and the paths of SandboxFusion, OpenEnv, E2B, NeMo-Skills and Piston.
 *
 * Without `tokens` it serves everybody who reaches it; without `hosts` it answers to any name, and a page of a
 * stranger's could reach a server on the loopback by a name of its own.
 *
 * ```ts
 * import { loadProfile, PaddockServer, SandboxPool } from "@paddock/paddock";
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
 * if (run_result.stdout !== "42\n") throw new Error(JSON.stringify(run_result));
 * ```
 */
export class PaddockServer implements AsyncDisposable {
  /**
   * Answers a request; it needs no `this`, and never rejects. What the request wants stops when its signal, or
   * `gone`, is aborted before it is answered.
   */
  readonly fetch: (request: Request, gone?: AbortSignal) => Promise<Response>;
  readonly #sessions: SessionService;
  readonly #envs: EnvService;

  /** @throws {RangeError} when there is not at least one session. */
  constructor(options: PaddockServerOptions) {
    const { openEnvTokenizer, ...others } = options;
    const rest = { ...others, onFault: faultReport(options.onFault ?? (() => {})) };
    const metrics = new Metrics();
    const sessions = new SessionService({ ...rest, metrics });
    const envs = new EnvService({ ...rest, sessions, metrics });
    const openEnv = openEnvTokenizer && chatKind(openEnvTokenizer);
    const app = paddockApp({ ...rest, sessions, envs, metrics, openEnv });
    this.fetch = async (request, gone) => await app.fetch(request, gone && { gone });
    this.#sessions = sessions;
    this.#envs = envs;
  }

  /** Ends every env and every session; what runs in one is cut short, and who waits for one is told. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#envs[Symbol.asyncDispose](), this.#sessions[Symbol.asyncDispose]()]);
  }
}
