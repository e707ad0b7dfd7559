import type { output, ZodObject, ZodRawShape } from "zod";

/** Context of a running host tool. */
export interface HostToolContext {
  /** Aborts when the exec that made the call ends, for any reason. */
  signal: AbortSignal;
  /**
   * JSON of the arguments as the guest wrote it, if JavaScript would write one of its numbers differently, such as `1.0`.
   * Only tools with `exactIntegers` get it.
   */
  argumentsText?: string | undefined;
  /** Resolves when the result is written to the guest, which may be slow to read it, or when the exec has ended. */
  delivered?: Promise<void> | undefined;
}

/** How Python finds and calls a {@linkcode HostTool}. */
export interface HostToolInPython {
  /**
   * If true, arguments are also checked in the sandbox, so that a call with wrong ones never leaves it.
   *
   * @default false
   */
  readonly checksArguments?: boolean | undefined;
  /** Name of a global function of the block or, with `module`, of a function of that module. */
  readonly alias?: string | undefined;
  /** Name of a module with the tool: `from paddock import <module>`. */
  readonly module?: string | undefined;
}

/**
 * A function of the host that guest code may call while an exec with this tool runs. It runs outside the sandbox.
 */
export interface HostTool {
  /** Name of the function in `paddock.tools`: a Python identifier. */
  readonly name: string;
  readonly description: string;
  /** Schema of the arguments. Calls with other arguments fail before `run` is called. */
  readonly parameters: ZodObject;
  /**
   * If true, an integer that a number cannot hold is a bigint in the arguments of `run`. Otherwise it is rounded.
   *
   * @default false
   */
  readonly exactIntegers?: boolean | undefined;
  /** How Python finds and calls the tool beside `paddock.tools.<name>`. */
  readonly python?: HostToolInPython | undefined;
  /**
   * Runs a call. Its result is sent to the guest as JSON; a `Uint8Array` in it becomes bytes, and a bigint an integer. An
   * error is raised in the guest with the same message.
   */
  run(args: Record<string, unknown>, context: HostToolContext): unknown;
}

/**
 * Makes a {@linkcode HostTool} whose `run` has arguments typed by `parameters`.
 *
 * @example Let Python call a function of the host
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { hostTool } from "@paddock/paddock/sandbox";
 * import { z } from "zod";
 *
 * const search = hostTool({
 *   name: "search",
 *   description: "Searches the documents",
 *   parameters: z.object({ query: z.string() }),
 *   run: ({ query }) => [`no document has '${query}'`],
 * });
 * // A session of the profile `tools` can call it in Python as `paddock.tools.search(query="x")`
 * // if it gets the option `tools`: `session.exec(code, { tools: [search] })`.
 * assertEquals(search.name, "search");
 * ```
 *
 * @throws {TypeError} if the name is not a Python identifier.
 */
export function hostTool<Shape extends ZodRawShape>(definition: {
  name: string;
  description: string;
  parameters: ZodObject<Shape>;
  run(args: output<ZodObject<Shape>>, context: HostToolContext): unknown;
}): HostTool {
  if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(definition.name)) {
    throw new TypeError(
      `Cannot define host tool as its name must be a Python identifier: current value is '${definition.name}'`,
    );
  }
  return definition as unknown as HostTool;
}
