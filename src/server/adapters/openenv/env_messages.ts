import { z } from "zod";
import { asServerError } from "../../error_answer.ts";
import type { ErrorCode } from "../../../wire/error_codes.ts";
import type { ServerError } from "../../server_error.ts";
import { pydanticFaults } from "../pydantic_faults.ts";
import { type EpisodeEnv, type OpenEnvKind, resetData } from "./env_kind.ts";
import { mcpAnswer } from "./mcp_message.ts";

/** Why a message was not followed. */
export type EnvFault =
  | "INVALID_JSON"
  | "UNKNOWN_TYPE"
  | "VALIDATION_ERROR"
  | "EXECUTION_ERROR"
  | "CAPACITY_REACHED"
  | "FACTORY_ERROR"
  | "SESSION_ERROR";

/** What is not a fault of the action: no interpreter was free, none could be had, or the env's has ended. */
const FAULTS: Readonly<Partial<Record<ErrorCode, EnvFault>>> = {
  busy: "CAPACITY_REACHED",
  timeout: "CAPACITY_REACHED",
  unavailable: "FACTORY_ERROR",
  conflict: "SESSION_ERROR",
};

/** With what there was in place of what should be, which tells what is missing. */
const REPORTED = { reportInput: true };

const envelope = z.looseObject({ type: z.unknown().optional() });

const messages = {
  reset: z.strictObject({ type: z.literal("reset"), data: resetData.default({}) }),
  step: z.strictObject({ type: z.literal("step"), data: z.looseObject({}) }),
  state: z.strictObject({ type: z.literal("state") }),
  close: z.strictObject({ type: z.literal("close") }),
  mcp: z.strictObject({ type: z.literal("mcp"), data: z.looseObject({}) }),
};

/** An env that is driven by messages, and what its actions look like. */
export interface Driven<Action> {
  readonly env: EpisodeEnv<Action>;
  readonly action: OpenEnvKind<Action>["action"];
}

/**
 * The answer to one message of a connection, as text; `undefined` when the client wants no more. It never
 * rejects: what goes wrong is an answer.
 */
export async function answerMessage<Action>(
  driven: Driven<Action>,
  text: string,
): Promise<string | undefined> {
  const value = parsed(text);
  if (value === undefined) return envFault("INVALID_JSON", "Invalid JSON");
  const { data: head } = envelope.safeParse(value);
  if (head === undefined) return envFault("VALIDATION_ERROR", "Invalid message: it must be an object");
  const type = typeof head.type === "string" ? head.type : "";
  if (!isKnown(type)) return envFault("UNKNOWN_TYPE", `Unknown message type: ${type.slice(0, 80)}`);
  const { success, data, error } = messages[type].safeParse(value, REPORTED);
  if (!success) return invalid(error);
  if (data.type === "close") return undefined;
  try {
    return await followed(driven, data);
  } catch (thrown) {
    return thrown instanceof z.ZodError ? invalid(thrown) : failed(asServerError(thrown));
  }
}

/** An error as a connection is told of it. */
export function envFault(code: EnvFault, message: string, more: object = {}): string {
  return JSON.stringify({ type: "error", data: { message, code, ...more } });
}

type Followed = Exclude<z.output<(typeof messages)[keyof typeof messages]>, { type: "close" }>;

async function followed<Action>({ env, action }: Driven<Action>, message: Followed): Promise<string> {
  switch (message.type) {
    case "state":
      return JSON.stringify({ type: "state", data: env.state() });
    case "mcp":
      return JSON.stringify({ type: "mcp", data: mcpAnswer(message.data) });
    case "reset":
      return JSON.stringify({ type: "observation", data: await env.reset(message.data) });
    case "step":
      return JSON.stringify({
        type: "observation",
        data: await env.step(action.parse(message.data, REPORTED)),
      });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // no JSON stands for this value
  }
}

function isKnown(type: string): type is keyof typeof messages {
  return Object.hasOwn(messages, type);
}

function invalid(error: z.ZodError): string {
  return envFault("VALIDATION_ERROR", "Invalid message", { errors: pydanticFaults(error) });
}

function failed({ code, message }: ServerError): string {
  return envFault(FAULTS[code] ?? "EXECUTION_ERROR", message);
}
