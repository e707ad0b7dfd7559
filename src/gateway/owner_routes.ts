import type { Hono } from "hono";
import * as z from "zod";
import { groupOf, type TaskInput, toTask } from "../task.ts";
import type { AppContext, AppEnv } from "../server/http/context.ts";
import { ServerError, toInvalidRequest } from "../server/http/http_errors.ts";
import { describeIssue } from "../schema_words.ts";
import { toWellFormedJson } from "../json.ts";
import type { Gateway } from "./gateway.ts";
import type { LiveSession } from "./live_session.ts";

const count = z.int().min(1);
const exactNumber = z.number().min(Number.MIN_SAFE_INTEGER).max(Number.MAX_SAFE_INTEGER);
const sampling = z.strictObject({
  temperature: z.number().min(0).optional(),
  top_p: z.number().optional(),
  top_k: z.int().optional(),
  min_p: z.number().optional(),
  frequency_penalty: z.number().optional(),
  presence_penalty: z.number().optional(),
  seed: z.int().optional(),
  max_tokens: count.optional(),
  stop: z.array(z.string()).max(64).optional(),
});

/** Body of `POST /v1/gateway/sessions`. */
const openSessionSchema = z.strictObject({
  task: z.strictObject({
    id: z.string().max(1_000),
    query: z.string().default(""),
    answer: z.union([z.string(), exactNumber]).optional(),
    group: z.string().max(1_000).optional(),
    fields: z.record(z.string(), z.unknown()).optional(),
  }),
  sample: count.optional(),
  sampling: sampling.optional(),
  sampling_from: z.enum(["session", "request"]).optional(),
  rewritten: z.enum(["keep", "branch", "refuse"]).optional(),
  idle_seconds: z.number().min(1).max(86_400).optional(),
});

/** Body of `POST /v1/gateway/sessions/{id}/reward`. */
const rewardSchema = z.union([
  z.strictObject({
    reward: z.number().nullable(),
    reward_parts: z.record(z.string(), z.number().nullable()).optional(),
  }),
  z.strictObject({ grader: z.string().max(200) }),
]);

const resumeSchema = z.strictObject({
  policy_version: z.union([z.int(), z.string().max(200)]).optional(),
});

/** Path of the routes of owners. */
const SESSIONS = "/v1/gateway/sessions";

/** Adds the routes of owners: they open and end sessions and read rows. The key of a session does not open them. */
export function addOwnerRoutes(app: Hono<AppEnv>, gateway: Gateway): void {
  app.use("/v1/gateway/*", async (c, next) => {
    if (c.get("grant") === undefined) return await next();
    throw new ServerError(
      "forbidden",
      "The key of a session opens the routes of the model only: send the owner's token",
    );
  });
  app.post(SESSIONS, async (c) => {
    const { task, sampling, sampling_from, idle_seconds, ...rest } = await readBody(c, openSessionSchema);
    const live = gateway.open({
      ...rest,
      owner: c.get("owner"),
      task: toTask(task as TaskInput),
      sampling: sampling && toSampling(sampling),
      samplingFrom: sampling_from,
      idleMs: idle_seconds === undefined ? undefined : idle_seconds * 1000,
    });
    const origin = originOf(c);
    const urls = { openai: `${origin}/v1`, anthropic: origin };
    return c.json({ id: live.id, key: live.key, model: gateway.model, base_urls: urls }, 201);
  });
  app.get(SESSIONS, (c) => c.json({ sessions: gateway.list(c.get("owner")).map(describe) }));
  app.get(`${SESSIONS}/:id`, (c) => c.json(describe(sessionOf(c, gateway))));
  app.get(`${SESSIONS}/:id/rows`, (c) => {
    const rows = sessionOf(c, gateway).session.results();
    return new Response(rows.map((row) => `${toWellFormedJson(row)}\n`).join(""), {
      headers: { "content-type": "application/x-ndjson" },
    });
  });
  app.post(`${SESSIONS}/:id/reward`, async (c) => {
    const live = sessionOf(c, gateway);
    const body = await readBody(c, rewardSchema);
    if (live.session.end !== undefined) throw new ServerError("conflict", `The session ${live.id} has ended`);
    if ("grader" in body) await gateway.grade(live, body.grader, { signal: c.get("signal") });
    else live.finish({ reward: body.reward, rewardParts: body.reward_parts, isComplete: true });
    return c.json(describe(live));
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
    const { policy_version } = await readBody(c, resumeSchema);
    gateway.resume(c.get("owner"), policy_version);
    return c.json({ paused: false });
  });
}

function sessionOf(c: AppContext, gateway: Gateway): LiveSession {
  return gateway.find(c.get("owner"), c.req.param("id") ?? "");
}

function describe(live: LiveSession): object {
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
    ...(end?.rewardParts && { reward_parts: end.rewardParts }),
    ...(end?.unscored !== undefined && { unscored: end.unscored }),
  };
}

function toSampling(given: z.output<typeof sampling>) {
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
