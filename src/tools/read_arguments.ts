import { errorMessage } from "../errors.ts";
import { exactText } from "./exact_arguments.ts";
import { parseJson } from "./json_scan.ts";

/** Arguments of a call, or an empty object and the reason why they could not be read. */
export interface ParsedArguments {
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The arguments as JSON text, if parsing it loses information, such as 50.0 against 50. */
  readonly argumentsText?: string;
  readonly fault?: string;
}

/** Parses the text of a call's arguments, a JSON object. Empty text gives `{}`. */
export function parseArguments(text: string): ParsedArguments {
  if (text.trim() === "") return { arguments: {} };
  try {
    const exact = exactText(text);
    return { ...toArguments(parseJson(text)), ...(exact !== undefined && { argumentsText: exact }) };
  } catch (error) {
    return { arguments: {}, fault: errorMessage(error) };
  }
}

/** Returns a JSON value as arguments. It must be an object; `null` gives `{}`. */
export function toArguments(value: unknown): ParsedArguments {
  if (value === null || value === undefined) return { arguments: {} };
  if (typeof value === "object" && !Array.isArray(value)) return { arguments: { ...value } };
  const kind = Array.isArray(value) ? "a list" : typeof value === "string" ? "a text" : `a ${typeof value}`;
  return { arguments: {}, fault: `they must be a JSON object and are ${kind}` };
}
