import { createRoute } from "@hono/zod-openapi";
import { z } from "zod";
import type { EnvService } from "../env_service.ts";
import { ServerError, sessionError } from "../server_error.ts";
import { reply, stepAnswer, stepResult } from "./env_schemas.ts";
import { saidBy } from "./envs.ts";
import { runLanes } from "./lanes.ts";
import { type Api, failures, jsonAnswer, jsonBody } from "./route.ts";
import { failure } from "./schemas.ts";

const MAX_ITEMS = 4096;
/** What one answer may carry; items behind it are not stepped. */
const MAX_CHARACTERS = 64 * 1024 * 1024;
const TOO_LARGE = `The observations of a batch may have ${MAX_CHARACTERS} characters in all`;

const item = z.strictObject({ env: z.string().max(64).describe("an env's id"), reply }).meta({
  id: "StepItem",
});

const outcome = z.object({
  status: z.int().describe("the HTTP status that the item would have had alone"),
  step: stepResult.optional(),
  error: failure.shape.error.optional(),
}).meta({ id: "StepOutcome" });

const batch = createRoute({
  method: "post",
  path: "/v1/envs/step:batch",
  tags: ["envs"],
  summary: "Answer in many envs at once",
  request: { body: jsonBody(z.strictObject({ items: z.array(item).max(MAX_ITEMS) })) },
  responses: {
    200: jsonAnswer(z.object({ results: z.array(outcome) }), "One for each item, in their order"),
    ...failures,
  },
});

/** Steps of many envs in one request. Those of one env follow one another, as they stand in the batch. */
export function envBatchRoutes(app: Api, envs: EnvService): void {
  app.openapi(batch, async (c) => {
    const owner = c.get("owner");
    let characters = 0;
    const stepOne = async (
      { env, reply }: z.output<typeof item>,
      signal: AbortSignal,
    ): Promise<z.output<typeof outcome>> => {
      try {
        if (characters > MAX_CHARACTERS) throw new ServerError("too_large", TOO_LARGE);
        const live = envs.find(env, owner);
        const step = stepAnswer(await live.step(saidBy(reply), signal));
        characters += live.characters;
        return { status: 200, step };
      } catch (thrown) {
        const { status, fault, message } = sessionError(thrown);
        return { status, error: { type: fault, message } };
      }
    };
    const results = await runLanes(c.req.valid("json").items, stepOne, {
      laneOf: ({ env }) => env,
      concurrency: envs.maxEnvs,
      signal: c.get("signal"),
    });
    return c.json({ results }, 200);
  });
}
