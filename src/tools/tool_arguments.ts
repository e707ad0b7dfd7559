import * as z from "zod";
import { errorMessage } from "../errors.ts";
import { isDeeperThan } from "../sandbox/guest_frames.ts";
import type { ToolSpec } from "../message.ts";
import { describeIssue } from "../schema_words.ts";
// @ts-types="./schema/checked_schema.d.ts"
import { checkSchema } from "./schema/checked_schema.ts";
import type { JsonSchema, Tool } from "./tool.ts";

/** Arguments that match the tool's schema, or the reason why they do not. */
export type CheckedArguments =
  | { readonly arguments: Record<string, unknown> }
  /** The arguments are wrong, and the model can correct them. */
  | { readonly wrong: string }
  /** The schema of the tool is invalid, so no call can succeed. */
  | { readonly broken: string };

/** Maximum nesting of arguments; real arguments need less. */
const MAX_DEPTH = 64;
/** Maximum number of errors that the model reads. */
const MAX_FAULTS = 5;

/** Checks the arguments of a call against the tool's schema and fills in zod's defaults. */
export function checkArguments(tool: Tool, args: Readonly<Record<string, unknown>>): CheckedArguments {
  if (isDeeperThan(MAX_DEPTH, args)) {
    return { wrong: `arguments must not be nested more than ${MAX_DEPTH} deep` };
  }
  if (tool.checksItself) return { arguments: { ...args } };
  try {
    return isZod(tool.parameters)
      ? checkByZod(tool.parameters, args)
      : checkByJsonSchema(tool.parameters, args);
  } catch (error) {
    // A self-reference overflows the stack.
    const reason = errorMessage(error);
    return { broken: `the schema of '${tool.name}' cannot be checked: ${reason}` };
  }
}

/**
 * Returns the description of a tool that a model reads, with the parameters as JSON Schema.
 *
 * @throws {TypeError} when the zod schema cannot be written as JSON Schema.
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

/** True if the schema of a tool names a parameter. */
export function hasParameter({ parameters }: Tool, name: string): boolean {
  const named = isZod(parameters) ? parameters.shape : Object(parameters.properties);
  return Object.hasOwn(named, name);
}

function isZod(parameters: z.ZodObject | JsonSchema): parameters is z.ZodObject {
  return parameters instanceof z.ZodType;
}

function checkByZod(schema: z.ZodObject, args: Readonly<Record<string, unknown>>): CheckedArguments {
  const parsed = schema.safeParse(args, { error: describeIssue });
  if (parsed.success) return { arguments: parsed.data };
  const messages = parsed.error.issues.map(({ path, message }) =>
    path.length > 0 ? `${path.join(".")}: ${message}` : message
  );
  return { wrong: joinFaults(messages) };
}

function checkByJsonSchema(schema: JsonSchema, args: Readonly<Record<string, unknown>>): CheckedArguments {
  const errors = checkSchema(schema, withRoundedIntegers(args));
  if (errors.length === 0) return { arguments: { ...args } };
  // The validator reports errors from the outermost level to the innermost; the innermost name the cause.
  const deepest = errors.filter(({ keyword }) => !OUTER.has(keyword));
  const shown = deepest.length > 0 ? deepest : errors;
  return { wrong: joinFaults(shown.map(({ location, message }) => `${locationPrefix(location)}${message}`)) };
}

/** Returns arguments for a check: the validator has no integers that a number cannot hold. */
function withRoundedIntegers(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withRoundedIntegers);
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, withRoundedIntegers(member)]),
  );
}

/** Keywords whose error only repeats an inner error. */
const OUTER: ReadonlySet<string> = new Set(["properties", "items", "prefixItems", "$ref", "allOf", "false"]);

function locationPrefix(location: string): string {
  const path = location.replace(/^#\/?/, "").split("/").map(decodeURIComponent).join(".");
  return path === "" ? "" : `${path}: `;
}

function joinFaults(messages: readonly string[]): string {
  const more = messages.length - MAX_FAULTS;
  const shown = messages.slice(0, MAX_FAULTS).map((fault) => fault.replace(/\.$/, "")).join("; ");
  return more > 0 ? `${shown}; and ${more} more` : shown;
}
