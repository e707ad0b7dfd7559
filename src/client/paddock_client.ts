import { SerialQueue } from "../async/semaphore.ts";
import { SandboxError } from "../errors.ts";
import { messageText } from "../message.ts";
import type { GradeContext, Score } from "../rewards/grader.ts";
import type { ExecOptions, ExecResult, SessionPool } from "../sandbox/exec.ts";
import { checkSeed } from "../sandbox/exec_check.ts";
import { score } from "../wire/v1.ts";
import { toExecRequest } from "./exec_body.ts";
import { refusalError } from "./refusal.ts";
import { RemoteLease } from "./remote_lease.ts";
import { checkRemoteExec, RemoteSession } from "./remote_session.ts";
import { batchResponse, sessionResponse } from "./responses.ts";
import { ServerApi, type ServerApiOptions } from "./server_api.ts";

/** Where a {@linkcode PaddockClient} finds its server, and how it asks. */
export type PaddockClientOptions = ServerApiOptions;

/** A program of a batch. */
export interface BatchProgram extends Pick<ExecOptions, "timeoutMs" | "stdin" | "files" | "fetchFiles"> {
  readonly code: string;
  /** The session of a lease that it runs in; an interpreter of its own unless given. */
  readonly session?: string | undefined;
}

/** What became of a program of a batch: its result, or why it did not run. */
export type BatchOutcome =
  | { readonly result: ExecResult; readonly error?: undefined }
  | { readonly error: Error; readonly result?: undefined };

/**
 * A pool whose sessions are those of a `paddock serve`: what takes a `SandboxPool` takes this in its place, but for
 * host tools, which stay on the host.
 *
 * A request is sent again when the connection fails, or the server is busy (429, 504) or failed (503). It has an id,
 * so what was done is not done again; only a program whose sandbox failed may have begun before. An exec with
 * `onOutput` has none and is not sent again once it may have arrived. What a command line writes is told when it has
 * ended. What a server answers is checked; what does not fit is a `SandboxError`, as is a server that cannot be
 * reached, or a session that is gone: it ended as nobody used it, or the server has started anew.
 */
export class PaddockClient implements SessionPool, AsyncDisposable {
  /** {@inheritDoc SessionPool.pairQueue} */
  readonly pairQueue: SerialQueue = new SerialQueue();
  readonly #api: ServerApi;
  readonly #leases = new Set<RemoteLease>();
  readonly #stop = new AbortController();

  /**
   * @throws {TypeError} when the URL is no address of http or https.
   * @throws {RangeError} when a limit cannot be kept.
   */
  constructor(options: PaddockClientOptions) {
    this.#api = new ServerApi(options);
  }

  /**
   * Opens a session, or waits until the server has one free, which may be for ever without a signal. Who waits
   * long may be overtaken by others.
   *
   * @throws {SandboxError} when none can be opened.
   */
  async acquire(
    options: { seed?: number | undefined; signal?: AbortSignal | undefined } = {},
  ): Promise<RemoteLease> {
    const { seed } = options;
    checkSeed(seed);
    const signal = this.#signal(options.signal);
    const { id } = await this.#api.post("/sessions", { seed }, {
      doing: "acquire session",
      answer: sessionResponse,
      signal,
      waits: true,
      onLate: ({ id }) => new RemoteSession(this.#api, id)[Symbol.asyncDispose](),
    });
    const session = new RemoteSession(this.#api, id);
    if (signal.aborted) {
      await session[Symbol.asyncDispose](); // nobody else would
      throw signal.reason;
    }
    const giveBack = () => {
      this.#leases.delete(lease);
      session[Symbol.asyncDispose]();
    };
    const lease: RemoteLease = new RemoteLease(session, { id, giveBack });
    this.#leases.add(lease);
    return lease;
  }

  /**
   * Runs many programs in one request, and gives what became of each, in their order. Those of one session run one
   * after the other; one that cannot run has an error of its own and disturbs no other.
   *
   * @throws {SandboxError} when there is no answer.
   */
  async execBatch(
    programs: readonly BatchProgram[],
    options: { signal?: AbortSignal | undefined } = {},
  ): Promise<BatchOutcome[]> {
    for (const { code, ...rest } of programs) checkRemoteExec(code, rest);
    const items = programs.map(({ code, session, ...rest }) => ({ ...toExecRequest(code, rest), session }));
    const { results } = await this.#api.post("/exec:batch", { items }, {
      doing: "exec batch",
      answer: batchResponse,
      signal: this.#signal(options.signal),
      timeoutMs: programs.reduce((sum, { timeoutMs = 0 }) => sum + timeoutMs, 0),
    });
    if (results.length !== programs.length) {
      throw new SandboxError(
        `Cannot exec batch as the server must answer ${programs.length} programs: it answered ${results.length}`,
      );
    }
    return results.map(({ status, result, error = { type: "", message: "" } }) =>
      result ? { result } : { error: refusalError("exec", { status, ...error }) }
    );
  }

  /**
   * The score that the server's grader of this name gives a conversation; `null` when none can be given.
   *
   * @throws {TypeError} when there is no such grader, or it cannot grade this task.
   */
  async grade(grader: string, context: GradeContext): Promise<Score> {
    const { task: { id, answer, reference, fields, query }, history } = context;
    const messages = [...history].map((message) => ({ role: message.role, content: messageText(message) }));
    const task = { id, answer, reference, fields, query: typeof query === "string" ? query : "" };
    return await this.#api.post("/grade", { grader, task, messages }, {
      doing: "grade",
      answer: score,
      signal: this.#signal(context.signal),
    });
  }

  /** Ends every session, on loan or not, and waits until the server was told. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("Cannot acquire session as the client is disposed"));
    await Promise.all([...this.#leases].map((lease) => lease[Symbol.asyncDispose]()));
    await this.#api[Symbol.asyncDispose]();
  }

  #signal(signal: AbortSignal | undefined): AbortSignal {
    return signal ? AbortSignal.any([signal, this.#stop.signal]) : this.#stop.signal;
  }
}
