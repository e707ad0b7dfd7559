import { serveCalls } from "../../tools/file/guest/calls.ts";

/** Parts of a kind of definition. */
interface DefinitionKind {
  /** Function that checks the types of a definition, for messages. */
  readonly helper: string;
  /** Functions of a definition, which must have at least one function. */
  readonly hooks: readonly string[];
  /** True if each function must return a value. */
  readonly needsResult: boolean;
}

type Hook = (input: unknown, context: { signal: AbortSignal }) => unknown;

/** Serves calls of the functions of a file's default export until the host closes stdin. */
export async function serveDefinition(module: { default?: unknown }, kind: DefinitionKind): Promise<void> {
  const definition = requireDefinition(module.default, kind);
  const hooks = kind.hooks.filter((hook) => typeof definition[hook] === "function");
  const run = async (call: unknown, signal: AbortSignal) => {
    const { hook, input } = call as { hook: string; input: unknown };
    const value = await (definition[hook] as Hook)(input, { signal });
    if (value !== undefined || !kind.needsResult) return value;
    throw new TypeError(`'${hook}' must return a value: it returned undefined`);
  };
  await serveCalls({ name: definition.name, hooks }, run, { replacer: requireFinite });
}

function requireDefinition(value: unknown, { helper, hooks }: DefinitionKind): Record<string, unknown> {
  const example = `'export default ${helper}({ … })'`;
  if (value === undefined) {
    throw new TypeError(`the file must have a default export, as in ${example}: found none`);
  }
  if (typeof value !== "object" || value === null) {
    throw new TypeError(`the default export must be an object, as in ${example}: found ${kindOf(value)}`);
  }
  const definition = value as Record<string, unknown>;
  const { name } = definition;
  if (name !== undefined && (typeof name !== "string" || name === "")) {
    throw new TypeError(
      `'name' of the default export must be a string that is not empty: found ${kindOf(name)}`,
    );
  }
  for (const hook of hooks) {
    if (definition[hook] === undefined || typeof definition[hook] === "function") continue;
    throw new TypeError(
      `'${hook}' of the default export must be a function: found ${kindOf(definition[hook])}`,
    );
  }
  if (hooks.some((hook) => definition[hook] !== undefined)) return definition;
  const names = hooks.map((hook) => `'${hook}'`).join(" or ");
  throw new TypeError(`the default export must have a function ${names}, as in ${example}: found none`);
}

export function kindOf(value: unknown): string {
  return value === null ? "null" : `a value of type ${typeof value}`;
}

/** Refuses numbers that JSON does not have, as JSON would write them as `null`. */
export function requireFinite(key: string, value: unknown): unknown {
  if (typeof value !== "number" || Number.isFinite(value)) return value;
  throw new RangeError(`'${key}' of the result must be a finite number: it is ${value}`);
}
