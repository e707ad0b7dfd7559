import { serveCalls } from "./calls.ts";

/** Exports of a tool file, not yet checked. */
interface ToolModule {
  readonly default?: unknown;
  readonly run?: unknown;
  readonly name?: unknown;
  readonly description?: unknown;
  readonly parameters?: unknown;
}

/** A schema that can describe itself as JSON Schema: zod's, or another of the Standard Schema family. */
interface StandardSchema {
  validate(value: unknown): unknown;
  readonly jsonSchema?: { input(options: { target: string }): Record<string, unknown> };
}

type Run = (args: unknown, context: { signal: AbortSignal; callId: string }) => unknown;

/** Serves calls of a tool over stdin and stdout until the host closes stdin. */
export async function serve(module: ToolModule): Promise<void> {
  const run = typeof module.default === "function" ? module.default : module.run;
  if (typeof run !== "function") throw new TypeError("the file must export 'run', or a default function");
  const schema = standardSchema(module.parameters);
  const metadata = {
    name: module.name,
    description: module.description,
    parameters: schema?.jsonSchema?.input({ target: "draft-2020-12" }) ?? module.parameters,
  };
  await serveCalls(metadata, async (call, signal) => {
    const { args, callId } = call as { args: unknown; callId: string };
    return await (run as Run)(await parseArguments(schema, args), { signal, callId });
  });
}

async function parseArguments(schema: StandardSchema | undefined, args: unknown): Promise<unknown> {
  if (schema === undefined) return args;
  const validation = await schema.validate(args) as {
    value?: unknown;
    issues?: readonly { message: string }[];
  };
  if (validation.issues === undefined) return validation.value;
  throw new TypeError(`wrong arguments: ${validation.issues.map(({ message }) => message).join("; ")}`);
}

function standardSchema(parameters: unknown): StandardSchema | undefined {
  if (typeof parameters !== "object" || parameters === null || !("~standard" in parameters)) return undefined;
  return parameters["~standard"] as StandardSchema;
}
