import { createRoute } from "@hono/zod-openapi";
import * as z from "zod";
import { mapSequentialByKey } from "../../async/map_concurrently.ts";
import type { Observation, Step } from "../../envs/env.ts";
import type { Message } from "../../message.ts";
import { toToolRecord } from "../../rollout/trajectory.ts";
import type { Task } from "../../task.ts";
import { MAX_BATCH_CHARACTERS, MAX_NAME_CHARACTERS } from "../../wire/limits.ts";
import {
  createEnvRequestSchema,
  envInfoSchema,
  envListSchema,
  envStateSchema,
  type observationSchema,
  type replySchema,
  resetEnvRequestSchema,
  resetResultSchema,
  stepBatchRequestSchema,
  stepBatchResponseSchema,
  type stepOutcomeSchema,
  stepRequestSchema,
  stepResultSchema,
  type taskBodySchema,
} from "../../wire/v1_envs.ts";
import { callAnswerSchema } from "../../wire/v1_tools.ts";
import type { EnvConfig } from "../envs/env_config.ts";
import type { EnvService } from "../envs/env_service.ts";
import type { LiveEnv } from "../envs/live_env.ts";
import type { AppContext } from "../http/context.ts";
import { ServerError, toErrorBody, toPublicError } from "../http/http_errors.ts";
import { streamBody } from "../http/response_stream.ts";
import { ENV, ENV_CALL_ANSWER, ENV_OPTIONS, OBSERVATION, STEP_EVENTS, STEP_RESULT } from "./examples.ts";
import { type Api, failures, idParams as params, jsonBody, jsonResponse, keepTaskNumbers } from "./route.ts";
import { callChannel, event, STREAM_HEADERS } from "./streams.ts";

const tags = ["envs"];
const running = failures("not_found", "conflict", "timeout");

const create = createRoute({
  operationId: "createEnv",
  method: "post",
  path: "/v1/envs",
  middleware: keepTaskNumbers,
  tags,
  summary: "Create an env",
  request: { body: jsonBody(createEnvRequestSchema, ENV_OPTIONS) },
  responses: { 201: jsonResponse(envInfoSchema, "The env", { example: ENV }) },
});

const list = createRoute({
  operationId: "listEnvs",
  method: "get",
  path: "/v1/envs",
  tags,
  summary: "List your envs",
  responses: { 200: jsonResponse(envListSchema, "Oldest first", { example: { envs: [ENV] } }) },
});

const show = createRoute({
  operationId: "getEnv",
  method: "get",
  path: "/v1/envs/{id}",
  tags,
  summary: "Get an env and the state of its episode",
  request: { params },
  responses: {
    200: jsonResponse(
      envStateSchema,
      "The env; its observation is null if no episode is running",
      { example: { ...ENV, observation: null } },
    ),
    ...failures("not_found"),
  },
});

const reset = createRoute({
  operationId: "resetEnv",
  method: "post",
  path: "/v1/envs/{id}/reset",
  middleware: keepTaskNumbers,
  tags,
  summary: "Start an episode",
  request: { params, body: jsonBody(resetEnvRequestSchema, { seed: 7 }) },
  responses: {
    200: jsonResponse(resetResultSchema, "The first observation", {
      example: { observation: OBSERVATION },
    }),
    ...running,
  },
});

const step = createRoute({
  operationId: "stepEnv",
  method: "post",
  path: "/v1/envs/{id}/step",
  tags,
  summary: "Step with a reply",
  request: { params, body: jsonBody(stepRequestSchema, { reply: "<answer>42</answer>" }) },
  responses: { 200: jsonResponse(stepResultSchema, "The step", { example: STEP_RESULT }), ...running },
});

const stream = createRoute({
  operationId: "streamEnvStep",
  method: "post",
  path: "/v1/envs/{id}/stream",
  tags,
  summary: "Step with a reply, and answer what its code asks",
  description: "For the env 'rlm'; other envs ask nothing.",
  request: { params, body: jsonBody(stepRequestSchema, { reply: "<answer>42</answer>" }) },
  responses: {
    200: {
      description:
        "Events 'call' with {callId, name, arguments}, where 'name' is 'llm_query' and 'arguments' are {prompt, number, turn}, to be answered with a text at /v1/envs/{id}/calls/{callId}; 'cancel' with {callId} if the answer came too late; then one 'step' or 'error'",
      content: { "text/event-stream": { schema: {}, example: STEP_EVENTS } }, // a schema would apply to each event
    },
    ...failures("not_found"),
  },
});

const answerCall = createRoute({
  operationId: "answerEnvCall",
  method: "post",
  path: "/v1/envs/{id}/calls/{callId}",
  tags,
  summary: "Answer a question of the code of a streamed step",
  description: "A question can be answered once, with a text as its 'value', or with an error.",
  request: {
    params: params.extend({ callId: z.string().max(MAX_NAME_CHARACTERS).meta({ example: "call_1" }) }),
    body: jsonBody(callAnswerSchema, ENV_CALL_ANSWER),
  },
  responses: { 204: { description: "Done" }, ...failures("not_found", "conflict") },
});

const end = createRoute({
  operationId: "endEnv",
  method: "delete",
  path: "/v1/envs/{id}",
  tags,
  summary: "End an env",
  request: { params },
  responses: { 204: { description: "Done" }, ...failures("not_found") },
});

/** Adds the routes of envs: create, list, get, reset, step, stream a step, answer the questions, end. */
export function addEnvRoutes(app: Api, envs: EnvService): void {
  app.openapi(create, (c) => {
    const env = envs.create(toEnvConfig(c.req.valid("json")), c.get("owner"));
    return c.json(toEnvBody(env), 201);
  });
  app.openapi(list, (c) => c.json({ envs: envs.list(c.get("owner")).map(toEnvBody) }, 200));
  app.openapi(show, (c) => {
    const env = findEnv(envs, c);
    const { observation } = env;
    return c.json(
      { ...toEnvBody(env), observation: observation ? toObservationBody(observation) : null },
      200,
    );
  });
  app.openapi(reset, async (c) => {
    const { task, seed } = c.req.valid("json");
    const signal = c.get("signal");
    const observation = await findEnv(envs, c).reset({ task: task && toEpisodeTask(task), seed, signal });
    return c.json({ observation: toObservationBody(observation) }, 200);
  });
  app.openapi(step, async (c) => {
    const { reply } = c.req.valid("json");
    return c.json(toStepBody(await findEnv(envs, c).step(toReplyMessage(reply), c.get("signal"))), 200);
  });
  app.openapi(stream, (c) => {
    const env = findEnv(envs, c);
    const reply = toReplyMessage(c.req.valid("json").reply);
    const memory = c.get("memory");
    const body = streamBody(async (body, signal) => {
      try {
        const step = await env.step(reply, signal, callChannel(body, memory));
        body.send(event("step", toStepBody(step)));
      } catch (error) {
        body.send(event("error", toErrorBody(toPublicError(error))));
      }
    }, { signal: c.get("signal"), memory });
    return c.body(body, 200, STREAM_HEADERS);
  });
  app.openapi(answerCall, async (c) => {
    await findEnv(envs, c).questions.answer(c.req.valid("param").callId, c.req.valid("json"));
    return c.body(null, 204);
  });
  app.openapi(end, async (c) => {
    await findEnv(envs, c)[Symbol.asyncDispose]();
    return c.body(null, 204);
  });
}

function findEnv(envs: EnvService, c: AppContext): LiveEnv {
  return envs.find(c.req.param("id") ?? "", c.get("owner"));
}

const TOO_LARGE = `All observations of a batch together must have at most ${MAX_BATCH_CHARACTERS} characters`;

type Item = z.output<typeof stepBatchRequestSchema>["items"][number];

const batch = createRoute({
  operationId: "stepEnvBatch",
  method: "post",
  path: "/v1/envs/step:batch",
  tags: ["envs"],
  summary: "Step many envs at once",
  request: {
    body: jsonBody(stepBatchRequestSchema, { items: [{ env: ENV.id, reply: "<answer>42</answer>" }] }),
  },
  responses: {
    200: jsonResponse(stepBatchResponseSchema, "One result per item, in order", {
      example: { results: [{ status: 200, step: STEP_RESULT }] },
    }),
  },
});

/** Adds the route that steps many envs in a request. Steps of an env run in the order of the batch. */
export function addEnvBatchRoutes(app: Api, envs: EnvService): void {
  app.openapi(batch, async (c) => {
    const owner = c.get("owner");
    let characters = 0;
    const stepOne = async (
      { env, reply }: Item,
      signal: AbortSignal,
    ): Promise<z.output<typeof stepOutcomeSchema>> => {
      try {
        if (characters > MAX_BATCH_CHARACTERS) throw new ServerError("too_large", TOO_LARGE);
        const live = envs.find(env, owner);
        const step = toStepBody(await live.step(toReplyMessage(reply), signal));
        characters += live.characters;
        return { status: 200, step };
      } catch (thrown) {
        const error = toPublicError(thrown);
        return { status: error.status, error: toErrorBody(error) };
      }
    };
    const results = await mapSequentialByKey(c.req.valid("json").items, stepOne, {
      keyOf: ({ env }) => env,
      concurrency: envs.maxEnvs,
      signal: c.get("signal"),
    });
    return c.json({ results }, 200);
  });
}

/** Returns the config of an env that a request states, with an id for each task that has none. */
export function toEnvConfig(request: z.output<typeof createEnvRequestSchema>): EnvConfig {
  return { ...request, tasks: request.tasks.map((body, at) => toEpisodeTask(body, `task-${at + 1}`)) };
}

/** Returns the task of a request; `id` is the id of a task that has none. */
export function toEpisodeTask(body: z.output<typeof taskBodySchema>, id = "task"): Task {
  // The env validates messages.
  return { id, ...body } as Task;
}

/** Returns the reply of a policy as a message. */
function toReplyMessage(body: z.output<typeof replySchema>): Omit<Message, "role"> {
  // The env validates messages.
  return (typeof body === "string" ? { content: body } : body) as Omit<Message, "role">;
}

/** Returns an env as JSON. */
function toEnvBody(
  { id, config, createdAt, usedAt, episode }: LiveEnv,
): z.output<typeof envInfoSchema> {
  return {
    id,
    env: config.env,
    tasks: config.tasks.length,
    episode: episode ?? null,
    createdAt: createdAt.toISOString(),
    usedAt: usedAt.toISOString(),
  };
}

/** Returns an observation as JSON. */
function toObservationBody(
  { task, history, tools, stepCount = 0 }: Observation,
): z.output<typeof observationSchema> {
  return {
    taskId: task.id,
    messages: history.prompt.toChats().map((chat) => ({ ...chat })),
    turns: stepCount,
    ...(tools && { tools: tools.map((tool) => ({ ...tool, parameters: { ...tool.parameters } })) }),
  };
}

/** Returns a step as JSON. */
function toStepBody(step: Step): z.output<typeof stepResultSchema> {
  const { reward, rewardParts, unscored, terminated, truncated, toolResults, blocksNotRun, stepCount = 0 } =
    step;
  return {
    observation: toObservationBody(step),
    reward,
    terminated,
    truncated,
    ...(rewardParts && { rewardParts: { ...rewardParts } }),
    ...(unscored !== undefined && { unscored }),
    toolResults: toolResults.map((result) => {
      const { calls, ...record } = toToolRecord(stepCount, result);
      return { ...record, ...(calls && { calls: [...calls] }) };
    }),
    ...toFinalBody(step),
    ...(blocksNotRun && { blocksNotRun: blocksNotRun.map((counted) => ({ ...counted })) }),
  };
}

/** Returns the final answer of a recursive language model as JSON. */
function toFinalBody(
  { info = {} }: Step,
): Pick<z.output<typeof stepResultSchema>, "finalAnswer" | "finalValue"> {
  const { final_answer: finalAnswer, final_value: finalValue } = info;
  if (typeof finalAnswer !== "string") return {};
  return { finalAnswer, ...(finalValue !== undefined && { finalValue }) };
}
