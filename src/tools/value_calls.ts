import { errorMessage } from "../errors.ts";
import { exactArgumentTexts } from "./exact_arguments.ts";
import { parseArguments, toArguments } from "./read_arguments.ts";
import { type ParsedCall, UNNAMED } from "./tool_call_parser.ts";

/**
 * Returns the calls in a JSON value: an object with a `name` and `arguments` or `parameters`, or a list of
 * such objects. `json` is the source text of the value.
 */
export function callsOfValue(value: unknown, json: string): ParsedCall[] {
  if (!Array.isArray(value)) return [callOfValue(value, json)];
  const texts = exactArgumentTexts(json);
  return value.map((call, at) => exactCall(call, texts[at]));
}

/** Returns a call that could not be parsed, with the reason. */
export function invalidCall(fault: unknown): ParsedCall {
  return { name: UNNAMED, arguments: {}, fault: errorMessage(fault) };
}

/** Returns the call in a JSON value. `json` is the source text of the value. */
export function callOfValue(value: unknown, json: string): ParsedCall {
  const [argumentsText] = Array.isArray(value) ? [] : exactArgumentTexts(json);
  return exactCall(value, argumentsText);
}

function exactCall(value: unknown, argumentsText: string | undefined): ParsedCall {
  const { function: inner, id, ...outer } = fieldsOf(value);
  const { name, arguments: args, parameters } = typeof inner === "object" ? fieldsOf(inner) : outer;
  if (typeof name !== "string") {
    return invalidCall("a call must be a JSON object with a text as 'name'");
  }
  const rawArguments = args ?? parameters;
  const parsed = typeof rawArguments === "string" ? parseArguments(rawArguments) : toArguments(rawArguments);
  const exactText = argumentsText === undefined ? {} : { argumentsText };
  return { name: name.trim(), ...parsed, ...exactText, ...(typeof id === "string" && { callId: id }) };
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
