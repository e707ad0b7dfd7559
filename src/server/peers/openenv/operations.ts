import * as z from "zod";
import { jsonBody, jsonResponse, optionalJsonBody } from "../../v1/route.ts";
import { DETAIL_ERROR, errorsOf, operation, type PeerOperation } from "../operation.ts";
import { metadata, schemas, stepRequest, stepResult } from "./contract.ts";
import { type OpenEnvKind, resetData } from "./env_kind.ts";

const errors = errorsOf(DETAIL_ERROR, [409, 422, 429, 504]);
const OBJECT = { type: "object" };

/** Returns the operations of OpenEnv for a kind of env. */
export function openEnvOperations<Action>(kind: OpenEnvKind<Action>): PeerOperation[] {
  const { name, description, examples } = kind;
  const about = {
    name,
    description,
    readme_content: null,
    version: "0.1.0",
    author: null,
    documentation_url: null,
  };
  const result = stepResult(kind);
  const observed = (reward: number | null) => ({
    200: jsonResponse(result, "The observation", {
      example: { observation: examples.observation, reward, done: false },
    }),
    ...errors,
  });
  return [
    operation("get /health", {
      id: "getOpenEnvHealth",
      summary: "Check that the server responds",
      responses: {
        200: jsonResponse(z.object({ status: z.literal("healthy") }), "Always healthy", {
          example: { status: "healthy" },
        }),
      },
    }),
    operation("get /metadata", {
      id: "getMetadata",
      summary: "Get the name and description of the env",
      responses: { 200: jsonResponse(metadata, "The metadata", { example: about }) },
    }),
    operation("get /schema", {
      id: "getSchemas",
      summary: "Get the JSON Schemas of actions, observations and states",
      responses: {
        200: jsonResponse(schemas, "The schemas", {
          example: { action: OBJECT, observation: OBJECT, state: OBJECT },
        }),
      },
    }),
    operation("get /state", {
      id: "getState",
      summary: "Get the state of a new episode; over HTTP, each request has its own",
      responses: { 200: jsonResponse(kind.state, "The state", { example: examples.state }) },
    }),
    operation("post /reset", {
      id: "resetEpisode",
      summary: "Start an episode and return its first observation",
      body: optionalJsonBody(resetData, { seed: 7 }),
      responses: observed(null),
    }),
    operation("post /step", {
      id: "stepEpisode",
      summary: "Take one step of a new episode",
      body: jsonBody(stepRequest(kind), { action: examples.action }),
      responses: observed(0.1),
    }),
    operation("get /ws", {
      id: "openEpisodeSocket",
      summary: "Open a WebSocket whose messages drive one env: reset, step, state, close",
      responses: {
        101: { description: "The WebSocket is open" },
        426: {
          description: "The request must be a WebSocket handshake",
          content: { "text/plain": { schema: z.string(), example: "Upgrade Required" } },
        },
        ...errors,
      },
    }),
  ];
}
