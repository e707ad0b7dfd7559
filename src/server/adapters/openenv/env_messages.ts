import { z } from "zod";
import { toServerError } from "../../error_answer.ts";
import type { ErrorCode } from "../../../wire/error_codes.ts";
import type { ServerError } from "../../server_error.ts";
import { toPydanticIssues } from "../pydantic_faults.ts";
import { type EpisodeEnv, type OpenEnvKind, resetData } from "./env_kind.ts";
import { handleMcpMessage } from "./mcp_message.ts";

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
const REPORTED = { reportInput: true };

const envelope = z.looseObject({ type: z.unknown().optional() });

const messages = {
  reset: z.strictObject({ type: z.literal("reset"), data: resetData.default({}) }),
  step: z.strictObject({ type: z.literal("step"), data: z.looseObject({}) }),
  state: z.strictObject({ type: z.literal("state") }),
  close: z.strictObject({ type: z.literal("close") }),
  mcp: z.strictObject({ type: z.literal("mcp"), data: z.looseObject({}) }),
};

/** An env driven by messages, and the schema of its actions. */
export interface DrivenEnv<Action> {
  readonly env: EpisodeEnv<Action>;
  readonly action: OpenEnvKind<Action>["action"];
}

/**
 * Handles one message of a connection and returns the response as text, or `undefined` if the client closes. It never
 * rejects: errors are responses.
 */
export async function handleMessage<Action>(
  driven: DrivenEnv<Action>,
  text: string,
): Promise<string | undefined> {
  const value = parseJson(text);
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
      return JSON.stringify({ type: "state", data: env.state() });
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

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
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
