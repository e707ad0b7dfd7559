import type { z } from "zod";

/** What a running host tool is told. */
export interface HostToolContext {
  /** Aborted when the exec that made the call ends, however it ends. */
  signal: AbortSignal;
}

/** A function of the host that a guest may call while an exec that was granted it runs. */
export interface HostTool {
  readonly name: string;
  readonly description: string;
  /** The arguments; what does not fit is refused before `run` is called. */
  readonly parameters: z.ZodObject;
  /** Its result crosses as JSON. What it throws is raised in the guest with its message. */
  run(args: Record<string, unknown>, context: HostToolContext): unknown;
}

/**
 * Makes a {@linkcode HostTool}, with the arguments of `run` typed by its parameters.
 *
 * @throws {TypeError} when the name is not a Python identifier.
 */
export function hostTool<Shape extends z.ZodRawShape>(definition: {
  name: string;
  description: string;
  parameters: z.ZodObject<Shape>;
  run(args: z.output<z.ZodObject<Shape>>, context: HostToolContext): unknown;
}): HostTool {
  if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(definition.name)) {
    throw new TypeError(
      `Cannot define host tool as its name must be a Python identifier: current value is '${definition.name}'`,
    );
  }
  return definition as unknown as HostTool;
}
