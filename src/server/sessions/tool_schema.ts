import { ServerError } from "../http/http_errors.ts";
import { isJsonObject } from "../../json.ts";

type Json = Record<string, unknown>;
/** Makes the error of an invalid schema. */
type Fail = (reason: string) => ServerError;

/** Form of the value of a keyword. */
type Form = "number" | "names" | "values" | "value" | "schema" | "schemas" | "schemasByName" | "types";

/** Keywords that the server checks. None of them can repeat a part of the schema or run a pattern. */
const CHECKED: Readonly<Record<string, Form>> = {
  type: "types",
  properties: "schemasByName",
  required: "names",
  additionalProperties: "schema",
  items: "schema",
  prefixItems: "schemas",
  minItems: "number",
  maxItems: "number",
  minLength: "number",
  maxLength: "number",
  minimum: "number",
  maximum: "number",
  exclusiveMinimum: "number",
  exclusiveMaximum: "number",
  multipleOf: "number",
  enum: "values",
  const: "value",
  anyOf: "schemas",
  oneOf: "schemas",
  allOf: "schemas",
};

/** Keywords that are shown to programs and not checked. */
const SHOWN: ReadonlySet<string> = new Set([
  "$comment",
  "$schema",
  "contentEncoding",
  "contentMediaType",
  "default",
  "deprecated",
  "description",
  "examples",
  "format",
  "pattern",
  "propertyNames",
  "readOnly",
  "title",
  "uniqueItems",
  "writeOnly",
]);

const TYPES: readonly unknown[] = ["string", "number", "integer", "boolean", "null", "array", "object"];
/** Keywords that the schema of all parameters may have. */
const TOP: ReadonlySet<string> = new Set([
  "$schema",
  "additionalProperties",
  "description",
  "properties",
  "required",
  "title",
  "type",
]);

/**
 * Checks the schema of a tool's parameters, and returns the part of it that calls are checked with. The time of such a
 * check is bounded by the size of the schema times the size of the arguments: references and patterns, which could
 * take any time, are refused or not checked.
 *
 * @throws {ServerError} `invalid`.
 */
export function toCheckedSchema(name: string, schema: Json): Json {
  const fail: Fail = (reason) =>
    new ServerError("invalid", `Cannot offer tool '${name}' as in its parameters ${reason}`);
  if (schema.type !== "object") throw fail(`'type' must be 'object'`);
  const other = Object.keys(schema).find((keyword) => !TOP.has(keyword));
  if (other !== undefined) throw fail(`'${shorten(other)}' is not supported beside 'properties'`);
  const unnamed = Object.keys(Object(schema.properties)).find((key) =>
    !/^[\p{L}_][\p{L}\p{N}_]*$/u.test(key)
  );
  if (unnamed !== undefined) throw fail(`'${shorten(unnamed)}' must be a Python identifier`);
  return checkedPart(schema, fail);
}

function checkedPart(schema: Json, fail: Fail): Json {
  const entries = Object.entries(schema).filter(([keyword]) => !SHOWN.has(keyword)).map(
    ([keyword, value]) => {
      const form = Object.hasOwn(CHECKED, keyword) ? CHECKED[keyword] : undefined;
      if (form === undefined) throw fail(`the keyword '${shorten(keyword)}' is not supported`);
      if (!hasForm(value, form)) throw fail(`'${keyword}' is invalid`);
      return [keyword, checkedValue(value, form, fail)];
    },
  );
  return Object.fromEntries(entries);
}

/** Returns the checked part of a keyword's value, which has the keyword's form. */
function checkedValue(value: unknown, form: Form, fail: Fail): unknown {
  const part = (schema: unknown) => typeof schema === "boolean" ? schema : checkedPart(schema as Json, fail);
  if (form === "schema") return part(value);
  if (form === "schemas") return (value as unknown[]).map(part);
  if (form !== "schemasByName") return value;
  return Object.fromEntries(Object.entries(value as Json).map(([name, schema]) => [name, part(schema)]));
}

function hasForm(value: unknown, form: Form): boolean {
  if (form === "value") return true;
  if (form === "number") return typeof value === "number";
  if (form === "schema") return isSchema(value);
  if (form === "types") return [value].flat().every((type) => TYPES.includes(type));
  if (form === "schemasByName") return isJsonObject(value) && Object.values(value).every(isSchema);
  if (!Array.isArray(value)) return false;
  if (form === "schemas") return value.length > 0 && value.every(isSchema);
  return form === "values" || value.every((name) => typeof name === "string");
}

function isSchema(value: unknown): boolean {
  return typeof value === "boolean" || isJsonObject(value);
}

function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
