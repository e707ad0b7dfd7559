import * as z from "zod";
import { MAX_TIMER_MS } from "../async/abort.ts";
import { readLines } from "../read_lines.ts";
import type { InteractionResult } from "../rollout/interaction.ts";
import { toBase64Files } from "../sandbox/contract/wire_forms.ts";
import {
  forkedGatewaySessionsSchema,
  gatewayPauseSchema,
  gatewaySessionSchema,
  gatewaySessionsSchema,
  gatewayStatsSchema,
  openedGatewaySessionSchema,
  type RowFormat,
} from "../wire/v1_gateway.ts";
import type {
  GatewayRequestOptions,
  GatewayRowsOptions,
  GatewaySessionHandle,
  GatewaySessionState,
  GatewayTests,
  OpenGatewaySessionOptions,
  RemoteGateway,
  RemoteGatewaySession,
} from "./gateway_types.ts";
import { Handoff } from "./handoff.ts";
import { RequestError } from "./request_error.ts";
import { type BodyChunks, MAX_RESPONSE_BYTES, parseResponse } from "./responses.ts";
import type { ServerApi } from "./server_api.ts";

const SESSIONS = "/gateway/sessions";

/** What distinguishes a row; the rest is the gateway's record of it. */
const identity = z.looseObject({ id: z.string(), task_id: z.string(), status: z.string() });
const rowSchema = z.union([
  z.looseObject({ extra_fields: identity }).transform((row) => ({ id: row.extra_fields.id, row })), // of verl
  identity.transform((row) => ({ id: row.id, row })),
]);

/** The gateway of a server, by its HTTP API. */
export class GatewayClient implements RemoteGateway {
  readonly #api: ServerApi;
  readonly #stop: AbortSignal;

  constructor(api: ServerApi, stop: AbortSignal) {
    this.#api = api;
    this.#stop = stop;
  }

  /** {@inheritDoc RemoteGateway.open} */
  async open(options: OpenGatewaySessionOptions): Promise<RemoteGatewaySession> {
    const { signal, samplingFrom, toolChoice, idleSeconds, ...rest } = options;
    const body = {
      ...rest,
      sampling_from: samplingFrom,
      tool_choice: toolChoice,
      idle_seconds: idleSeconds,
    };
    const opened = await this.#api.post(SESSIONS, body, {
      action: "open gateway session",
      schema: openedGatewaySessionSchema,
      signal: this.#signal(signal),
      onLateResponse: (opened) => this.#session(opened).delete(),
    });
    return this.#session(opened);
  }

  /** {@inheritDoc RemoteGateway.attach} */
  attach(id: string): GatewaySessionHandle {
    return new SessionHandle(this.#api, id, (signal) => this.#signal(signal));
  }

  /** {@inheritDoc RemoteGateway.sessions} */
  async sessions({ signal }: GatewayRequestOptions = {}): Promise<GatewaySessionState[]> {
    const action = "list gateway sessions";
    const bytes = await this.#api.get(SESSIONS, { action, signal: this.#signal(signal) });
    return parseResponse(action, new TextDecoder().decode(bytes), gatewaySessionsSchema).sessions;
  }

  /** {@inheritDoc RemoteGateway.rows} */
  rows(options: GatewayRowsOptions = {}): AsyncGenerator<InteractionResult> {
    return this.#stream("slime", options);
  }

  /** {@inheritDoc RemoteGateway.rowsFor} */
  rowsFor(
    trainer: "verl" | "trl",
    options: GatewayRowsOptions = {},
  ): AsyncGenerator<Record<string, unknown>> {
    return this.#stream(trainer, options);
  }

  async *#stream<Row>(
    format: RowFormat,
    { follow = false, signal }: GatewayRowsOptions,
  ): AsyncGenerator<Row> {
    const leave = new AbortController();
    const handoff = new Handoff<Row>();
    const seen = new Set<string>(); // a stream that broke off is read again from its start
    const read = async (body: BodyChunks) => {
      for await (const { id, row } of readRows<Row>(body)) {
        if (seen.has(id)) continue;
        seen.add(id);
        await handoff.give(row);
      }
    };
    const request = this.#api.getStream(`/gateway/rows?format=${format}&follow=${follow}`, {
      action: ROWS,
      timeoutMs: follow ? MAX_TIMER_MS : undefined,
      signal: AbortSignal.any([leave.signal, this.#signal(signal)]),
      read,
    });
    const failure = request.then(() => undefined, (error: unknown) => ({ error })).finally(() =>
      handoff.end()
    );
    try {
      yield* handoff;
      const failed = await failure;
      if (failed !== undefined) throw failed.error;
    } finally {
      leave.abort();
      handoff.end();
      await failure;
    }
  }

  /** {@inheritDoc RemoteGateway.pause} */
  async pause({ signal }: GatewayRequestOptions = {}): Promise<void> {
    await this.#api.post("/gateway/pause", {}, {
      action: "pause gateway",
      schema: gatewayPauseSchema,
      signal: this.#signal(signal),
    });
  }

  /** {@inheritDoc RemoteGateway.resume} */
  async resume(
    { policyVersion, signal }: GatewayRequestOptions & { policyVersion?: number | string | undefined } = {},
  ): Promise<void> {
    await this.#api.post("/gateway/resume", { policy_version: policyVersion }, {
      action: "resume gateway",
      schema: gatewayPauseSchema,
      signal: this.#signal(signal),
    });
  }

  /** {@inheritDoc RemoteGateway.stats} */
  async stats({ signal }: GatewayRequestOptions = {}): Promise<z.output<typeof gatewayStatsSchema>> {
    const action = "count gateway sessions";
    const bytes = await this.#api.get("/gateway/stats", { action, signal: this.#signal(signal) });
    return parseResponse(action, new TextDecoder().decode(bytes), gatewayStatsSchema);
  }

  #session(opened: z.output<typeof openedGatewaySessionSchema>): GatewaySessionClient {
    return new GatewaySessionClient(this.#api, opened, (signal) => this.#signal(signal));
  }

  #signal(signal: AbortSignal | undefined): AbortSignal {
    return signal ? AbortSignal.any([signal, this.#stop]) : this.#stop;
  }
}

const ROWS = "read rows";

/** Returns a signal that also aborts when the client is disposed. */
type WithStop = (signal: AbortSignal | undefined) => AbortSignal;

async function* readRows<Row>(body: BodyChunks): AsyncGenerator<{ readonly id: string; readonly row: Row }> {
  for await (const line of readLines(body, { maxBytes: MAX_RESPONSE_BYTES })) {
    if ("fault" in line) throw new RequestError(`Cannot ${ROWS} as ${line.fault}`, { code: "bad_response" });
    if (line.text === "") continue;
    const { id, row } = parseResponse(ROWS, line.text, rowSchema);
    yield { id, row: row as unknown as Row };
  }
}

/** A session, by the HTTP API of its gateway. */
class SessionHandle implements GatewaySessionHandle {
  readonly id: string;
  readonly #api: ServerApi;
  readonly #signal: WithStop;

  constructor(api: ServerApi, id: string, signal: WithStop) {
    this.#api = api;
    this.#signal = signal;
    this.id = id;
  }

  async reward(
    reward: number | null,
    { parts, signal }: GatewayRequestOptions & {
      parts?: Readonly<Record<string, number | null>> | undefined;
    } = {},
  ): Promise<GatewaySessionState> {
    return await this.#end({ reward, reward_parts: parts }, { action: "reward session", signal });
  }

  async grade(
    grader: string,
    { file, signal }: GatewayRequestOptions & { file?: string | undefined } = {},
  ): Promise<GatewaySessionState> {
    return await this.#end({ grader, file }, { action: "grade session", signal });
  }

  async test(
    { code, files, timeoutSeconds }: GatewayTests,
    { signal }: GatewayRequestOptions = {},
  ): Promise<GatewaySessionState> {
    const tests = { code, files: files && toBase64Files(files), timeout_seconds: timeoutSeconds };
    return await this.#end({ tests }, { action: "test session", signal });
  }

  async state({ signal }: GatewayRequestOptions = {}): Promise<GatewaySessionState> {
    const action = "get session";
    const bytes = await this.#api.get(this.#path, { action, signal: this.#signal(signal) });
    return parseResponse(action, new TextDecoder().decode(bytes), gatewaySessionSchema);
  }

  async rows({ signal }: GatewayRequestOptions = {}): Promise<InteractionResult[]> {
    return await this.#api.getStream(`${this.#path}/rows`, {
      action: ROWS,
      signal: this.#signal(signal),
      read: (body) => Array.fromAsync(readRows<InteractionResult>(body), ({ row }) => row),
    });
  }

  async fork(count: number, { signal }: GatewayRequestOptions = {}): Promise<RemoteGatewaySession[]> {
    const { sessions } = await this.#api.post(`${this.#path}/fork`, { count }, {
      action: "fork session",
      schema: forkedGatewaySessionsSchema,
      signal: this.#signal(signal),
    });
    return sessions.map((opened) => new GatewaySessionClient(this.#api, opened, this.#signal));
  }

  async delete({ signal }: GatewayRequestOptions = {}): Promise<void> {
    const options = { action: "delete session", signal: this.#signal(signal), onMissing: () => {} };
    await this.#api.delete(this.#path, options);
  }

  get #path(): string {
    return `${SESSIONS}/${encodeURIComponent(this.id)}`;
  }

  async #end(
    body: object,
    { action, signal }: { action: string; signal: AbortSignal | undefined },
  ): Promise<GatewaySessionState> {
    return await this.#api.post(`${this.#path}/reward`, body, {
      action,
      schema: gatewaySessionSchema,
      signal: this.#signal(signal),
    });
  }
}

/** One run of an agent, by the HTTP API of its gateway. */
class GatewaySessionClient extends SessionHandle implements RemoteGatewaySession {
  readonly key: string;
  readonly model: string;
  readonly openaiUrl: string;
  readonly anthropicUrl: string;
  readonly sandbox: RemoteGatewaySession["sandbox"];

  constructor(
    api: ServerApi,
    { id, key, model, base_urls, sandbox }: z.output<typeof openedGatewaySessionSchema>,
    signal: WithStop,
  ) {
    super(api, id, signal);
    this.key = key;
    this.model = model;
    this.openaiUrl = base_urls.openai;
    this.anthropicUrl = base_urls.anthropic;
    this.sandbox = sandbox &&
      { id: sandbox.id, e2bId: sandbox.e2b_id, e2bApiKey: sandbox.e2b_api_key, url: sandbox.url };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.delete();
  }
}
