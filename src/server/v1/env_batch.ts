import { createRoute } from "@hono/zod-openapi";
import type { z } from "zod";
import { mapSequentialByKey } from "../../async/map_concurrently.ts";
import { MAX_BATCH_CHARACTERS } from "../../wire/limits.ts";
import { stepBatchRequest, stepBatchResponse, type stepOutcome } from "../../wire/v1_envs.ts";
import type { EnvService } from "../env_service.ts";
import { ServerError, toErrorBody, toPublicError } from "../server_error.ts";
import { toReply, toStepBody } from "./env_bodies.ts";
import { type Api, failures, jsonBody, jsonResponse } from "./route.ts";

const TOO_LARGE = `All observations of a batch together must have at most ${MAX_BATCH_CHARACTERS} characters`;

type Item = z.output<typeof stepBatchRequest>["items"][number];

const batch = createRoute({
  method: "post",
  path: "/v1/envs/step:batch",
  tags: ["envs"],
  summary: "Step many envs at once",
  request: { body: jsonBody(stepBatchRequest) },
  responses: {
    200: jsonResponse(stepBatchResponse, "One result per item, in order"),
    ...failures,
  },
});

/** Adds the route that steps many envs in one request. Steps of one env run in the order of the batch. */
export function addEnvBatchRoutes(app: Api, envs: EnvService): void {
  app.openapi(batch, async (c) => {
    const owner = c.get("owner");
    let characters = 0;
    const stepOne = async (
      { env, reply }: Item,
      signal: AbortSignal,
    ): Promise<z.output<typeof stepOutcome>> => {
      try {
        if (characters > MAX_BATCH_CHARACTERS) throw new ServerError("too_large", TOO_LARGE);
        const live = envs.find(env, owner);
        const step = toStepBody(await live.step(toReply(reply), signal));
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
