import * as z from "zod";

/** A JSON Schema that describes an object. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Second argument of a tool's `run`. */
export interface ToolContext {
  /** Aborted when the call exceeds its time limit or is cancelled. */
  readonly signal: AbortSignal;
  /** Id of the call: the model's own id or tag, or a generated id. */
  readonly callId: string;
  /**
   * JSON of the arguments in the code's form, if JavaScript would write a number differently: `1.0`, an integer
   * beyond 2^53. Calls of a model have no such JSON.
   */
  readonly argumentsText?: string | undefined;
  /** State of the episode that all tools share, empty at the start of an episode. */
  readonly state: Record<string, unknown>;
}

/** Who calls a tool: the model in a reply, or the Python code of a block. */
export type AllowedCaller = "model" | "code";

/**
 * A tool that a model can call. The code that makes a tool disposes it.
 *
 * A `HostTool` is also a `Tool` that uses only the signal.
 */
export interface Tool extends Partial<AsyncDisposable> {
  readonly name: string;
  readonly description: string;
  /**
   * Schema of the arguments, as a zod object or a JSON Schema. Arguments that do not match are refused
   * before `run`.
   */
  readonly parameters: z.ZodObject | JsonSchema;
  /**
   * Maximum duration of a call, in milliseconds.
   * @default the limit of the transform
   */
  readonly timeoutMs?: number | undefined;
  /**
   * If true, the tool checks arguments itself, and the parameters are only shown to the model.
   * @default false
   */
  readonly checksItself?: boolean | undefined;
  /**
   * Who may call the tool.
   * @default the transform's choice
   */
  readonly allowedCallers?: readonly AllowedCaller[] | undefined;
  /**
   * If true, arguments of calls from code are checked against `parameters` in the sandbox, before a call leaves the
   * sandbox.
   * @default true, unless `checksItself`
   */
  readonly checksInSandbox?: boolean | undefined;
  /**
   * If true, a successful call ends the episode.
   * @default false
   */
  readonly endsEpisode?: boolean | undefined;
  /**
   * Returns a string, any other JSON value, or {@linkcode ToolParts}. The model reads the message of a
   * thrown error; a `ToolError` marks an error that the model can correct.
   */
  run(args: Record<string, unknown>, context: ToolContext): unknown;
}

/** Argument of {@linkcode tool}: a {@linkcode Tool} whose `run` has typed arguments. */
export interface ToolDefinition<Shape extends z.ZodRawShape>
  extends Omit<Tool, "parameters" | "run">, Partial<AsyncDisposable> {
  readonly parameters: z.ZodObject<Shape>;
  run(args: z.output<z.ZodObject<Shape>>, context: ToolContext): unknown;
}

/** Argument of {@linkcode tool} with a JSON Schema, which gives the arguments of `run` no types. */
export interface JsonSchemaToolDefinition extends Omit<Tool, "parameters">, Partial<AsyncDisposable> {
  readonly parameters: JsonSchema;
}

/**
 * Makes a {@linkcode Tool}. The types of the arguments of `run` follow from `parameters`, a zod object. With a JSON
 * Schema, arguments are checked in the same way, and have no types.
 *
 * @example A tool that adds
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { tool } from "@paddock/paddock";
 * import { z } from "zod";
 *
 * const add = tool({
 *   name: "add",
 *   description: "Adds two numbers.",
 *   parameters: z.object({ a: z.number(), b: z.number() }),
 *   run: ({ a, b }) => ({ result: a + b }),
 * });
 * assertEquals(add.name, "add");
 * ```
 *
 * @throws {TypeError} when the name is empty or contains white space, `<`, `>` or `"`, which no call can
 * express.
 */
export function tool<Shape extends z.ZodRawShape>(definition: ToolDefinition<Shape>): Tool;
/**
 * Makes a {@linkcode Tool} with a JSON Schema.
 *
 * @example A tool that doubles
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { tool } from "@paddock/paddock";
 *
 * const double = tool({
 *   name: "double",
 *   description: "Doubles a number.",
 *   parameters: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
 *   run: ({ n }) => 2 * Number(n),
 * });
 * assertEquals(double.name, "double");
 * ```
 */
export function tool(definition: JsonSchemaToolDefinition): Tool;
export function tool(definition: { readonly name: string }): Tool {
  requireToolName(definition.name);
  return definition as Tool;
}

/**
 * Checks the name of a tool.
 *
 * @throws {TypeError} when the name is empty or contains white space, `<`, `>` or `"`.
 */
export function requireToolName(name: string): void {
  if (/^[^\s<>"]+$/.test(name)) return;
  throw new TypeError(
    `Cannot define tool as its name must not be empty or contain white space, '<', '>' or '"': current value is '${name}'`,
  );
}

/**
 * Makes a tool that ends the episode: the episode terminates, and `[stop] reason` is the last message.
 *
 * @example
 * ```ts
 * import { ChatEnv, ToolTransform, TransformedEnv } from "@paddock/paddock";
 * import { stopTool } from "@paddock/paddock/tools";
 *
 * const tools = new ToolTransform({ tools: [stopTool()] });
 * await using env = new TransformedEnv(new ChatEnv(), [tools]);
 * ```
 */
export function stopTool(): Tool {
  return tool({
    name: "stop",
    description: "Ends the conversation. Call it when the task is done or cannot be done.",
    parameters: z.object({ reason: z.string().default("").describe("Why the work is over.") }),
    endsEpisode: true,
    run: ({ reason }) => `[stop] ${reason}`.trimEnd(),
  });
}
