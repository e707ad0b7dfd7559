import * as z from "zod";
import { jsonBody } from "../v1/route.ts";
import { type ErrorFormat, errorsOf, operation, type PeerOperation } from "../peers/operation.ts";

const id = z.union([z.string(), z.number()]).nullable();
const ERROR: ErrorFormat = {
  schema: z.looseObject({
    jsonrpc: z.literal("2.0"),
    id: id.optional(),
    error: z.looseObject({ code: z.int(), message: z.string() }),
  }).meta({ id: "JsonRpcError" }),
  example: { jsonrpc: "2.0", error: { code: -32001, message: "Session not found" }, id: null },
};
const message = z.looseObject({
  jsonrpc: z.string().optional(),
  id: id.optional(),
  method: z.string().optional(),
  params: z.looseObject({}).optional(),
}).meta({ id: "JsonRpcMessage" });
const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "client", version: "1" } },
};
const headers = z.object({
  "Mcp-Session-Id": z.string().optional().describe("the id that the response to initialize states"),
});
const modernHeaders = headers.extend({
  "Mcp-Protocol-Version": z.string().optional().describe("2026-07-28, whose requests need no initialize"),
  "Mcp-Method": z.string().optional().describe("the method of the body, with 2026-07-28"),
  "Mcp-Name": z.string().optional().describe("the name of the tool, with 2026-07-28"),
});
const query = z.object({
  session: z.string().optional().describe("session of all calls of a client of 2026-07-28, which names it"),
});
const stream = {
  schema: {}, // a schema would apply to each event
  example: 'event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n',
};

/** The operations of the Model Context Protocol, on a path that OpenEnv uses as well. */
export const MCP_OPERATIONS: readonly PeerOperation[] = [
  operation("post /mcp", {
    id: "sendMcpMessage",
    alsoIn: ["openenv"],
    summary: "Send a message: first initialize, then with the session's id, or one of protocol 2026-07-28; " +
      "clients must accept events",
    headers: modernHeaders,
    query,
    body: jsonBody(message, INITIALIZE),
    responses: {
      200: {
        description: "The response as JSON or as events; OpenEnv's clients get JSON",
        content: {
          "application/json": {
            schema: z.looseObject({ jsonrpc: z.literal("2.0") }).meta({ id: "JsonRpcResponse" }),
            example: { jsonrpc: "2.0", id: 1, result: {} },
          },
          "text/event-stream": stream,
        },
      },
      202: { description: "The message needs no response" },
      ...errorsOf(ERROR, [400, 404, 406, 409, 415, 429]),
    },
  }),
  operation("get /mcp", {
    id: "openMcpStream",
    summary: "Open the stream of the server's messages to a session",
    headers,
    responses: {
      200: { description: "The messages", content: { "text/event-stream": stream } },
      ...errorsOf(ERROR, [400, 404, 406, 409, 429]),
    },
  }),
  operation("delete /mcp", {
    id: "endMcpSession",
    summary: "End a session",
    headers,
    responses: { 200: { description: "Done" }, ...errorsOf(ERROR, [400, 404, 429]) },
  }),
];
