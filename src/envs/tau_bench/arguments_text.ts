import { errorMessage } from "../../errors.ts";
import { deeperThan } from "../../sandbox/guest_frames.ts";
import type { ToolUserAction } from "../tool_user_env.ts";

/** Maximum nesting of arguments. Much deeper values would crash the Python interpreter. */
const MAX_DEPTH = 64;

/** Returns the arguments of a call as JSON text, or the reason why they are invalid. */
export function toArgumentsText({ name, kwargs, kwargsText }: ToolUserAction): string | { fault: string } {
  try {
    const value: unknown = kwargsText === undefined ? kwargs : JSON.parse(kwargsText);
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return {
        fault: `the arguments of ${name} must be an object: current value is ${JSON.stringify(value)}`,
      };
    }
    if (deeperThan(MAX_DEPTH, value)) return { fault: `the arguments of ${name} are nested too deep` };
    return kwargsText ?? JSON.stringify(value);
  } catch (cause) {
    return {
      fault: `the arguments of ${name} must be JSON: ${errorMessage(cause)}`,
    };
  }
}
