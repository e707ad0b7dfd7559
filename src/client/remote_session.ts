import { SerialQueue } from "../async/semaphore.ts";
import { ArgumentTypeError, SessionClosedError } from "../errors.ts";
import { RequestError } from "./request_error.ts";
import type {
  CaptureOptions,
  Checkpoint,
  CheckpointOptions,
  ForkOptions,
} from "../sandbox/contract/checkpoint.ts";
import type {
  ExecOptions,
  ExecResult,
  ResumeOptions,
  ToolAnswer,
  WaitingCall,
} from "../sandbox/contract/exec.ts";
import type { BranchingLease, BranchingSession, ResetOptions } from "../sandbox/contract/pool.ts";
import type { ShellOptions, ShellResult } from "../sandbox/contract/shell.ts";
import { checkOptionNames } from "../sandbox/contract/known_options.ts";
import { checkExec, EXEC_FIELDS, SHELL_FIELDS } from "../sandbox/contract/exec_fields.ts";
import { toBase64Files } from "../sandbox/contract/wire_forms.ts";
import {
  checkAnswer,
  checkContents,
  checkPath,
  checkResetMode,
  checkSeed,
  checkTimeout,
} from "../sandbox/exec/exec_check.ts";
import { fileListSchema, filesWrittenSchema, sessionInfoSchema } from "../wire/v1_sessions.ts";
import type { RemoteFile, RemoteFiles } from "./client_options.ts";
import { type ClientTools, RunningCalls, toWireAnswer } from "./client_tools.ts";
import { readOutput } from "./event_stream.ts";
import { checkOwner, toRemoteCheckpoint } from "./remote_checkpoint.ts";
import {
  checkpointResponse,
  emptyResponse,
  execResponse,
  forkResponse,
  parseResponse,
  shellResponse,
} from "./responses.ts";
import type { PostOptions, ServerApi } from "./server_api.ts";

/** Options of {@linkcode RemoteSession}. */
export interface RemoteSessionOptions {
  readonly tools?: ClientTools | undefined;
  /** Makes the lease of a copy of the session, by its id. */
  readonly lease: (id: string) => BranchingLease;
}

/** A session of a server. Calls run one after the other, in order. It throws the same errors as a local session. */
export class RemoteSession implements BranchingSession, RemoteFiles {
  readonly #api: ServerApi;
  readonly #path: string;
  readonly #leaseEnd = new AbortController();
  readonly #queue = new SerialQueue();
  readonly #tools: ClientTools | undefined;
  readonly #lease: RemoteSessionOptions["lease"];

  constructor(api: ServerApi, id: string, { tools, lease }: RemoteSessionOptions) {
    this.#api = api;
    this.#tools = tools;
    this.#lease = lease;
    this.#path = `/sessions/${encodeURIComponent(id)}`;
  }

  /** {@inheritDoc PythonSession.exec} */
  async exec(code: string, options: ExecOptions = {}): Promise<ExecResult> {
    const { timeoutMs, signal, onOutput, onDisplay } = options;
    checkRemoteExec(code, options);
    const body = { code, ...EXEC_FIELDS.toJson(options) };
    return await this.#enqueue(signal, async (signal) => {
      const request = { action: "exec", timeoutMs, signal };
      if (!onOutput && !onDisplay && (!this.#tools || options.suspendAt)) {
        return await this.#api.post(`${this.#path}/exec`, body, { ...request, schema: execResponse });
      }
      using calls = this.#tools && new RunningCalls(this.#api, { path: this.#path, tools: this.#tools });
      const read = (events: AsyncIterable<Uint8Array<ArrayBuffer>>) =>
        readOutput("exec", events, { onOutput, onDisplay, calls });
      return await this.#api.stream(`${this.#path}/stream`, body, { ...request, read });
    });
  }

  /** {@inheritDoc BranchingSession.resume} */
  async resume(answer: ToolAnswer, options: ResumeOptions = {}): Promise<ExecResult> {
    const { callId, timeoutMs, signal } = options;
    checkRemoteResume(answer, options);
    const request = { action: "resume exec", timeoutMs, schema: execResponse, signal };
    return await this.#post("/resume", { ...toWireAnswer(answer), callId, timeoutMs }, request);
  }

  /** {@inheritDoc BranchingSession.waitingCall} */
  async waitingCall(): Promise<WaitingCall | undefined> {
    const action = "get session";
    const bytes = await this.#get("", action);
    return parseResponse(action, new TextDecoder().decode(bytes), sessionInfoSchema).waiting;
  }

  /** {@inheritDoc PythonSession.shell} */
  async shell(command: string, options: ShellOptions = {}): Promise<ShellResult> {
    SHELL_FIELDS.checkNames(options);
    const { timeoutMs, silenceMs, stdin, signal, onOutput } = options;
    checkTimeout(silenceMs, "silenceMs");
    checkRemoteExec(command, { timeoutMs, stdin, signal });
    const request = { action: "run command", timeoutMs, schema: shellResponse, signal };
    const result = await this.#post("/shell", { command, ...SHELL_FIELDS.toJson(options) }, request);
    if (result.stdout !== "") await onOutput?.("stdout", result.stdout);
    if (result.stderr !== "") await onOutput?.("stderr", result.stderr);
    return result;
  }

  /** {@inheritDoc PythonSession.writeFile} */
  async writeFile(path: string, contents: Uint8Array | string): Promise<void> {
    checkPath(path);
    checkContents(path, contents);
    const body = { files: toBase64Files({ [path]: contents }) };
    await this.#post("/files", body, { action: `write '${path}'`, schema: filesWrittenSchema });
  }

  /** {@inheritDoc PythonSession.readFile} */
  async readFile(path: string): Promise<Uint8Array> {
    checkPath(path);
    return await this.#get(`/file?path=${encodeURIComponent(path.toWellFormed())}`, `read '${path}'`);
  }

  /** Lists the entries of a folder, at most 10,000; without a path, all files below the working directory. */
  async listFiles(path?: string): Promise<RemoteFile[]> {
    const action = path === undefined ? "list files" : `list '${path}'`;
    const query = path === undefined ? "" : `?path=${encodeURIComponent(path.toWellFormed())}`;
    const body = await this.#get(`/files${query}`, action);
    return parseResponse(action, new TextDecoder().decode(body), fileListSchema).files;
  }

  /** Removes a file, or a folder, which must be empty unless `recursive`. */
  async remove(path: string, { recursive = false }: { recursive?: boolean } = {}): Promise<void> {
    checkPath(path);
    const query = `path=${encodeURIComponent(path.toWellFormed())}&recursive=${recursive}`;
    const url = `${this.#path}/files?${query}`;
    await this.#enqueue(undefined, (signal) => this.#api.delete(url, { action: `remove '${path}'`, signal }));
  }

  /** Makes a folder and the folders above. */
  async makeDirectory(path: string): Promise<void> {
    checkPath(path);
    await this.#post("/directories", { path }, { action: `make folder '${path}'`, schema: emptyResponse });
  }

  /** {@inheritDoc PythonSession.reset} */
  async reset(options: ResetOptions = {}): Promise<void> {
    checkOptionNames("reset", options);
    const { mode, seed, signal } = options;
    checkResetMode(mode);
    checkSeed(seed);
    await this.#post("/reset", { mode, seed }, { action: "reset session", schema: emptyResponse, signal });
  }

  /** {@inheritDoc BranchingSession.checkpoint} */
  async checkpoint(options: CaptureOptions = {}): Promise<Checkpoint> {
    checkOptionNames("checkpoint", options);
    const { memory, signal } = options;
    checkOwner(options);
    const request = { action: "make checkpoint", schema: checkpointResponse, signal };
    const info = await this.#post("/checkpoint", { memory }, request);
    return toRemoteCheckpoint(this.#api, info);
  }

  /** {@inheritDoc BranchingSession.restore} */
  async restore(checkpoint: Checkpoint, options: CheckpointOptions = {}): Promise<void> {
    checkOptionNames("restore", options);
    checkOwner(options);
    const request = { action: "restore checkpoint", schema: emptyResponse, signal: options.signal };
    await this.#post("/restore", { checkpoint: checkpoint.id }, request);
  }

  /** {@inheritDoc BranchingSession.fork} */
  async fork(count: number, options: ForkOptions = {}): Promise<BranchingLease[]> {
    checkOptionNames("fork", options);
    const { seed, signal } = options;
    checkOwner(options);
    checkSeed(seed);
    const endAll = async (copies: readonly { id: string }[]) => {
      await Promise.all(copies.map(({ id }) => this.#lease(id)[Symbol.asyncDispose]()));
    };
    const { sessions } = await this.#post("/fork", { count, seed }, {
      action: "fork session",
      schema: forkResponse,
      signal,
      onLateResponse: ({ sessions }) => endAll(sessions),
    });
    if (sessions.length === count) return sessions.map(({ id }) => this.#lease(id));
    await endAll(sessions);
    throw new RequestError(
      `Cannot fork session as the response must have ${count} sessions: found ${sessions.length}`,
      { code: "bad_response" },
    );
  }

  /** Ends the session and rejects its pending calls. The request to the server is sent in the background. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#leaseEnd.abort(new SessionClosedError("Cannot use session as its lease is over"));
    this.#api.deleteInBackground(this.#path);
    return Promise.resolve();
  }

  async #get(path: string, action: string): Promise<Uint8Array> {
    return await this.#enqueue(
      undefined,
      (signal) => this.#api.get(`${this.#path}${path}`, { action, signal }),
    );
  }

  async #post<T>(path: string, body: object, options: PostOptions<T>): Promise<T> {
    const post = (signal: AbortSignal) =>
      this.#api.post(`${this.#path}${path}`, body, { ...options, signal });
    return await this.#enqueue(options.signal, post);
  }

  /** Runs `work` after all earlier work, with a signal that also aborts at the end of the lease. */
  async #enqueue<T>(
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const leaseEnd = this.#leaseEnd.signal;
    const combined = signal ? AbortSignal.any([signal, leaseEnd]) : leaseEnd;
    return await this.#queue.run(() => work(combined), { signal: combined });
  }
}

/** Validates arguments as a local session does. Also refuses tools of one exec: a session has tools. */
export function checkRemoteExec(code: string, options: ExecOptions): void {
  if (options.tools !== undefined && options.tools.length > 0) {
    throw new ArgumentTypeError(
      "Cannot grant host tools to one exec as the session must run in this process: it runs on a server, so give 'tools' to PaddockClient.acquire()",
    );
  }
  const refused = EXEC_FIELDS.refusedByServers(options);
  if (refused) {
    throw new ArgumentTypeError(`Cannot exec as a session of a server does not support '${refused}'`);
  }
  checkExec(code, options, { name: "server", hostTools: false });
}

/** Validates the arguments of a resume. A session of a server has its tools, and returns the output at the end. */
function checkRemoteResume(answer: ToolAnswer, options: ResumeOptions): void {
  checkOptionNames("resume", options);
  checkAnswer(answer);
  checkTimeout(options.timeoutMs);
  const refused = (["tools", "onOutput", "onDisplay"] as const).find((name) => options[name] !== undefined);
  if (refused) {
    throw new ArgumentTypeError(`Cannot resume exec as a session of a server does not support '${refused}'`);
  }
}
