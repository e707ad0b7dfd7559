import type { z } from "zod";

/** A JSON Schema that describes an object. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What a running tool is told beside its arguments. */
export interface ToolContext {
  /** Aborted when the call has run out of time, or when nobody waits for it any more. */
  readonly signal: AbortSignal;
  /** Names the call: the model's own id or tag, or one that was made for it. */
  readonly callId: string;
  /** What tools keep for the length of an episode: one object for all of them, empty at its start. */
  readonly state: Record<string, unknown>;
}

/**
 * Something that a model may call. A tool that holds something open is disposed by who made it.
 *
 * A `HostTool` is one too: it just looks at the signal alone.
 */
export interface Tool extends Partial<AsyncDisposable> {
  readonly name: string;
  readonly description: string;
  /** The arguments, as a zod object or a JSON Schema; what does not fit is refused before `run` is called. */
  readonly parameters: z.ZodObject | JsonSchema;
  /** Milliseconds that a call of this tool may take; the limit of its transform unless given. */
  readonly timeoutMs?: number | undefined;
  /** True for a tool that checks its arguments itself: its parameters are then only shown to the model. */
  readonly checksItself?: boolean | undefined;
  /** True for a tool whose success ends the episode. */
  readonly endsEpisode?: boolean | undefined;
  /**
   * Gives a text, any other value of JSON, or {@linkcode ToolParts}. What it throws is told to the model; a
   * `ToolError` says that the model may mend it.
   */
  run(args: Record<string, unknown>, context: ToolContext): unknown;
}

/** What {@linkcode tool} is given: a {@linkcode Tool} whose `run` knows the types of its arguments. */
export interface ToolDefinition<Shape extends z.ZodRawShape>
  extends Omit<Tool, "parameters" | "run">, Partial<AsyncDisposable> {
  readonly parameters: z.ZodObject<Shape>;
  run(args: z.output<z.ZodObject<Shape>>, context: ToolContext): unknown;
}

/**
 * Makes a {@linkcode Tool}, with the arguments of `run` typed by its parameters.
 *
 * @example A tool that adds
 * ```ts
 * import { tool } from "@paddock/paddock";
 * import { z } from "zod";
 *
 * const add = tool({
 *   name: "add",
 *   description: "Adds two numbers.",
 *   parameters: z.object({ a: z.number(), b: z.number() }),
 *   run: ({ a, b }) => ({ result: a + b }),
 * });
 * if (add.name !== "add") throw new Error(add.name);
 * ```
 *
 * @throws {TypeError} when the name is empty or has white space or `<`, `>`, `"` in it, which no call could spell.
 */
export function tool<Shape extends z.ZodRawShape>(definition: ToolDefinition<Shape>): Tool {
  requireToolName(definition.name);
  return definition as unknown as Tool;
}

/**
 * Refuses a name that calls cannot spell.
 *
 * @throws {TypeError} when the name is empty or has white space or `<`, `>`, `"` in it.
 */
export function requireToolName(name: string): void {
  if (/^[^\s<>"]+$/.test(name)) return;
  throw new TypeError(
    `Cannot define tool as its name must be free of white space, '<', '>' and '"': current value is '${name}'`,
  );
}
