import { z } from "zod";
import { asServerError } from "../../error_answer.ts";
import type { Fault } from "../../server_error.ts";
import { codeAction, type CodingEnv, resetData } from "./coding_env.ts";

/** Why a message was not followed. */
type EnvFault = "INVALID_JSON" | "UNKNOWN_TYPE" | "VALIDATION_ERROR" | "EXECUTION_ERROR" | "CAPACITY_REACHED";

const FULL: readonly Fault[] = ["busy", "timeout"];

const envelope = z.looseObject({ type: z.string() });
const messages = {
  reset: z.strictObject({ type: z.literal("reset"), data: resetData.default({}) }),
  step: z.strictObject({ type: z.literal("step"), data: codeAction }),
  state: z.strictObject({ type: z.literal("state") }),
};

/**
 * The answer to one message of a connection, as text; `undefined` when the client wants no more. It never
 * rejects: what goes wrong is an answer.
 */
export async function answerMessage(env: CodingEnv, text: string): Promise<string | undefined> {
  const value = parsed(text);
  if (value === undefined) return fault("INVALID_JSON", "The message must be JSON");
  const { data: head } = envelope.safeParse(value);
  if (head === undefined) return fault("VALIDATION_ERROR", "The message must be an object with a type");
  if (head.type === "close") return undefined;
  if (!isKnown(head.type)) return fault("UNKNOWN_TYPE", `Unknown message type: ${head.type.slice(0, 80)}`);
  const { success, data, error } = messages[head.type].safeParse(value);
  if (!success) {
    const errors = error.issues.map(({ path, message }) => ({ loc: path, msg: message }));
    return fault("VALIDATION_ERROR", "The message does not fit", { errors });
  }
  try {
    if (data.type === "state") return JSON.stringify({ type: "state", data: env.state() });
    const answer = data.type === "reset" ? await env.reset(data.data) : await env.step(data.data);
    return JSON.stringify({ type: "observation", data: answer });
  } catch (thrown) {
    const error = asServerError(thrown);
    return fault(FULL.includes(error.fault) ? "CAPACITY_REACHED" : "EXECUTION_ERROR", error.message);
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

function fault(code: EnvFault, message: string, more: object = {}): string {
  return JSON.stringify({ type: "error", data: { message, code, ...more } });
}
