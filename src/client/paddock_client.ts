import { requireKnownOptions } from "../options.ts";
import { ArgumentTypeError } from "../errors.ts";
import { RequestError } from "./request_error.ts";
import { messageText } from "../message.ts";
import type { GradeContext, Score } from "../rewards/grader.ts";
import type { Checkpoint, CheckpointEvery, CheckpointOptions } from "../sandbox/contract/checkpoint.ts";
import type { ExecOptions, ExecResult, ProgramOptions } from "../sandbox/contract/exec.ts";
import { EXEC_FIELDS } from "../sandbox/contract/exec_fields.ts";
import type { CheckpointMemoryOptions } from "../sandbox/checkpoint/state_memory.ts";
import type { BranchingPool, SandboxAcquireOptions } from "../sandbox/contract/pool.ts";
import { checkEvery, checkSeed } from "../sandbox/exec/exec_check.ts";
import { scoreSchema } from "../wire/v1_grade.ts";
import { sessionListSchema } from "../wire/v1_sessions.ts";
import { toRefusalError } from "./attempt.ts";
import type {
  ClientTool,
  RemoteCheckpoint,
  RemoteLimits,
  RemoteRollout,
  RemoteRolloutOptions,
  RemoteSessionInfo,
  ServerApiOptions,
} from "./client_options.ts";
import { GatewayClient } from "./gateway_client.ts";
import type { RemoteGateway } from "./gateway_types.ts";
import { ClientTools } from "./client_tools.ts";
import { readOutput } from "./event_stream.ts";
import { RolloutReader } from "./remote_rollout.ts";
import { checkOwner, toRemoteCheckpoint } from "./remote_checkpoint.ts";
import { RemoteLease } from "./remote_lease.ts";
import { checkRemoteExec, RemoteSession } from "./remote_session.ts";
import {
  batchResponse,
  type BodyChunks,
  checkpointListResponse,
  checkpointResponse,
  execResponse,
  parseResponse,
  sessionResponse,
} from "./responses.ts";
import { ServerApi } from "./server_api.ts";

/** Options of {@linkcode PaddockClient}. */
export type PaddockClientOptions = ServerApiOptions;

/** Options of {@linkcode PaddockClient.exec}. */
export interface RemoteExecOptions extends ProgramOptions, Pick<ExecOptions, "signal" | "onOutput"> {
  /** Makes the program's randomness reproducible. */
  seed?: number | undefined;
  /** Limits of the program, within the server's limits. */
  limits?: RemoteLimits | undefined;
}

/** Options of {@linkcode PaddockClient.acquire}. */
export interface AcquireOptions {
  /** Makes the session's randomness reproducible. */
  seed?: number | undefined;
  /** Checkpoint of this server. The session starts with the checkpoint's state. */
  from?: Checkpoint | undefined;
  /**
   * When the server takes checkpoints of the session: after every exec, command and written file (`exec`), or so many
   * seconds after the last checkpoint. If the interpreter is lost, the session returns to the last checkpoint, and the
   * result has `restoredFrom`.
   *
   * @default never: a lost interpreter is replaced by a fresh one
   */
  checkpointEvery?: CheckpointEvery | undefined;
  /**
   * Seconds after which the session ends, used or not, at most a day.
   *
   * @default the session ends when idle for the server's idle time
   */
  ttlSeconds?: number | undefined;
  /** Limits of the session's programs, within the server's limits. */
  limits?: RemoteLimits | undefined;
  /** Texts by name, by which {@linkcode PaddockClient.listSessions} finds the session. */
  metadata?: Readonly<Record<string, string>> | undefined;
  /**
   * Functions of this process that the session's programs may call as `paddock.tools.<name>`. Every `exec` of such a
   * session is streamed, so a request is not sent again once the request may have arrived. The server's profile must
   * have `hostTools`.
   */
  tools?: readonly ClientTool[] | undefined;
  signal?: AbortSignal | undefined;
}

/** Program of a batch. */
export interface BatchProgram extends ProgramOptions {
  readonly code: string;
  /**
   * Id of the lease in whose session the program runs.
   *
   * @default a new interpreter
   */
  readonly session?: string | undefined;
}

/** Outcome of a program of a batch: the result, or the error why the program did not run. */
export type BatchOutcome =
  | { readonly result: ExecResult; readonly error?: undefined }
  | { readonly error: Error; readonly result?: undefined };

/**
 * A pool whose sessions run on a server (`paddock serve`). A client can replace a `SandboxPool` everywhere, except for
 * host tools of an exec: the tools of a session are given to `acquire()`. Checkpoints stay on the server, bound to the
 * client's token.
 *
 * Requests are retried if the connection fails, or if the server is busy (429, 504) or failed (503). Each request has
 * an id, so that the server runs a request once; only a program whose sandbox failed may have started before. An exec
 * with `onOutput` has no id and is not sent again once the request may have arrived. The output of a shell command is
 * reported at the command's end.
 *
 * Invalid responses, unreachable servers and ended sessions are reported as {@linkcode RequestError}. A session ends
 * when idle for too long or when the server restarts.
 *
 * @example Run a program on a server
 * ```ts
 * import { PaddockClient } from "@paddock/paddock/client";
 *
 * async function run(code: string, token: string) {
 *   await using client = new PaddockClient({ url: "https://paddock.example.org", token });
 *   await using lease = await client.acquire({ seed: 7 });
 *   return await lease.session.exec(code, { timeoutMs: 2_000 });
 * }
 * ```
 */
export class PaddockClient implements BranchingPool, AsyncDisposable {
  readonly #api: ServerApi;
  readonly #leases = new Set<RemoteLease>();
  readonly #stop = new AbortController();

  /**
   * @throws {TypeError} if the URL is not an http or https URL.
   * @throws {RangeError} if a limit is out of range.
   */
  constructor(options: PaddockClientOptions) {
    requireKnownOptions("create PaddockClient", options, {
      url: true,
      token: true,
      retries: true,
      backoffMs: true,
      responseTimeoutMs: true,
      fetch: true,
    });
    this.#api = new ServerApi(options);
  }

  /**
   * Opens a session. The call waits until the server has a free session, without limit unless a signal aborts. The
   * order of waiting clients is not guaranteed.
   *
   * @throws {RequestError} if no session can be opened.
   */
  async acquire(options: AcquireOptions = {}): Promise<RemoteLease> {
    requireKnownOptions("acquire session", options, ACQUIRE_OPTIONS);
    const { seed, from, checkpointEvery, ttlSeconds, limits, metadata } = options;
    checkSeed(seed);
    checkEvery(checkpointEvery);
    if (from && seed !== undefined) {
      throw new ArgumentTypeError("Cannot acquire session as only one of 'seed' and 'from' may be given");
    }
    const tools = options.tools && new ClientTools(options.tools);
    const signal = this.#signal(options.signal);
    const { id } = await this.#api.post("/sessions", {
      seed,
      from: from?.id,
      checkpointEvery,
      ttlSeconds,
      limits,
      metadata,
      tools: tools?.specs,
    }, {
      action: "acquire session",
      schema: sessionResponse,
      signal,
      waitWhileFull: true,
      onLateResponse: ({ id }) => this.#lease(id, tools)[Symbol.asyncDispose](),
    });
    const lease = this.#lease(id, tools);
    if (!signal.aborted) return lease;
    await lease[Symbol.asyncDispose](); // the caller never receives it
    throw signal.reason;
  }

  /**
   * Returns a lease of a session that is open, by its id, without a request: such as a session with an exec that has
   * waited since an earlier process. The lease has no tools to run, and ends the session as each lease does.
   */
  attach(id: string): RemoteLease {
    return this.#lease(id, undefined);
  }

  /**
   * The gateway of the server: sessions in which agents ask a model, and their rows for a trainer.
   *
   * @example
   * ```ts
   * import { PaddockClient } from "@paddock/paddock/client";
   *
   * async function play(client: PaddockClient, agent: (baseUrl: string, apiKey: string) => Promise<string>) {
   *   await using session = await client.gateway.open({ task: { id: "sum", answer: "5" } });
   *   const text = await agent(session.openaiUrl, session.key);
   *   await session.reward(text.includes("5") ? 1 : 0);
   *   return await session.rows();
   * }
   * ```
   */
  get gateway(): RemoteGateway {
    return new GatewayClient(this.#api, this.#stop.signal);
  }

  /**
   * Lists the checkpoints of this client's token, least recently used first.
   *
   * @throws {RequestError} if the request fails.
   */
  async listCheckpoints(options: { signal?: AbortSignal | undefined } = {}): Promise<RemoteCheckpoint[]> {
    const action = "list checkpoints";
    const bytes = await this.#api.get("/checkpoints", { action, signal: this.#signal(options.signal) });
    const { checkpoints } = parseResponse(action, new TextDecoder().decode(bytes), checkpointListResponse);
    return checkpoints.map((info) => toRemoteCheckpoint(this.#api, info));
  }

  /**
   * Deletes a checkpoint. Does nothing if the server does not keep the checkpoint.
   *
   * @throws {RequestError} if the request fails.
   */
  async deleteCheckpoint(id: string, options: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    await this.#api.delete(`/checkpoints/${encodeURIComponent(id)}`, {
      action: "delete checkpoint",
      signal: this.#signal(options.signal),
      onMissing: () => {},
    });
  }

  /**
   * Imports the bytes of a checkpoint, of at most 32 MiB. The host of the server must have signed it for the client's
   * token.
   *
   * @throws {CheckpointError} if the server must not restore the checkpoint, or if the checkpoint is damaged.
   * @throws {RequestError} if the request fails, or the server has no room for the checkpoint.
   */
  async readCheckpoint(bytes: Uint8Array, options: CheckpointOptions = {}): Promise<RemoteCheckpoint> {
    checkOwner(options);
    const info = await this.#api.post("/checkpoints", new Uint8Array(bytes), {
      action: "import checkpoint",
      schema: checkpointResponse,
      signal: this.#signal(options.signal),
    });
    return toRemoteCheckpoint(this.#api, info);
  }

  /**
   * Runs a program in a session of its own, in a single request. The call waits until the server has a free session.
   * With `onOutput` the request is not sent again once the request may have arrived.
   *
   * @throws {RequestError} if the request fails.
   */
  async exec(code: string, options: RemoteExecOptions = {}): Promise<ExecResult> {
    const { seed, limits, ...program } = options;
    const { onOutput, timeoutMs } = program;
    checkRemoteExec(code, program);
    checkSeed(seed);
    const body = { code, ...EXEC_FIELDS.toJson(options), seed, limits };
    const request = { action: "exec", timeoutMs, signal: this.#signal(options.signal) };
    if (onOutput) {
      const read = (events: BodyChunks) => readOutput("exec", events, { onOutput });
      return await this.#api.stream("/exec/stream", body, { ...request, read });
    }
    return await this.#api.post("/exec", body, { ...request, schema: execResponse, waitWhileFull: true });
  }

  /**
   * Lists the sessions of this client's token that have this metadata, oldest first.
   *
   * @throws {RequestError} if the request fails.
   */
  async listSessions(
    options: Pick<AcquireOptions, "metadata" | "signal"> = {},
  ): Promise<RemoteSessionInfo[]> {
    requireKnownOptions("list sessions", options, { metadata: true, signal: true });
    const metadata = new URLSearchParams({ ...options.metadata }).toString();
    const action = "list sessions";
    const url = `/sessions${metadata && `?metadata=${encodeURIComponent(metadata)}`}`;
    const bytes = await this.#api.get(url, { action, signal: this.#signal(options.signal) });
    return parseResponse(action, new TextDecoder().decode(bytes), sessionListSchema).sessions;
  }

  /**
   * Runs many programs in a single request and returns their outcomes in order. Programs of a session run in turn. The
   * error of a program does not affect the others.
   *
   * @throws {RequestError} if the request fails.
   */
  async execBatch(
    programs: readonly BatchProgram[],
    options: { signal?: AbortSignal | undefined } = {},
  ): Promise<BatchOutcome[]> {
    requireKnownOptions("exec batch", options, { signal: true });
    for (const { code, session: _session, ...rest } of programs) checkRemoteExec(code, rest);
    const items = programs.map(({ code, session, ...rest }) => ({
      code,
      ...EXEC_FIELDS.toJson(rest),
      session,
    }));
    const { results } = await this.#api.post("/exec:batch", { items }, {
      action: "exec batch",
      schema: batchResponse,
      signal: this.#signal(options.signal),
      timeoutMs: programs.reduce((sum, { timeoutMs = 0 }) => sum + timeoutMs, 0),
    });
    if (results.length !== programs.length) {
      throw new RequestError(
        `Cannot exec batch as the response must have ${programs.length} results: found ${results.length}`,
        { code: "bad_response" },
      );
    }
    return results.map(({ status, result, error = { type: "", message: "" } }) =>
      result ? { result } : { error: toRefusalError("exec", { status, ...error }) }
    );
  }

  /**
   * Scores a conversation with a grader of the server. The score is `null` if no score can be computed.
   *
   * @throws {TypeError} if there is no such grader, or the grader cannot grade this task.
   */
  async grade(grader: string, context: GradeContext): Promise<Score> {
    const { task: { id, answer, reference, fields, query }, history } = context;
    const messages = [...history].map((message) => ({ role: message.role, content: messageText(message) }));
    const task = { id, answer, reference, fields, query: typeof query === "string" ? query : "" };
    return await this.#api.post("/grade", { grader, task, messages }, {
      action: "grade",
      schema: scoreSchema,
      signal: this.#signal(context.signal),
    });
  }

  /**
   * Plays episodes on the server, with a policy and an env that the operator allows. The items are the items of
   * `streamRollouts()`.
   *
   * @example
   * ```ts
   * import { PaddockClient } from "@paddock/paddock/client";
   *
   * async function train(client: PaddockClient, update: (advantages: unknown) => Promise<void>) {
   *   const policy = "sglang:http://127.0.0.1:30000";
   *   const tasks = [{ id: "product", query: "What is 6 times 7?", answer: "42" }];
   *   let weightVersion = 0;
   *   const rollout = client.rollout({ policy, tasks, grader: "gsm8k", samples: 8, weightVersion });
   *   for await (const item of rollout) {
   *     if (item.kind !== "group") continue;
   *     await update(item.episodes);
   *     await rollout.setWeightVersion(++weightVersion);
   *   }
   * }
   * ```
   */
  rollout(options: RemoteRolloutOptions & { signal?: AbortSignal | undefined }): RemoteRollout {
    requireKnownOptions("roll out", options, ROLLOUT_OPTIONS);
    return new RolloutReader(this.#api, { ...options, signal: this.#signal(options.signal) });
  }

  /** Ends all sessions, leased or not, and waits until the server has confirmed the end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("Cannot acquire session as the client is disposed"));
    await Promise.all([...this.#leases].map((lease) => lease[Symbol.asyncDispose]()));
    await this.#api[Symbol.asyncDispose]();
  }

  /** Leases the session of an id. */
  #lease(id: string, tools: ClientTools | undefined): RemoteLease {
    const session = new RemoteSession(this.#api, id, { tools, lease: (id) => this.#lease(id, tools) });
    const release = () => {
      this.#leases.delete(lease);
      session[Symbol.asyncDispose]();
    };
    const lease: RemoteLease = new RemoteLease(session, { id, release });
    this.#leases.add(lease);
    return lease;
  }

  #signal(signal: AbortSignal | undefined): AbortSignal {
    return signal ? AbortSignal.any([signal, this.#stop.signal]) : this.#stop.signal;
  }
}

/** Options of other pools, which a client may replace, are ignored: a server has separate owners and memory. */
const ACQUIRE_OPTIONS: Readonly<
  Record<keyof AcquireOptions | keyof SandboxAcquireOptions | keyof CheckpointMemoryOptions, true>
> = {
  owner: true,
  once: true,
  near: true,
  checkpointMemory: true,
  seed: true,
  from: true,
  checkpointEvery: true,
  ttlSeconds: true,
  limits: true,
  metadata: true,
  tools: true,
  signal: true,
};
const ROLLOUT_OPTIONS: Readonly<Record<keyof RemoteRolloutOptions | "signal", true>> = {
  policy: true,
  model: true,
  temperature: true,
  maxTokens: true,
  tasks: true,
  env: true,
  tools: true,
  toolCallers: true,
  toolNames: true,
  calls: true,
  grader: true,
  systemPrompt: true,
  maxTurns: true,
  timeoutMs: true,
  runUnlabeled: true,
  runThoughts: true,
  samples: true,
  concurrency: true,
  seed: true,
  weightVersion: true,
  partial: true,
  maxWaiting: true,
  maxWaitingBytes: true,
  cutScore: true,
  advantages: true,
  tokens: true,
  resumed: true,
  signal: true,
};
