import { createRoute } from "@hono/zod-openapi";
import {
  createEnvRequest,
  envInfo,
  envList,
  envState,
  resetEnvRequest,
  resetResult,
  stepRequest,
  stepResult,
} from "../../wire/v1_envs.ts";
import type { AppContext } from "../app_env.ts";
import type { EnvService } from "../env_service.ts";
import type { LiveEnv } from "../live_env.ts";
import { toEnvBody, toEnvConfig, toObservationBody, toReply, toStepBody, toTask } from "./env_bodies.ts";
import { type Api, failures, idParams as params, jsonBody, jsonResponse } from "./route.ts";

const tags = ["envs"];

const create = createRoute({
  method: "post",
  path: "/v1/envs",
  tags,
  summary: "Create an env",
  request: { body: jsonBody(createEnvRequest) },
  responses: { 201: jsonResponse(envInfo, "The env"), ...failures },
});

const list = createRoute({
  method: "get",
  path: "/v1/envs",
  tags,
  summary: "List your envs",
  responses: { 200: jsonResponse(envList, "Oldest first"), ...failures },
});

const show = createRoute({
  method: "get",
  path: "/v1/envs/{id}",
  tags,
  summary: "Get an env and the state of its episode",
  request: { params },
  responses: {
    200: jsonResponse(
      envState,
      "The env; its observation is null if no episode is running",
    ),
    ...failures,
  },
});

const reset = createRoute({
  method: "post",
  path: "/v1/envs/{id}/reset",
  tags,
  summary: "Start an episode",
  request: { params, body: jsonBody(resetEnvRequest) },
  responses: { 200: jsonResponse(resetResult, "The first observation"), ...failures },
});

const step = createRoute({
  method: "post",
  path: "/v1/envs/{id}/step",
  tags,
  summary: "Step with a reply",
  request: { params, body: jsonBody(stepRequest) },
  responses: { 200: jsonResponse(stepResult, "The step"), ...failures },
});

const end = createRoute({
  method: "delete",
  path: "/v1/envs/{id}",
  tags,
  summary: "End an env",
  request: { params },
  responses: { 204: { description: "Done" }, ...failures },
});

/** Adds the routes of envs: create, list, get, reset, step, end. */
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
    const observation = await findEnv(envs, c).reset({ task: task && toTask(task), seed, signal });
    return c.json({ observation: toObservationBody(observation) }, 200);
  });
  app.openapi(step, async (c) => {
    const { reply } = c.req.valid("json");
    return c.json(toStepBody(await findEnv(envs, c).step(toReply(reply), c.get("signal"))), 200);
  });
  app.openapi(end, async (c) => {
    await findEnv(envs, c)[Symbol.asyncDispose]();
    return c.body(null, 204);
  });
}

function findEnv(envs: EnvService, c: AppContext): LiveEnv {
  return envs.find(c.req.param("id") ?? "", c.get("owner"));
}
