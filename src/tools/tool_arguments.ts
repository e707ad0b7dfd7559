import { Validator } from "@cfworker/json-schema";
import { z } from "zod";
import { errorMessage } from "../errors.ts";
import { deeperThan } from "../sandbox/guest_frames.ts";
import type { ToolSpec } from "../tool_spec.ts";
import type { JsonSchema, Tool } from "./tool.ts";

/** Arguments that fit their tool, or why they do not. */
export type CheckedArguments =
  | { readonly arguments: Record<string, unknown> }
  /** The arguments are wrong: the model may mend them. */
  | { readonly wrong: string }
  /** The tool's schema cannot be used: nobody can call it. */
  | { readonly broken: string };

/** Deeper than any honest argument. */
const MAX_DEPTH = 64;
/** More faults would not help a model. */
const MAX_FAULTS = 5;

/** Checks the arguments of a call against what its tool takes; zod's defaults are filled in. */
export function checkArguments(tool: Tool, args: Readonly<Record<string, unknown>>): CheckedArguments {
  if (deeperThan(MAX_DEPTH, args)) {
    return { wrong: `arguments must not be nested more than ${MAX_DEPTH} deep` };
  }
  if (tool.checksItself) return { arguments: { ...args } };
  try {
    return isZod(tool.parameters) ? byZod(tool.parameters, args) : byJsonSchema(tool.parameters, args);
  } catch (error) {
    // A reference to itself overflows the stack, and a pattern may be none: the validator throws at either.
    const reason = errorMessage(error);
    return { broken: `the schema of '${tool.name}' cannot be checked: ${reason}` };
  }
}

/**
 * What a model is told of a tool, its parameters as JSON Schema.
 *
 * @throws {TypeError} when its zod schema has no equal in JSON Schema.
 */
export function toolSpec({ name, description, parameters }: Tool): ToolSpec {
  if (!isZod(parameters)) return { name, description, parameters };
  try {
    const { $schema: _schema, ...schema } = z.toJSONSchema(parameters, { io: "input" });
    return { name, description, parameters: schema };
  } catch (cause) {
    const reason = errorMessage(cause);
    throw new TypeError(`Cannot describe tool '${name}' as JSON Schema: ${reason}`, { cause });
  }
}

function isZod(parameters: z.ZodObject | JsonSchema): parameters is z.ZodObject {
  return parameters instanceof z.ZodType;
}

function byZod(schema: z.ZodObject, args: Readonly<Record<string, unknown>>): CheckedArguments {
  const parsed = schema.safeParse(args);
  if (parsed.success) return { arguments: parsed.data };
  const faults = parsed.error.issues.map(({ path, message }) =>
    path.length > 0 ? `${path.join(".")}: ${message}` : message
  );
  return { wrong: list(faults) };
}

function byJsonSchema(schema: JsonSchema, args: Readonly<Record<string, unknown>>): CheckedArguments {
  const { valid, errors } = new Validator(schema, "2020-12", false).validate(args);
  if (valid) return { arguments: { ...args } };
  // The validator reports each level from the outside in, and of these the innermost says what is wrong.
  const deepest = errors.filter(({ keyword }) => !OUTER.has(keyword));
  const told = deepest.length > 0 ? deepest : errors;
  return { wrong: list(told.map(({ instanceLocation, error }) => `${place(instanceLocation)}${error}`)) };
}

/** Keywords whose error only repeats that of another one. */
const OUTER: ReadonlySet<string> = new Set(["properties", "items", "prefixItems", "$ref", "allOf", "false"]);

function place(location: string): string {
  const path = location.replace(/^#\/?/, "").split("/").map(decodeURIComponent).join(".");
  return path === "" ? "" : `${path}: `;
}

function list(faults: readonly string[]): string {
  const more = faults.length - MAX_FAULTS;
  const told = faults.slice(0, MAX_FAULTS).map((fault) => fault.replace(/\.$/, "")).join("; ");
  return more > 0 ? `${told}; and ${more} more` : told;
}
