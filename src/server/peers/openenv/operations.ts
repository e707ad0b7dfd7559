import type { RouteConfig } from "@hono/zod-openapi";
import * as z from "zod";
import { type OpenEnvKind, resetData } from "./env_kind.ts";
import { stepRequest } from "./routes.ts";
import { jsonBody, jsonResponse, optionalJsonBody } from "../../v1/route.ts";
import { DETAIL_ERROR, errorsOf } from "../error_format.ts";

const tags = ["openenv"];
const errors = errorsOf(DETAIL_ERROR, [409, 422, 429, 504]);

const metadata = z.object({
  name: z.string(),
  description: z.string(),
  readme_content: z.null(),
  version: z.string(),
  author: z.null(),
  documentation_url: z.null(),
}).meta({ id: "OpenEnvMetadata" });

const schemas = z.object({
  action: z.looseObject({}),
  observation: z.looseObject({}),
  state: z.looseObject({}),
}).meta({ id: "OpenEnvSchemas" });

/** Returns the operations of OpenEnv for a kind of env. */
export function openEnvOperations(kind: OpenEnvKind): RouteConfig[] {
  const { examples } = kind;
  const result = z.object({
    observation: kind.observation,
    reward: z.number().nullable(),
    done: z.boolean(),
  }).meta({ id: "OpenEnvResult" });
  return [
    {
      operationId: "getOpenEnvHealth",
      method: "get",
      path: "/health",
      tags,
      summary: "Check that the server responds",
      responses: {
        200: jsonResponse(z.object({ status: z.literal("healthy") }), "Always healthy", {
          example: { status: "healthy" },
        }),
      },
    },
    {
      operationId: "getMetadata",
      method: "get",
      path: "/metadata",
      tags,
      summary: "Get the name and description of the env",
      responses: {
        200: jsonResponse(metadata, "The metadata", {
          example: {
            name: kind.name,
            description: kind.description,
            readme_content: null,
            version: "0.1.0",
            author: null,
            documentation_url: null,
          },
        }),
      },
    },
    {
      operationId: "getSchemas",
      method: "get",
      path: "/schema",
      tags,
      summary: "Get the JSON Schemas of actions, observations and states",
      responses: {
        200: jsonResponse(schemas, "The schemas", {
          example: { action: { type: "object" }, observation: { type: "object" }, state: { type: "object" } },
        }),
      },
    },
    {
      operationId: "getState",
      method: "get",
      path: "/state",
      tags,
      summary: "Get the state of a new episode; over HTTP, each request has its own",
      responses: { 200: jsonResponse(kind.state, "The state", { example: examples.state }) },
    },
    {
      operationId: "resetEpisode",
      method: "post",
      path: "/reset",
      tags,
      summary: "Start an episode and return its first observation",
      request: { body: optionalJsonBody(resetData.meta({ id: "OpenEnvReset" }), { seed: 7 }) },
      responses: {
        200: jsonResponse(result, "The observation", {
          example: { observation: examples.observation, reward: null, done: false },
        }),
        ...errors,
      },
    },
    {
      operationId: "stepEpisode",
      method: "post",
      path: "/step",
      tags,
      summary: "Take one step of a new episode",
      request: {
        body: jsonBody(stepRequest(kind).meta({ id: "OpenEnvStep" }), { action: examples.action }),
      },
      responses: {
        200: jsonResponse(result, "The observation", {
          example: { observation: examples.observation, reward: 0.1, done: false },
        }),
        ...errors,
      },
    },
    {
      operationId: "openEpisodeSocket",
      method: "get",
      path: "/ws",
      tags,
      summary: "Open a WebSocket whose messages drive one env: reset, step, state, close",
      responses: {
        101: { description: "The WebSocket is open" },
        426: {
          description: "The request must be a WebSocket handshake",
          content: { "text/plain": { schema: z.string(), example: "Upgrade Required" } },
        },
        ...errors,
      },
    },
  ];
}
