import { errorMessage } from "../../errors.ts";
import { exactJson, exactText, parseExact } from "./python/python_numbers.ts";
import { JsonScanError, parseJson } from "./json_scan.ts";
import { MAX_PARSED_CALLS, type ParsedCall, UNNAMED } from "./tool_call_parser.ts";

/**
 * Returns the calls in a JSON value: an object with a `name` and `arguments` or `parameters`, or a list of
 * such objects. `json` is the source text of the value.
 */
export function callsOfValue(value: unknown, json: string): ParsedCall[] {
  if (!Array.isArray(value)) return [callOfValue(value, json)];
  const texts = exactArgumentTexts(json);
  return value.slice(0, MAX_PARSED_CALLS).map((call, at) => exactCall(call, texts[at]));
}

/** Returns a call that could not be parsed, with the reason. */
export function invalidCall(fault: unknown): ParsedCall {
  return { name: UNNAMED, arguments: {}, fault: errorMessage(fault) };
}

/** Returns an unnamed call whose JSON could not be read up to the end of the text, and whether the text ends too early. */
export function invalidLastCall(fault: unknown): ParsedCall {
  const endsEarly = fault instanceof JsonScanError && fault.endsEarly;
  return { ...invalidCall(fault), ...(endsEarly && { isClosed: false }) };
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

/** Arguments of a call, or an empty object and the reason why they could not be read. */
export interface ParsedArguments {
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The arguments as JSON text, if parsing loses information, such as 50.0 against 50. */
  readonly argumentsText?: string;
  readonly fault?: string;
}

/** Parses the text of a call's arguments, a JSON object. Empty text gives `{}`. */
export function parseArguments(text: string): ParsedArguments {
  if (text.trim() === "") return { arguments: {} };
  try {
    const parsed = toArguments(parseJson(text)); // first, as this parser refuses texts with too many values
    const exact = exactText(text);
    return { ...parsed, ...(exact !== undefined && { argumentsText: exact }) };
  } catch (error) {
    return { arguments: {}, fault: errorMessage(error) };
  }
}

/** Returns a JSON value as arguments. The value must be an object; `null` gives `{}`. */
export function toArguments(value: unknown): ParsedArguments {
  if (value === null || value === undefined) return { arguments: {} };
  if (typeof value === "object" && !Array.isArray(value)) return { arguments: { ...value } };
  const kind = Array.isArray(value) ? "a list" : typeof value === "string" ? "a text" : `a ${typeof value}`;
  return { arguments: {}, fault: `they must be a JSON object and are ${kind}` };
}

/**
 * Returns the arguments of each call in a JSON value (an object or a list of objects) as JSON text that
 * keeps each number in the model's form, also `NaN`; `undefined` for a call none of whose numbers would change. The
 * list is empty if the text has no such number.
 */
export function exactArgumentTexts(json: string): (string | undefined)[] {
  const value = parseExact(json);
  return value === undefined ? [] : (Array.isArray(value) ? value : [value]).map(argumentsText);
}

function argumentsText(call: unknown): string | undefined {
  if (typeof call !== "object" || call === null) return undefined;
  const { function: inner, ...outer } = call as Record<string, unknown>;
  const { arguments: args, parameters } =
    (typeof inner === "object" && inner !== null ? inner : outer) as Record<
      string,
      unknown
    >;
  const value = args ?? parameters;
  if (typeof value === "string") return exactText(value);
  return exactJson(value);
}
