import { parseJson } from "./parsers/json_scan.ts";
import type { JsonSchema } from "./tool.ts";

/** Words of Python that chat templates write for values other than text. */
const PYTHON_WORDS: Readonly<Record<string, string>> = { True: "true", False: "false", None: "null" };
/** Deepest reference or alternative of a schema that is followed. */
const MAX_DEPTH = 10;

/**
 * Converts the text values of a call, as Qwen3-Coder, GLM and MiniMax write them, to the types of a tool's schema: text
 * where the schema has text, `null` where it allows null, and JSON elsewhere. A value that is not JSON stays text, and so
 * does one in a place where the schema gives no type and the value is no JSON.
 */
export function typedArguments(
  args: Readonly<Record<string, unknown>>,
  schema: JsonSchema,
): Record<string, unknown> {
  const properties = Object(schema.properties);
  const entries = Object.entries(args).map(([name, value]) => {
    if (typeof value !== "string") return [name, value];
    const types = Object.hasOwn(properties, name) ? typesOf(properties[name], schema) : new Set<string>();
    return [name, typedValue(value, types)];
  });
  return Object.fromEntries(entries);
}

function typedValue(text: string, types: ReadonlySet<string>): unknown {
  const word = text.trim();
  const json = Object.hasOwn(PYTHON_WORDS, word) ? PYTHON_WORDS[word] ?? word : word;
  if (types.has("string") && !(json === "null" && types.has("null"))) return text;
  try {
    return parseJson(json);
  } catch {
    return text; // the check against the schema reports a text that the tool does not accept
  }
}

/** Returns the JSON types that a schema of a property allows; none if it gives no type. */
function typesOf(property: unknown, root: JsonSchema, depth = 0): Set<string> {
  if (typeof property !== "object" || property === null || depth > MAX_DEPTH) return new Set();
  const { type, anyOf, oneOf, allOf, enum: values, const: only, $ref } = property as Record<string, unknown>;
  const types = new Set<string>([type].flat().filter((name) => typeof name === "string"));
  for (const value of [values, only === undefined ? [] : [only]].flat()) {
    if (value !== undefined) types.add(value === null ? "null" : typeof value);
  }
  const target = typeof $ref === "string" ? referenceTarget($ref, root) : undefined;
  for (const other of [anyOf, oneOf, allOf, target].flat()) {
    for (const name of typesOf(other, root, depth + 1)) types.add(name);
  }
  return types;
}

/** Returns the part of a schema that a reference such as `#/$defs/unit` names. */
function referenceTarget(reference: string, root: JsonSchema): unknown {
  if (!reference.startsWith("#/")) return undefined;
  let value: unknown = root;
  for (const key of reference.slice(2).split("/").slice(0, MAX_DEPTH)) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}
