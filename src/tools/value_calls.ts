import { errorMessage } from "../errors.ts";
import { exactArguments } from "./exact_arguments.ts";
import { objectArguments, readArguments } from "./read_arguments.ts";
import { type ParsedCall, UNNAMED } from "./tool_call_parser.ts";

/**
 * The calls in a JSON value: an object with a `name` and `arguments` or `parameters`, or a list of such. `json` is
 * the text that the value was read from.
 */
export function valueCalls(value: unknown, json: string): ParsedCall[] {
  if (!Array.isArray(value)) return [valueCall(value, json)];
  const texts = exactArguments(json);
  return value.map((call, at) => exactCall(call, texts[at]));
}

/** A call of which nothing but its fault is known. */
export function unreadableCall(fault: unknown): ParsedCall {
  return { name: UNNAMED, arguments: {}, fault: errorMessage(fault) };
}

/** The call that a JSON value is; `json` is the text that the value was read from. */
export function valueCall(value: unknown, json: string): ParsedCall {
  const [argumentsText] = Array.isArray(value) ? [] : exactArguments(json);
  return exactCall(value, argumentsText);
}

function exactCall(value: unknown, argumentsText: string | undefined): ParsedCall {
  const { function: inner, id, ...outer } = fieldsOf(value);
  const { name, arguments: args, parameters } = typeof inner === "object" ? fieldsOf(inner) : outer;
  if (typeof name !== "string") {
    return unreadableCall("a call must be a JSON object with a text as 'name'");
  }
  const given = args ?? parameters;
  const read = typeof given === "string" ? readArguments(given) : objectArguments(given);
  const exact = argumentsText === undefined ? {} : { argumentsText };
  return { name: name.trim(), ...read, ...exact, ...(typeof id === "string" && { callId: id }) };
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
