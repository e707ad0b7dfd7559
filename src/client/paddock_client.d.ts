// Written by `deno task client-types` from `paddock_client.ts`. Do not edit.
// deno-lint-ignore-file verbatim-module-syntax
import type { GradeContext, Score } from "../rewards/grader.ts";
import type { Checkpoint, CheckpointEvery, CheckpointOptions } from "../sandbox/contract/checkpoint.ts";
import type { ExecOptions, ExecResult, ProgramOptions } from "../sandbox/contract/exec.ts";
import type { BranchingPool } from "../sandbox/contract/pool.ts";
import type {
  ClientTool,
  RemoteCheckpoint,
  RemoteLimits,
  RemoteRollout,
  RemoteRolloutOptions,
  RemoteSessionInfo,
  ServerApiOptions,
} from "./client_options.ts";
import type { RemoteGateway } from "./gateway_types.ts";
import { RemoteLease } from "./remote_lease.ts";
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
export type BatchOutcome = {
  readonly result: ExecResult;
  readonly error?: undefined;
} | {
  readonly error: Error;
  readonly result?: undefined;
};
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
export declare class PaddockClient implements BranchingPool, AsyncDisposable {
  #private;
  /**
   * @throws {TypeError} if the URL is not an http or https URL.
   * @throws {RangeError} if a limit is out of range.
   */
  constructor(options: PaddockClientOptions);
  /**
   * Opens a session. The call waits until the server has a free session, without limit unless a signal aborts. The
   * order of waiting clients is not guaranteed.
   *
   * @throws {RequestError} if no session can be opened.
   */
  acquire(options?: AcquireOptions): Promise<RemoteLease>;
  /**
   * Returns a lease of a session that is open, by its id, without a request: such as a session with an exec that has
   * waited since an earlier process. The lease has no tools to run, and ends the session as each lease does.
   */
  attach(id: string): RemoteLease;
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
  get gateway(): RemoteGateway;
  /**
   * Lists the checkpoints of this client's token, least recently used first.
   *
   * @throws {RequestError} if the request fails.
   */
  listCheckpoints(options?: {
    signal?: AbortSignal | undefined;
  }): Promise<RemoteCheckpoint[]>;
  /**
   * Deletes a checkpoint. Does nothing if the server does not keep the checkpoint.
   *
   * @throws {RequestError} if the request fails.
   */
  deleteCheckpoint(id: string, options?: {
    signal?: AbortSignal | undefined;
  }): Promise<void>;
  /**
   * Imports the bytes of a checkpoint, of at most 32 MiB. The host of the server must have signed it for the client's
   * token.
   *
   * @throws {CheckpointError} if the server must not restore the checkpoint, or if the checkpoint is damaged.
   * @throws {RequestError} if the request fails, or the server has no room for the checkpoint.
   */
  readCheckpoint(bytes: Uint8Array, options?: CheckpointOptions): Promise<RemoteCheckpoint>;
  /**
   * Runs a program in a session of its own, in a single request. The call waits until the server has a free session.
   * With `onOutput` the request is not sent again once the request may have arrived.
   *
   * @throws {RequestError} if the request fails.
   */
  exec(code: string, options?: RemoteExecOptions): Promise<ExecResult>;
  /**
   * Lists the sessions of this client's token that have this metadata, oldest first.
   *
   * @throws {RequestError} if the request fails.
   */
  listSessions(options?: Pick<AcquireOptions, "metadata" | "signal">): Promise<RemoteSessionInfo[]>;
  /**
   * Runs many programs in a single request and returns their outcomes in order. Programs of a session run in turn. The
   * error of a program does not affect the others.
   *
   * @throws {RequestError} if the request fails.
   */
  execBatch(programs: readonly BatchProgram[], options?: {
    signal?: AbortSignal | undefined;
  }): Promise<BatchOutcome[]>;
  /**
   * Scores a conversation with a grader of the server. The score is `null` if no score can be computed.
   *
   * @throws {TypeError} if there is no such grader, or the grader cannot grade this task.
   */
  grade(grader: string, context: GradeContext): Promise<Score>;
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
  rollout(
    options: RemoteRolloutOptions & {
      signal?: AbortSignal | undefined;
    },
  ): RemoteRollout;
  /** Ends all sessions, leased or not, and waits until the server has confirmed the end. */
  [Symbol.asyncDispose](): Promise<void>;
}
