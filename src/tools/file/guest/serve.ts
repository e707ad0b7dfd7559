import { encodeFrame, FrameKind, FrameSplitter } from "../../../sandbox/protocol.ts";

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

const decoder = new TextDecoder();
const { stdin, stdout, stderr, exit } = Deno;
const writeOut = stdout.writeSync.bind(stdout);
const calls = new Map<number, AbortController>();

// stdout carries frames only, so the tool's own output goes to stderr.
// deno-lint-ignore no-console
for (const name of ["log", "info", "debug", "table", "dir"] as const) console[name] = console.error;
Object.defineProperty(Deno, "stdout", { value: stderr });

/** Serves calls of a tool over stdin and stdout until the host closes stdin. */
export async function serve(module: ToolModule): Promise<void> {
  const run = typeof module.default === "function" ? module.default : module.run;
  if (typeof run !== "function") throw new TypeError("the file must export 'run', or a default function");
  const schema = standardSchema(module.parameters);
  send(FrameKind.opened, 0, {
    name: module.name,
    description: module.description,
    parameters: schema?.jsonSchema?.input({ target: "draft-2020-12" }) ?? module.parameters,
  });
  const splitter = new FrameSplitter();
  for await (const chunk of stdin.readable) {
    for (const { kind, session, payload } of splitter.push(chunk)) {
      if (kind === FrameKind.exec) handleCall(session, payload, { run: run as Run, schema });
      else if (kind === FrameKind.interrupt) interrupt(session);
    }
  }
  exit(0);
}

async function handleCall(
  slot: number,
  payload: Uint8Array,
  { run, schema }: { run: Run; schema: StandardSchema | undefined },
): Promise<void> {
  const abortController = new AbortController();
  calls.set(slot, abortController);
  try {
    const { args, callId } = JSON.parse(decoder.decode(payload));
    const value = await run(await parseArguments(schema, args), { signal: abortController.signal, callId });
    send(FrameKind.result, slot, { value: value ?? null });
  } catch (error) {
    send(FrameKind.result, slot, { error: errorText(error) });
  } finally {
    calls.delete(slot);
  }
}

/** Aborts a call and confirms it to the host, which shows that this process still responds. */
function interrupt(slot: number): void {
  calls.get(slot)?.abort(new DOMException("The call was cancelled", "AbortError"));
  send(FrameKind.done, slot, null);
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

function errorText(error: unknown): string {
  try {
    return error instanceof Error ? `${error.message || error.name}` : `${error}`;
  } catch {
    return "the tool failed with an error that has no text";
  }
}

function send(kind: FrameKind, slot: number, content: unknown): void {
  const bytes = encodeFrame(kind, slot, JSON.stringify(content));
  for (let offset = 0; offset < bytes.length;) offset += writeOut(bytes.subarray(offset));
}
