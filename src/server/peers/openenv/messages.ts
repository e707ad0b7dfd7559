import * as z from "zod";
import { parseUntrustedJson } from "../../../json.ts";
import type { ErrorCode } from "../../../wire/error_codes.ts";
import { type ServerError, toServerError } from "../../http/http_errors.ts";
import { toPydanticIssues } from "../detail_error.ts";
import { type OpenEnv, type OpenEnvKind, resetData } from "./env_kind.ts";
import { describeIssue } from "../../../schema_words.ts";

/** Error code of a message. */
export type EnvErrorCode =
  | "INVALID_JSON"
  | "UNKNOWN_TYPE"
  | "VALIDATION_ERROR"
  | "EXECUTION_ERROR"
  | "CAPACITY_REACHED"
  | "FACTORY_ERROR"
  | "SESSION_ERROR";

/** Codes of errors that the action did not cause: no free interpreter, a failed start, or an ended session. */
const FAULTS: Readonly<Partial<Record<ErrorCode, EnvErrorCode>>> = {
  busy: "CAPACITY_REACHED",
  timeout: "CAPACITY_REACHED",
  unavailable: "FACTORY_ERROR",
  conflict: "SESSION_ERROR",
};

/** Reports the input of each issue, which distinguishes missing from wrong values. */
const REPORTED = { reportInput: true, error: describeIssue };

const envelope = z.looseObject({ type: z.unknown().optional() });

const messages = {
  reset: z.strictObject({ type: z.literal("reset"), data: resetData.default({}) }),
  step: z.strictObject({ type: z.literal("step"), data: z.looseObject({}) }),
  state: z.strictObject({ type: z.literal("state") }),
  close: z.strictObject({ type: z.literal("close") }),
  mcp: z.strictObject({ type: z.literal("mcp"), data: z.looseObject({}) }),
};

/** An env driven by messages, and the schema of actions. */
export interface DrivenEnv<Action> {
  readonly env: OpenEnv<Action>;
  readonly action: OpenEnvKind<Action>["action"];
}

/**
 * Handles a message of a connection and returns the response as text, or `undefined` if the client closes. Never
 * rejects: errors are responses.
 */
export async function handleMessage<Action>(
  driven: DrivenEnv<Action>,
  text: string,
): Promise<string | undefined> {
  const value = readJson(text);
  if (value === undefined) return envErrorMessage("INVALID_JSON", "Invalid JSON");
  const { data: head } = envelope.safeParse(value);
  if (head === undefined) return envErrorMessage("VALIDATION_ERROR", "Invalid message: it must be an object");
  const type = typeof head.type === "string" ? head.type : "";
  if (!isKnown(type)) return envErrorMessage("UNKNOWN_TYPE", `Unknown message type: ${type.slice(0, 80)}`);
  const { success, data, error } = messages[type].safeParse(value, REPORTED);
  if (!success) return invalid(error);
  if (data.type === "close") return undefined;
  try {
    return await execute(driven, data);
  } catch (thrown) {
    return thrown instanceof z.ZodError ? invalid(thrown) : failed(toServerError(thrown));
  }
}

/** Returns an error message of a connection. */
export function envErrorMessage(code: EnvErrorCode, message: string, more: object = {}): string {
  return JSON.stringify({ type: "error", data: { message, code, ...more } });
}

type Command = Exclude<z.output<(typeof messages)[keyof typeof messages]>, { type: "close" }>;

async function execute<Action>({ env, action }: DrivenEnv<Action>, message: Command): Promise<string> {
  switch (message.type) {
    case "state":
      return JSON.stringify({ type: "state", data: await env.state() });
    case "mcp":
      return JSON.stringify({ type: "mcp", data: handleMcpMessage(message.data) });
    case "reset":
      return JSON.stringify({ type: "observation", data: await env.reset(message.data) });
    case "step":
      return JSON.stringify({
        type: "observation",
        data: await env.step(action.parse(message.data, REPORTED)),
      });
  }
}

function readJson(text: string): unknown {
  try {
    return parseUntrustedJson(text);
  } catch {
    return undefined; // no JSON text parses to `undefined`
  }
}

function isKnown(type: string): type is keyof typeof messages {
  return Object.hasOwn(messages, type);
}

function invalid(error: z.ZodError): string {
  return envErrorMessage("VALIDATION_ERROR", "Invalid message", { errors: toPydanticIssues(error) });
}

function failed({ code, message }: ServerError): string {
  return envErrorMessage(FAULTS[code] ?? "EXECUTION_ERROR", message);
}

const request = z.strictObject({
  jsonrpc: z.literal("2.0"),
  method: z.string(),
  params: z.record(z.string(), z.unknown()).default({}),
  id: z.union([z.string(), z.int()]).nullable().default(null),
});

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
const INTERNAL_ERROR = -32603;

/** Handles a JSON-RPC request given as text. */
export function handleMcpText(text: string): object {
  try {
    return handleMcpMessage(parseUntrustedJson(text));
  } catch {
    return refusal(null, PARSE_ERROR, "Parse error"); // not JSON
  }
}

/** Handles a JSON-RPC request. Envs of this server have no MCP tools. */
function handleMcpMessage(message: unknown): object {
  const { success, data, error } = request.safeParse(message);
  if (!success) {
    const issues = error.issues.slice(0, 16).map(({ path, message }) => `${path.join(".")}: ${message}`);
    return refusal(null, INVALID_REQUEST, `Invalid request: ${issues.join("; ").slice(0, 1_000)}`);
  }
  const { id, method } = data;
  if (method === "tools/list" || method === "tools/call") {
    return refusal(id, INTERNAL_ERROR, "Environment does not support MCP");
  }
  return refusal(id, METHOD_NOT_FOUND, `Method not found: ${method.slice(0, 80)}`);
}

function refusal(id: string | number | null, code: number, message: string): object {
  return { jsonrpc: "2.0", id, error: { code, message, data: null } };
}
