import { Validator } from "@cfworker/json-schema";
import type { JsonSchema } from "../tool.ts";
import { nameFormat, toCheckedFormat } from "./formats.ts";
import { tryJsPattern } from "./python_pattern.ts";
import { isJsonObject } from "../../json.ts";

/** An error of a value. */
export interface SchemaError {
  /** Pointer to the value: `#/items/0`. */
  readonly location: string;
  readonly keyword: string;
  readonly message: string;
}

/**
 * Checks a value against a JSON Schema of draft 2020-12 as the program that wrote the schema does. Patterns of Python are
 * translated, and left out where JavaScript cannot express them; {@linkcode toCheckedFormat} has the formats.
 *
 * @throws {Error} if the schema is invalid, such as a reference to itself.
 */
export function checkSchema(schema: JsonSchema, value: unknown): SchemaError[] {
  const { errors } = new Validator(toChecked(schema) as JsonSchema, "2020-12", false).validate(value);
  return errors.map(({ instanceLocation, keyword, error }) => ({
    location: instanceLocation,
    keyword,
    message: nameFormat(error),
  }));
}

/** Keywords whose value is a schema, a list of schemas, or, for `items` and `dependencies` of older drafts, either. */
const SCHEMAS: ReadonlySet<string> = new Set([
  ...["items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"],
  ...["additionalProperties", "unevaluatedProperties", "propertyNames"],
  ...["allOf", "anyOf", "oneOf", "not", "if", "then", "else"],
]);
/** Keywords whose value is an object of schemas. */
const SCHEMAS_BY_NAME: ReadonlySet<string> = new Set([
  ...["properties", "$defs", "definitions", "dependentSchemas", "dependencies"],
]);

function toChecked(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(toChecked);
  if (!isJsonObject(schema)) return schema;
  const checked: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === "pattern" && typeof value === "string") checked.pattern = tryJsPattern(value);
    else if (keyword === "format") checked.format = toCheckedFormat(value);
    else if (keyword === "patternProperties" && isJsonObject(value)) {
      Object.assign(checked, toPatternProperties(value));
    } else if (SCHEMAS.has(keyword)) checked[keyword] = toChecked(value);
    else if (SCHEMAS_BY_NAME.has(keyword) && isJsonObject(value)) {
      checked[keyword] = mapValues(value, toChecked);
    } else checked[keyword] = value;
  }
  return hasUnknownNames(schema)
    ? { ...checked, additionalProperties: true, unevaluatedProperties: true }
    : checked;
}

function toPatternProperties(schemas: Readonly<Record<string, unknown>>): { patternProperties: object } {
  const known = Object.entries(schemas).flatMap(([pattern, schema]) => {
    const translated = tryJsPattern(pattern);
    return translated === undefined ? [] : [[translated, toChecked(schema)] as const];
  });
  return { patternProperties: Object.fromEntries(known) };
}

/** True if properties may match a pattern that is left out, so that they are not additional. */
function hasUnknownNames({ patternProperties }: Readonly<Record<string, unknown>>): boolean {
  return isJsonObject(patternProperties) &&
    Object.keys(patternProperties).some((pattern) => tryJsPattern(pattern) === undefined);
}

function mapValues(values: Readonly<Record<string, unknown>>, map: (value: unknown) => unknown): object {
  // fromEntries treats a key named __proto__ like any other
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));
}
