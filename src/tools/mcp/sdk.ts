/**
 * The part of the MCP library that the client of servers uses, with the types of `sdk.d.ts`. The library's own types
 * take a second to check, in each program that imports the entry point `.`.
 *
 * @module
 */
// @ts-types="./sdk.d.ts"
export {
  Client,
  SdkError,
  SdkHttpError,
  serializeMessage,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
export type {
  JSONRPCMessage,
  MessageExtraInfo,
  RequestId,
  RequestOptions,
  ResultSchema,
  Tool,
  Transport,
} from "./sdk.d.ts";
