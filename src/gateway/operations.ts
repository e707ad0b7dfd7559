import * as z from "zod";
import { errorsOf, operation, type PeerOperation } from "../server/peers/operation.ts";
import { failures, idParams, jsonBody, jsonResponse, optionalJsonBody } from "../server/v1/route.ts";
import {
  forkedGatewaySessionsSchema,
  forkGatewaySessionSchema,
  gatewayPauseSchema,
  gatewayRewardSchema,
  gatewayRowsQuerySchema,
  gatewaySessionSchema,
  gatewaySessionsSchema,
  gatewayStatsSchema,
  openedGatewaySessionSchema,
  openGatewaySessionSchema,
  resumeGatewaySchema,
} from "../wire/v1_gateway.ts";

/** Group of the gateway's operations in the description of the API. */
export const GATEWAY_GROUP = {
  name: "gateway",
  description:
    "Models for agents, by the key of a session; sessions and rows for trainers, by the owner's token",
};

const SESSION = {
  id: "gs-0f0c7f0e-3a52-4c3e-9a37-7f5a9f1c2b11",
  task_id: "sum",
  group: "sum",
  status: "completed",
  created_at: "2026-11-27T10:00:00.000Z",
  turns: 2,
  rows: 1,
  running: 0,
  reward: 1,
};
const OPENED = {
  id: SESSION.id,
  key: "paddock-3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAA",
  model: "Qwen/Qwen3-8B",
  base_urls: { openai: "http://127.0.0.1:8472/v1", anthropic: "http://127.0.0.1:8472" },
};
const MESSAGES = [{ role: "user", content: "Please add 2 and 3." }];
const USAGE = { input_tokens: 20, output_tokens: 5 };

const model = z.looseObject({ model: z.string() });
const chatRequest = model.extend({ messages: z.array(z.looseObject({ role: z.string() })).min(1) });
const OPENAI_ERROR = errorsOf({
  schema: z.looseObject({ error: z.looseObject({ message: z.string(), type: z.string() }) }),
  example: {
    error: { message: "The session has ended", type: "invalid_request_error", code: "session_ended" },
  },
}, [400, 401, 413, 429]);
const ANTHROPIC_ERROR = errorsOf({
  schema: z.looseObject({ type: z.literal("error"), error: z.looseObject({ message: z.string() }) }),
  example: { type: "error", error: { type: "invalid_request_error", message: "The session has ended" } },
}, [400, 401, 413, 429]);

/** Declares an answer, which is a stream of events if the request asks for one. */
function answer(schema: z.ZodType, example: unknown) {
  const json = jsonResponse(schema, "The answer, or its events with 'stream'", { example });
  return { ...json, content: { ...json.content, "text/event-stream": { schema: z.string() } } };
}

const MODEL_OPERATIONS: readonly PeerOperation[] = [
  operation("post /v1/chat/completions", {
    id: "gatewayChat",
    summary: "Ask the model, as OpenAI's chat completions",
    body: jsonBody(chatRequest, { model: "m", messages: MESSAGES }),
    responses: {
      200: answer(z.looseObject({ id: z.string(), choices: z.array(z.looseObject({})) }), {
        id: "chatcmpl-1",
        object: "chat.completion",
        created: 0,
        model: "m",
        choices: [{ index: 0, message: { role: "assistant", content: "5" }, finish_reason: "stop" }],
        usage: { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 },
      }),
      ...OPENAI_ERROR,
    },
  }),
  operation("post /v1/responses", {
    id: "gatewayResponses",
    summary: "Ask the model, as OpenAI's responses",
    body: jsonBody(model.extend({ input: z.union([z.string(), z.array(z.looseObject({}))]) }), {
      model: "m",
      input: "Please add 2 and 3.",
    }),
    responses: {
      200: answer(z.looseObject({ id: z.string(), output: z.array(z.looseObject({})) }), {
        id: "resp_1",
        object: "response",
        status: "completed",
        output: [{ id: "msg_1", type: "message", role: "assistant", content: [] }],
      }),
      ...OPENAI_ERROR,
    },
  }),
  operation("post /v1/messages", {
    id: "gatewayMessages",
    summary: "Ask the model, as Anthropic's messages",
    body: jsonBody(chatRequest, { model: "m", max_tokens: 512, messages: MESSAGES }),
    responses: {
      200: answer(z.looseObject({ id: z.string(), content: z.array(z.looseObject({})) }), {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "m",
        content: [{ type: "text", text: "5" }],
        stop_reason: "end_turn",
        usage: USAGE,
      }),
      ...ANTHROPIC_ERROR,
    },
  }),
  operation("post /v1/messages/count_tokens", {
    id: "gatewayCountTokens",
    summary: "Count the tokens of a prompt",
    body: jsonBody(chatRequest, { model: "m", messages: MESSAGES }),
    responses: {
      200: jsonResponse(z.object({ input_tokens: z.int() }), "The number", { example: { input_tokens: 20 } }),
      ...ANTHROPIC_ERROR,
    },
  }),
  operation("get /v1/models", {
    id: "gatewayModels",
    summary: "Name the model",
    responses: {
      200: jsonResponse(z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) }), "The model", {
        example: { object: "list", data: [{ id: "m", object: "model", created: 0, owned_by: "paddock" }] },
      }),
      ...OPENAI_ERROR,
    },
  }),
];

const lines = (description: string) => ({
  description,
  content: { "application/x-ndjson": { schema: z.string() } },
});
const { follow: _follow, ...format } = gatewayRowsQuerySchema.shape;

const OWNER_OPERATIONS: readonly PeerOperation[] = [
  operation("post /v1/gateway/sessions", {
    id: "openGatewaySession",
    summary: "Open a session for one run of an agent",
    body: jsonBody(openGatewaySessionSchema, { task: { id: "sum", query: "", answer: "5" } }),
    responses: {
      201: jsonResponse(openedGatewaySessionSchema, "The key and the URLs of the agent", { example: OPENED }),
      ...failures("timeout"),
    },
  }),
  operation("get /v1/gateway/sessions", {
    id: "listGatewaySessions",
    summary: "List your sessions of agents",
    responses: {
      200: jsonResponse(gatewaySessionsSchema, "Oldest first", { example: { sessions: [SESSION] } }),
    },
  }),
  operation("get /v1/gateway/sessions/{id}", {
    id: "getGatewaySession",
    summary: "Get a session of an agent",
    params: idParams,
    responses: {
      200: jsonResponse(gatewaySessionSchema, "Its state", { example: SESSION }),
      ...failures("not_found"),
    },
  }),
  operation("delete /v1/gateway/sessions/{id}", {
    id: "deleteGatewaySession",
    summary: "End a session as aborted, unless it has ended, and forget it",
    params: idParams,
    responses: { 204: { description: "Done" }, ...failures("not_found") },
  }),
  operation("post /v1/gateway/sessions/{id}/reward", {
    id: "rewardGatewaySession",
    summary: "End a session with a reward, the score of a grader, or the score of tests",
    params: idParams,
    body: jsonBody(gatewayRewardSchema, { reward: 1 }),
    responses: {
      200: jsonResponse(gatewaySessionSchema, "Its state", { example: SESSION }),
      ...failures("not_found", "conflict", "timeout"),
    },
  }),
  operation("post /v1/gateway/sessions/{id}/fork", {
    id: "forkGatewaySession",
    summary: "Open copies of a session, and of its sandbox",
    params: idParams,
    body: optionalJsonBody(forkGatewaySessionSchema, { count: 4 }),
    responses: {
      201: jsonResponse(forkedGatewaySessionsSchema, "The copies", { example: { sessions: [OPENED] } }),
      ...failures("not_found", "conflict", "timeout"),
    },
  }),
  operation("get /v1/gateway/sessions/{id}/rows", {
    id: "getGatewayRows",
    summary: "Get the rows of a session",
    params: idParams,
    query: z.object(format),
    responses: { 200: lines("A row in each line"), ...failures("not_found") },
  }),
  operation("get /v1/gateway/rows", {
    id: "streamGatewayRows",
    summary: "Stream the rows of your sessions that have ended",
    query: gatewayRowsQuerySchema,
    responses: { 200: lines("A row in each line; empty lines keep the connection open") },
  }),
  operation("get /v1/gateway/stats", {
    id: "getGatewayStats",
    summary: "Count your sessions, turns and rows",
    responses: {
      200: jsonResponse(gatewayStatsSchema, "The figures", {
        example: { open: 1, ended: 2, turns: 9, rows: 3, bytes: 123_456 },
      }),
    },
  }),
  operation("post /v1/gateway/pause", {
    id: "pauseGateway",
    summary: "Hold back samples of your sessions, while weights are replaced",
    responses: {
      200: jsonResponse(gatewayPauseSchema, "No sample runs", { example: { paused: true } }),
    },
  }),
  operation("post /v1/gateway/resume", {
    id: "resumeGateway",
    summary: "Let samples go on",
    body: optionalJsonBody(resumeGatewaySchema, { policy_version: 7 }),
    responses: {
      200: jsonResponse(gatewayPauseSchema, "Samples go on", { example: { paused: false } }),
    },
  }),
];

/** The operations of the gateway. */
export const GATEWAY_OPERATIONS: readonly PeerOperation[] = [...MODEL_OPERATIONS, ...OWNER_OPERATIONS];
