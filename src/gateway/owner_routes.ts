import type { Hono, MiddlewareHandler } from "hono";
import * as z from "zod";
import { groupOf, type TaskInput, toTask } from "../task.ts";
import type { AppContext, AppEnv } from "../server/http/context.ts";
import { ServerError, toInvalidRequest } from "../server/http/http_errors.ts";
import { describeIssue } from "../schema_words.ts";
import { fromBase64Files } from "../sandbox/contract/wire_forms.ts";
import {
  forkGatewaySessionSchema,
  gatewayRewardSchema,
  gatewayRowsQuerySchema,
  type gatewaySamplingSchema,
  type gatewaySessionSchema,
  type openedGatewaySessionSchema,
  openGatewaySessionSchema,
  resumeGatewaySchema,
} from "../wire/v1_gateway.ts";
import type { Gateway } from "./gateway.ts";
import type { LiveSession } from "./live_session.ts";
import { streamRows } from "./row_stream.ts";
import type { SessionEnd } from "./session/session_row.ts";
import { e2bKeyOf } from "./session_keys.ts";

/** Path of the routes of owners. */
const SESSIONS = "/v1/gateway/sessions";

/** Refuses the keys of sessions. It stands before all that keeps responses of an owner. */
export function requireOwner(): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    if (c.get("grant") === undefined) return await next();
    throw new ServerError(
      "forbidden",
      "The key of a session opens the routes of the model only: send the owner's token",
    );
  };
}

/** Adds the routes of owners: they open and end sessions and read rows. */
export function addOwnerRoutes(app: Hono<AppEnv>, gateway: Gateway): void {
  app.post(SESSIONS, async (c) => {
    const { task, sampling, sampling_from, tool_choice, idle_seconds, ...rest } = await readBody(
      c,
      openGatewaySessionSchema,
    );
    const live = await gateway.open({
      ...rest,
      owner: c.get("owner"),
      task: toTask(task as TaskInput),
      sampling: sampling && toSampling(sampling),
      samplingFrom: sampling_from,
      toolChoice: tool_choice,
      idleMs: idle_seconds === undefined ? undefined : idle_seconds * 1000,
    }, { signal: c.get("signal") });
    return c.json(openedBody(c, live, gateway), 201);
  });
  app.get(SESSIONS, (c) => c.json({ sessions: gateway.list(c.get("owner")).map(describe) }));
  app.get(`${SESSIONS}/:id`, (c) => c.json(describe(sessionOf(c, gateway))));
  app.get(`${SESSIONS}/:id/rows`, (c) => {
    const { format } = readQuery(c, gatewayRowsQuerySchema);
    return rowResponse(streamRows({ format, ended: [sessionOf(c, gateway)] }));
  });
  app.get("/v1/gateway/rows", (c) => {
    const { format, follow } = readQuery(c, gatewayRowsQuerySchema);
    const owner = c.get("owner");
    const ended = gateway.list(owner).filter(({ session }) => session.end !== undefined);
    c.set("isCounted", true); // the rows are made as the client reads them
    return rowResponse(streamRows({
      format,
      ended,
      follow: follow === "true" ? (onEnd) => gateway.follow(owner, onEnd) : undefined,
    }));
  });
  app.post(`${SESSIONS}/:id/fork`, async (c) => {
    const live = sessionOf(c, gateway);
    const { count } = await readBody(c, forkGatewaySessionSchema);
    const copies = await forkAll(gateway, live, { count, signal: c.get("signal") });
    return c.json({ sessions: copies.map((copy) => openedBody(c, copy, gateway)) }, 201);
  });
  app.post(`${SESSIONS}/:id/reward`, async (c) => {
    const live = sessionOf(c, gateway);
    const body = await readBody(c, gatewayRewardSchema);
    if (live.session.end !== undefined) throw new ServerError("conflict", `The session ${live.id} has ended`);
    const { end, ...more } = await endOf(gateway, { live, body, signal: c.get("signal") });
    live.finish(end);
    return c.json({ ...describe(live), ...more });
  });
  app.delete(`${SESSIONS}/:id`, (c) => {
    gateway.delete(sessionOf(c, gateway));
    return c.body(null, 204);
  });
  app.get("/v1/gateway/stats", (c) => c.json(gateway.stats(c.get("owner"))));
  app.post("/v1/gateway/pause", async (c) => {
    await gateway.pause(c.get("owner"), { signal: c.get("signal") });
    return c.json({ paused: true });
  });
  app.post("/v1/gateway/resume", async (c) => {
    const { policy_version } = await readBody(c, resumeGatewaySchema);
    gateway.resume(c.get("owner"), policy_version);
    return c.json({ paused: false });
  });
}

/** Scores a session by a request. Tests also give their output. */
async function endOf(
  { grading }: Gateway,
  { live, body, signal }: {
    live: LiveSession;
    body: z.output<typeof gatewayRewardSchema>;
    signal: AbortSignal;
  },
): Promise<{ end: SessionEnd; output?: string }> {
  if ("grader" in body) return { end: await grading.grade(live, body, { signal }) };
  if ("reward" in body) {
    return { end: { reward: body.reward, rewardParts: body.reward_parts, isComplete: true } };
  }
  const { code, files, timeout_seconds: seconds } = body.tests;
  const timeoutMs = seconds === undefined ? undefined : seconds * 1000;
  return await grading.test(live, { code, files: files && fromBase64Files(files), timeoutMs }, { signal });
}

/** Opens several copies of a session. If one fails, none remains. */
async function forkAll(
  gateway: Gateway,
  live: LiveSession,
  { count, signal }: { count: number; signal: AbortSignal },
): Promise<LiveSession[]> {
  const copies: LiveSession[] = [];
  try {
    while (copies.length < count) copies.push(await gateway.fork(live, { signal }));
    return copies;
  } catch (error) {
    for (const copy of copies) gateway.delete(copy);
    throw error;
  }
}

/** Returns what an agent needs to use a session. */
function openedBody(
  c: AppContext,
  { id, key, sandbox }: LiveSession,
  { model }: Gateway,
): z.output<typeof openedGatewaySessionSchema> {
  const origin = originOf(c);
  return {
    id,
    key,
    model,
    base_urls: { openai: `${origin}/v1`, anthropic: origin },
    ...(sandbox && {
      sandbox: { id: sandbox.id, e2b_id: sandbox.e2bId, e2b_api_key: e2bKeyOf(key), url: origin },
    }),
  };
}

function rowResponse(body: ReadableStream<Uint8Array>): Response {
  return new Response(body, { headers: { "content-type": "application/x-ndjson" } });
}

function sessionOf(c: AppContext, gateway: Gateway): LiveSession {
  return gateway.find(c.get("owner"), c.req.param("id") ?? "");
}

function describe(live: LiveSession): z.output<typeof gatewaySessionSchema> {
  const { session, createdAt, running } = live;
  const { end, task } = session;
  const status = end === undefined ? "open" : end.isComplete && !end.error ? "completed" : "aborted";
  return {
    id: session.id,
    task_id: task.id,
    group: groupOf(task),
    status,
    created_at: createdAt.toISOString(),
    turns: session.turns,
    rows: session.rowCount,
    running,
    reward: end?.reward ?? null,
    ...(end?.rewardParts && { reward_parts: { ...end.rewardParts } }),
    ...(end?.unscored !== undefined && { unscored: end.unscored }),
    ...(live.sandbox && { sandbox: { id: live.sandbox.id, e2b_id: live.sandbox.e2bId } }),
    ...(live.settings.origin && { forked_from: live.settings.origin.id }),
  };
}

function toSampling(given: z.output<typeof gatewaySamplingSchema>) {
  const { top_p, top_k, min_p, frequency_penalty, presence_penalty, max_tokens, ...rest } = given;
  const named = {
    ...rest,
    topP: top_p,
    topK: top_k,
    minP: min_p,
    frequencyPenalty: frequency_penalty,
    presencePenalty: presence_penalty,
    maxTokens: max_tokens,
  };
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
}

/** Returns the address by which the client reached the gateway. */
function originOf(c: AppContext): string {
  const url = new URL(c.req.url);
  return `${url.protocol}//${c.req.header("host") ?? url.host}`;
}

function readQuery<T>(c: AppContext, schema: z.core.$ZodType<T>): T {
  const parsed = z.safeParse(schema, c.req.query(), { error: describeIssue });
  if (parsed.success) return parsed.data;
  throw toInvalidRequest(parsed.error);
}

async function readBody<T>(c: AppContext, schema: z.core.$ZodType<T>): Promise<T> {
  const parsed = z.safeParse(schema, await readJson(c), { error: describeIssue });
  if (parsed.success) return parsed.data;
  throw toInvalidRequest(parsed.error);
}

/**
 * Reads the JSON of a request.
 *
 * @throws {ServerError} `malformed` if it is none.
 */
export async function readJson(c: AppContext): Promise<unknown> {
  const text = await c.req.text();
  try {
    return JSON.parse(text === "" ? "{}" : text);
  } catch (cause) {
    throw new ServerError("malformed", "The body must be JSON", { cause });
  }
}
