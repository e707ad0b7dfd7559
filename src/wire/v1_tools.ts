/**
 * The JSON of `/v1` about tools of a client, which programs of the client's session may call.
 *
 * @module
 */
import * as z from "zod";
import { TOOL_NAME } from "../sandbox/contract/exec_fields.ts";
import {
  MAX_NAME_CHARACTERS,
  MAX_SESSION_TOOLS,
  MAX_TOOL_ERROR_CHARACTERS,
  MAX_TOOL_TIMEOUT_MS,
  TOOL_TIMEOUT_MS,
} from "./limits.ts";

/** A tool of the client. */
export const sessionToolSchema = z.strictObject({
  name: z.string().max(MAX_NAME_CHARACTERS).regex(TOOL_NAME, "must be a Python identifier")
    .describe("programs call it as paddock.tools.<name>"),
  description: z.string().default(""),
  parameters: z.record(z.string(), z.unknown())
    .describe("JSON Schema of an object; calls whose arguments do not match it are not sent to the client"),
  timeoutMs: z.number().positive().max(MAX_TOOL_TIMEOUT_MS).default(TOOL_TIMEOUT_MS)
    .describe("milliseconds within which the client must answer a call"),
}).meta({
  id: "SessionTool",
  examples: [{
    name: "price",
    description: "Returns the price of a thing.",
    parameters: {
      type: "object",
      properties: { thing: { type: "string" } },
      required: ["thing"],
      additionalProperties: false,
    },
  }],
});

/** A tool of the client, in the server's form. */
export type SessionToolSpec = z.output<typeof sessionToolSchema>;

/** The tools of a session. */
export const sessionToolsSchema = z.array(sessionToolSchema).max(MAX_SESSION_TOOLS)
  .describe("functions of the client that programs may call while they are streamed");

/** Id of a call: the number among the calls of the session. */
export const CALL_ID = /^call_([1-9]\d{0,14})$/;

/** A call of a tool: the data of the event `call`. */
export const callEventSchema = z.object({
  callId: z.string().max(MAX_NAME_CHARACTERS),
  name: z.string(),
  arguments: z.record(z.string(), z.unknown()),
});

/** The end of a call that was not answered in time: the data of the event `cancel`. */
export const cancelEventSchema = callEventSchema.pick({ callId: true });

/** The keys of the answer to a call. */
export const callAnswerShape = {
  value: z.unknown().optional().describe("value of JSON that the call returns"),
  error: z.strictObject({
    type: z.string().max(256).optional().describe("name of the exception"),
    message: z.string().max(MAX_TOOL_ERROR_CHARACTERS),
  }).optional().describe("makes the call raise paddock.ToolError"),
};

/** Check of an answer to a call, and the message. */
export const givesOneOf = [
  (answer: { value?: unknown; error?: unknown }): boolean =>
    ("value" in answer) !== (answer.error !== undefined),
  { message: "give either 'value' or 'error'" },
] as const;

/** The answer to a call: the value that the tool returned, or the error. */
export const callAnswerSchema = z.strictObject(callAnswerShape).refine(...givesOneOf).meta({
  id: "CallAnswer",
});

/** The answer to a call. */
export type CallAnswer = z.output<typeof callAnswerSchema>;
