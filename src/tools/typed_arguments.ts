import { parseJson } from "./parsers/json_scan.ts";
import type { JsonSchema } from "./tool.ts";

/** Words of Python that chat templates write for values other than text. */
const PYTHON_WORDS: Readonly<Record<string, string>> = { True: "true", False: "false", None: "null" };
/** Maximum number of alternatives and references of a schema that are followed. */
const MAX_PARTS = 100;
/** Maximum number of keys of a reference. */
const MAX_KEYS = 10;

/**
 * Converts the text values of a call, in the form of Qwen3-Coder, GLM and MiniMax, to the types of a tool's schema: text
 * where the schema has text, `null` where it allows null, and JSON elsewhere. A value that is not JSON stays text, also in
 * a place where the schema gives no type. MiniMax M3 writes objects and lists as elements, whose values are converted
 * alike; an empty text is an empty list or object where the schema has a list or an object.
 */
export function typedArguments(
  args: Readonly<Record<string, unknown>>,
  schema: JsonSchema,
): Record<string, unknown> {
  return typedObject(args, schema, schema);
}

function typedObject(
  value: Readonly<Record<string, unknown>>,
  schema: unknown,
  root: JsonSchema,
): Record<string, unknown> {
  const parts = partsOf(schema, root);
  const entries = Object.entries(value).map(([name, member]) => {
    const part = parts.find(({ properties }) => Object.hasOwn(Object(properties), name));
    return [name, typedMember(member, Object(part?.properties)[name], root)];
  });
  return Object.fromEntries(entries);
}

function typedMember(value: unknown, schema: unknown, root: JsonSchema): unknown {
  const types = typesOf(schema, root);
  if (typeof value === "string") return typedValue(value, types);
  if (typeof value !== "object" || value === null) return value;
  if (!Array.isArray(value)) return typedObject({ ...value }, schema, root);
  // an object whose only member has the name of a list's elements is written as a list of a single item
  if (value.length === 1 && types.has("object") && !types.has("array")) {
    return typedObject({ item: value[0] }, schema, root);
  }
  const items = partsOf(schema, root).find(({ items }) => items !== undefined)?.items;
  return value.map((item) => typedMember(item, items, root));
}

function typedValue(text: string, types: ReadonlySet<string>): unknown {
  if (text === "" && !types.has("string")) {
    if (types.has("array")) return [];
    if (types.has("object")) return {};
  }
  const word = text.trim();
  const json = Object.hasOwn(PYTHON_WORDS, word) ? PYTHON_WORDS[word] ?? word : word;
  if (types.has("string") && !(json === "null" && types.has("null"))) return text;
  try {
    return parseJson(json);
  } catch {
    return text; // the check against the schema reports a text that the tool does not accept
  }
}

/** Returns the JSON types that a schema of a property allows; empty if the schema gives no type. */
function typesOf(property: unknown, root: JsonSchema): Set<string> {
  const types = new Set<string>();
  for (const { type, enum: values, const: only } of partsOf(property, root)) {
    for (const name of [type].flat()) if (typeof name === "string") types.add(name);
    for (const value of [values, only === undefined ? [] : [only]].flat()) {
      if (value !== undefined) types.add(value === null ? "null" : typeof value);
    }
  }
  return types;
}

/** Returns a schema, the alternatives, and the schemas to which they refer. */
function partsOf(schema: unknown, root: JsonSchema): Record<string, unknown>[] {
  const found = new Set<unknown>();
  const queue = [schema];
  for (const part of queue) {
    if (typeof part !== "object" || part === null || found.size === MAX_PARTS) continue;
    if (found.has(part)) continue;
    found.add(part);
    const { anyOf, oneOf, allOf, $ref } = part as Record<string, unknown>;
    const target = typeof $ref === "string" ? referenceTarget($ref, root) : undefined;
    queue.push(...[anyOf, oneOf, allOf, target].flat());
  }
  return [...found] as Record<string, unknown>[];
}

/** Returns the part of a schema that a reference such as `#/$defs/unit` names. */
function referenceTarget(reference: string, root: JsonSchema): unknown {
  if (!reference.startsWith("#/")) return undefined;
  let value: unknown = root;
  for (const key of reference.slice(2).split("/").slice(0, MAX_KEYS)) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}
