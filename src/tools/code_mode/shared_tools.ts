import { ArgumentTypeError } from "../../errors.ts";
import type { AllowedCaller, Tool } from "../tool.ts";

/** Tools with the state of the episode that they share. */
export interface ToolGroup {
  readonly tools: readonly Tool[];
  readonly state: Record<string, unknown>;
}

/**
 * Tools that the transforms of an env offer to code: each transform adds tools, and a later transform that runs code reads
 * them.
 */
export class SharedTools {
  readonly #groups: ToolGroup[] = [];

  /** The tools so far. */
  get groups(): readonly ToolGroup[] {
    return this.#groups;
  }

  /** Adds tools, unless there are none. */
  add(group: ToolGroup): void {
    if (group.tools.length > 0) this.#groups.push(group);
  }
}

/** Who may call tools that do not state their callers. */
const MODEL_ONLY: readonly AllowedCaller[] = ["model"];

/**
 * Returns the tools that a model calls, and those that code calls.
 *
 * @throws {TypeError} if a list of callers is empty, or has another caller.
 */
export function toolsByCaller(
  tools: readonly Tool[],
  byDefault: readonly AllowedCaller[] = MODEL_ONLY,
): { readonly ofModel: Tool[]; readonly ofCode: Tool[] } {
  requireCallers(byDefault);
  const callersOf = ({ allowedCallers = byDefault }: Tool) => requireCallers(allowedCallers);
  return {
    ofModel: tools.filter((tool) => callersOf(tool).includes("model")),
    ofCode: tools.filter((tool) => callersOf(tool).includes("code")),
  };
}

/**
 * Returns a list of callers.
 *
 * @throws {TypeError} if the list is empty, or has another caller.
 */
export function requireCallers(callers: readonly AllowedCaller[]): readonly AllowedCaller[] {
  const isKnown = (caller: string) => caller === "model" || caller === "code";
  if (Array.isArray(callers) && callers.length > 0 && callers.every(isKnown)) return callers;
  throw new ArgumentTypeError(
    `Cannot offer tools as 'allowedCallers' must have "model" or "code": current value is ${
      JSON.stringify(callers)?.slice(0, 200)
    }`,
  );
}
