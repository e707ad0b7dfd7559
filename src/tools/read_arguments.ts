import { errorMessage } from "../errors.ts";
import { exactText } from "./exact_arguments.ts";
import { parseJson } from "./json_scan.ts";

/** Arguments of a call, or an empty object and the reason why they could not be read. */
export interface ReadArguments {
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The arguments as JSON text, if parsing it loses information, such as 50.0 against 50. */
  readonly argumentsText?: string;
  readonly fault?: string;
}

/** Parses the text of a call's arguments, a JSON object. Empty text gives `{}`. */
export function readArguments(text: string): ReadArguments {
  if (text.trim() === "") return { arguments: {} };
  try {
    const exact = exactText(text);
    return { ...objectArguments(parseJson(text)), ...(exact !== undefined && { argumentsText: exact }) };
  } catch (error) {
    return { arguments: {}, fault: errorMessage(error) };
  }
}

/** Returns a JSON value as arguments. It must be an object; `null` gives `{}`. */
export function objectArguments(value: unknown): ReadArguments {
  if (value === null || value === undefined) return { arguments: {} };
  if (typeof value === "object" && !Array.isArray(value)) return { arguments: { ...value } };
  const kind = Array.isArray(value) ? "a list" : typeof value === "string" ? "a text" : `a ${typeof value}`;
  return { arguments: {}, fault: `they must be a JSON object and are ${kind}` };
}
