import * as z from "zod";

/** Fault of a value, before zod has given it a message. */
type Issue = z.core.$ZodRawIssue;

/**
 * Lets messages of zod schemas that have none of their own come from {@linkcode describeIssue}, until the result is
 * disposed. It is for the command line: a program that uses Paddock shares zod with it.
 */
export function useOwnWords(): Disposable {
  const { customError } = z.config();
  z.config({ customError: describeIssue });
  return { [Symbol.dispose]: () => void z.config({ customError }) };
}

/** Returns what a value must be and what was found, such as `must be a string: found a number`. */
export function describeIssue(issue: Issue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return `must be ${nameOf(issue.expected)}: ${foundIn(issue.input)}`;
    case "invalid_value":
      return `must be ${issue.values.length === 1 ? "" : "one of "}${listOf(issue.values)}: ${
        foundIn(issue.input)
      }`;
    case "unrecognized_keys":
      return `unknown ${issue.keys.length === 1 ? "key" : "keys"} ${listOf(issue.keys)}`;
    case "too_small":
      return `must ${
        sizeOf(issue.origin, issue.inclusive === false ? "more than" : "at least", issue.minimum)
      }`;
    case "too_big":
      return `must ${
        sizeOf(issue.origin, issue.inclusive === false ? "less than" : "at most", issue.maximum)
      }`;
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    case "invalid_format":
      return `must ${
        issue.format === "regex" && issue.pattern !== undefined
          ? `match ${issue.pattern}`
          : `be in the format '${issue.format}'`
      }`;
    case "invalid_union":
      return issue.errors.length === 0
        ? "must have one of its forms"
        : "must have one of its forms, and has none";
    case "invalid_key":
      return "has an invalid key";
    case "invalid_element":
      return "has an invalid element";
    default:
      return undefined; // it has its own message
  }
}

/** Names of types, as a sentence has them. Other names are written as zod has them. */
const NAMES: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  bigint: "a whole number",
  boolean: "true or false",
  array: "a list",
  tuple: "a list",
  object: "an object",
  record: "an object",
  null: "null",
};

function nameOf(type: string): string {
  return NAMES[type] ?? type;
}

function foundIn(value: unknown): string {
  if (value === undefined) return "it is missing";
  if (value === null) return "found null";
  if (Array.isArray(value)) return "found a list";
  if (typeof value === "number") return `found ${value}`;
  if (typeof value === "bigint") return `found ${String(value).slice(0, 100)}, which a number cannot hold`;
  return typeof value === "boolean" ? `found ${value}` : `found ${nameOf(typeof value)}`;
}

/** Returns the part of a message about a size: the number itself, or the number of characters or items. */
function sizeOf(origin: string, comparison: string, limit: number | bigint): string {
  if (origin === "string") return `have ${comparison} ${limit} characters`;
  if (["array", "set", "map", "object"].includes(origin)) return `have ${comparison} ${limit} items`;
  if (origin === "file") return `have ${comparison} ${limit} bytes`;
  return `be ${comparison} ${limit}`;
}

function listOf(values: readonly unknown[]): string {
  return values.map((value) => typeof value === "string" ? `'${value}'` : String(value)).join(", ");
}
