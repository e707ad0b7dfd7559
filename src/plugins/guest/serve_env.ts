import { serveCalls } from "../../tools/file/guest/calls.ts";
import { kindOf, requireFinite } from "./serve_definition.ts";

const HOOKS = ["reset", "step", "reward"] as const;
const EXAMPLE = "'export default defineEnv({ … })'";

type Run = (input: unknown, context: { signal: AbortSignal; state: Record<string, unknown> }) => unknown;

/** A call of a function or of a tool of an env. */
interface Call {
  readonly hook: string;
  /** Name of the tool, if a tool is called. */
  readonly tool?: string;
  readonly input: unknown;
  readonly state: Record<string, unknown>;
}

interface ServedTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: unknown;
  readonly run: Run;
}

/** Serves calls of the env that is a file's default export until the host closes stdin. */
export async function serveEnv(module: { default?: unknown }): Promise<void> {
  const definition = requireEnv(module.default);
  const tools = requireTools(definition.tools);
  const hooks = HOOKS.filter((hook) => definition[hook] !== undefined);
  if (hooks.length === 0 && tools.length === 0) {
    throw new TypeError(
      `the default export must have a function 'reset', 'step' or 'reward', or 'tools', as in ${EXAMPLE}: found none`,
    );
  }
  const { name, system, python } = definition;
  const metadata = {
    name,
    system,
    python,
    hooks,
    tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
  };
  await serveCalls(metadata, async (call, signal) => {
    const { hook, tool, input, state } = call as Call;
    const context = { signal, state };
    const found = tools.find(({ name }) => name === tool);
    const value = found === undefined
      ? await (definition[hook] as Run)(input, context)
      : await found.run(input, context);
    return { value: value ?? null, state };
  }, { replacer: requireFinite });
}

function requireEnv(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null) {
    const found = value === undefined ? "none" : kindOf(value);
    throw new TypeError(
      `the file must have a default export that is an object, as in ${EXAMPLE}: found ${found}`,
    );
  }
  const definition = value as Record<string, unknown>;
  for (const hook of HOOKS) {
    if (definition[hook] === undefined || typeof definition[hook] === "function") continue;
    throw new TypeError(
      `'${hook}' of the default export must be a function: found ${kindOf(definition[hook])}`,
    );
  }
  return definition;
}

function requireTools(value: unknown): ServedTool[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    throw new TypeError(`'tools' of the default export must be a list: found ${kindOf(value)}`);
  }
  for (const tool of value) {
    if (typeof tool === "object" && tool !== null && typeof tool.run === "function") continue;
    throw new TypeError(
      "each of 'tools' must be { name, description, parameters, run }: found another value",
    );
  }
  return value;
}
