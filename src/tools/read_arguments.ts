import { errorMessage } from "../errors.ts";
import { exactText } from "./exact_arguments.ts";
import { parseJson } from "./json_scan.ts";

/** Arguments that were read, or why they could not be. */
export interface ReadArguments {
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The same as JSON text, where that tells more, such as 50.0 from 50. */
  readonly argumentsText?: string;
  readonly fault?: string;
}

/** Reads the text of a call's arguments: a JSON object, or nothing at all, which is `{}`. */
export function readArguments(text: string): ReadArguments {
  if (text.trim() === "") return { arguments: {} };
  try {
    const exact = exactText(text);
    return { ...objectArguments(parseJson(text)), ...(exact !== undefined && { argumentsText: exact }) };
  } catch (error) {
    return { arguments: {}, fault: errorMessage(error) };
  }
}

/** Takes a JSON value as arguments; only an object is one, and `null` is `{}`. */
export function objectArguments(value: unknown): ReadArguments {
  if (value === null || value === undefined) return { arguments: {} };
  if (typeof value === "object" && !Array.isArray(value)) return { arguments: { ...value } };
  const kind = Array.isArray(value) ? "a list" : typeof value === "string" ? "a text" : `a ${typeof value}`;
  return { arguments: {}, fault: `they must be a JSON object and are ${kind}` };
}
