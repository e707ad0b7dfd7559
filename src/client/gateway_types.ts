import type { InteractionResult } from "../rollout/interaction.ts";

// Types only, so that a program with the client is checked without the schemas of the gateway.

/** Task of a session. */
export interface GatewayTask {
  readonly id: string;
  readonly query?: string | undefined;
  readonly answer?: string | number | undefined;
  /** Id of the group in which rewards are compared. */
  readonly group?: string | undefined;
  /** Input of a grader, such as tests. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined;
}

/** Options of {@linkcode RemoteGateway.open}. */
export interface OpenGatewaySessionOptions {
  readonly task: GatewayTask;
  /** Number of the session among the sessions of its task. @default 1 */
  readonly sample?: number | undefined;
  /** Parameters of sampling, with the names of the gateway's HTTP API. */
  readonly sampling?: Readonly<Record<string, unknown>> | undefined;
  /** Whose parameter counts if the session and the agent give one. @default "session" */
  readonly samplingFrom?: "session" | "request" | undefined;
  /** `auto`: the model chooses tools freely, whatever the agent demands. @default the demand is enforced */
  readonly toolChoice?: "auto" | undefined;
  /** What happens if the agent changes a message of the assistant. @default the gateway's choice */
  readonly rewritten?: "branch" | "keep" | "refuse" | undefined;
  /** Seconds without a request after which the session ends. @default the gateway's */
  readonly idleSeconds?: number | undefined;
  /** Sandbox that ends with the session. @default none */
  readonly sandbox?:
    | { readonly profile?: string | undefined; readonly seed?: number | undefined }
    | undefined;
  /** Grader that scores the session if `grade()` names none, as the body of the HTTP API. @default none */
  readonly grader?:
    | { readonly grader: string; readonly file?: string | undefined }
    | { readonly tests: { readonly code: string; readonly timeout_seconds?: number | undefined } }
    | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** State of a session. */
export interface GatewaySessionState {
  readonly id: string;
  readonly task_id: string;
  readonly group: string;
  readonly status: "open" | "completed" | "aborted";
  readonly created_at: string;
  readonly turns: number;
  readonly rows: number;
  readonly running: number;
  readonly reward: number | null;
  readonly reward_parts?: Readonly<Record<string, number | null>> | undefined;
  readonly unscored?: string | undefined;
  readonly sandbox?: { readonly id: string; readonly e2b_id: string } | undefined;
  readonly forked_from?: string | undefined;
  /** End of the output of tests, after {@linkcode RemoteGatewaySession.test}. */
  readonly output?: string | undefined;
}

/** Tests of what an agent left in the sandbox. */
export interface GatewayTests {
  /** Python program. The last value is the score; without a value, the score is 1 if the program raises nothing. */
  readonly code: string;
  /** Files that the program needs, by path. */
  readonly files?: Readonly<Record<string, Uint8Array | string>> | undefined;
  /** @default 60 */
  readonly timeoutSeconds?: number | undefined;
}

/** Options of a request to a gateway. */
export interface GatewayRequestOptions {
  readonly signal?: AbortSignal | undefined;
}

/** A session, for its owner. */
export interface GatewaySessionHandle {
  readonly id: string;
  /** Ends the session with a reward. `null` is a missing score, which is not 0. */
  reward(
    reward: number | null,
    options?: GatewayRequestOptions & { parts?: Readonly<Record<string, number | null>> | undefined },
  ): Promise<GatewaySessionState>;
  /**
   * Ends the session with the score of a grader, of the last reply or of a file in the sandbox.
   *
   * @param grader name of the grader; default: the grader with which the session was opened
   */
  grade(
    grader?: string,
    options?: GatewayRequestOptions & { file?: string | undefined },
  ): Promise<GatewaySessionState>;
  /** Ends the session with the score of tests, which see the files that the agent left. */
  test(tests: GatewayTests, options?: GatewayRequestOptions): Promise<GatewaySessionState>;
  /** Returns the state. */
  state(options?: GatewayRequestOptions): Promise<GatewaySessionState>;
  /** Returns the rows for a trainer. Rows of a session that has not ended have the status `aborted`. */
  rows(options?: GatewayRequestOptions): Promise<InteractionResult[]>;
  /** Opens copies, which know the turns so far, each with a copy of the sandbox. */
  fork(count: number, options?: GatewayRequestOptions): Promise<RemoteGatewaySession[]>;
  /** Ends the session, if open, and frees the memory. A session that is gone is no error. */
  delete(options?: GatewayRequestOptions): Promise<void>;
}

/** A run of an agent. Disposal deletes the session: a session that has not ended is then aborted. */
export interface RemoteGatewaySession extends GatewaySessionHandle, AsyncDisposable {
  /** API key of the agent. */
  readonly key: string;
  readonly model: string;
  /** Base URL of OpenAI's SDK, and of most others. */
  readonly openaiUrl: string;
  /** Base URL of Anthropic's SDK. */
  readonly anthropicUrl: string;
  /** Sandbox of the session, with the key and the URL for E2B's SDK. */
  readonly sandbox:
    | { readonly id: string; readonly e2bId: string; readonly e2bApiKey: string; readonly url: string }
    | undefined;
}

/** Options of {@linkcode RemoteGateway.rows}. */
export interface GatewayRowsOptions extends GatewayRequestOptions {
  /** True to wait for the rows of sessions that end later, until the loop or the signal ends. @default false */
  readonly follow?: boolean | undefined;
}

/** The gateway of a server, for the owner of its sessions. */
export interface RemoteGateway {
  /** Opens a session for a run of an agent. */
  open(options: OpenGatewaySessionOptions): Promise<RemoteGatewaySession>;
  /** Returns a session that is open, by id, without a request. */
  attach(id: string): GatewaySessionHandle;
  /** Returns the states of the owner's sessions, oldest first. */
  sessions(options?: GatewayRequestOptions): Promise<GatewaySessionState[]>;
  /** Yields the rows of the owner's sessions that have ended. */
  rows(options?: GatewayRowsOptions): AsyncGenerator<InteractionResult>;
  /** Yields these rows with the fields that verl's agent loop or TRL's rollout function return. */
  rowsFor(trainer: "verl" | "trl", options?: GatewayRowsOptions): AsyncGenerator<Record<string, unknown>>;
  /** Holds back samples of the owner's sessions, and resolves when none runs any more. */
  pause(options?: GatewayRequestOptions): Promise<void>;
  /** Lets samples go on. Later turns have the version, if given. */
  resume(options?: GatewayRequestOptions & { policyVersion?: number | string | undefined }): Promise<void>;
  /** Returns the owner's numbers of sessions, turns, rows and bytes. */
  stats(options?: GatewayRequestOptions): Promise<{
    readonly open: number;
    readonly ended: number;
    readonly turns: number;
    readonly rows: number;
    readonly bytes: number;
  }>;
}
