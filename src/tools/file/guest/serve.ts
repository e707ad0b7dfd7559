import { encodeFrame, FrameKind, FrameSplitter } from "../../../sandbox/protocol.ts";

/** What a tool's file exports, as far as anybody can tell. */
interface ToolModule {
  readonly default?: unknown;
  readonly run?: unknown;
  readonly name?: unknown;
  readonly description?: unknown;
  readonly parameters?: unknown;
}

/** A schema that knows its own JSON Schema: zod's, or any other of the Standard Schema family. */
interface StandardSchema {
  validate(value: unknown): unknown;
  readonly jsonSchema?: { input(options: { target: string }): Record<string, unknown> };
}

type Run = (args: unknown, context: { signal: AbortSignal; callId: string }) => unknown;

const decoder = new TextDecoder();
const { stdin, stdout, stderr, exit } = Deno;
const writeOut = stdout.writeSync.bind(stdout);
const calls = new Map<number, AbortController>();

// The pipe is for frames: whatever the tool prints goes to stderr.
// deno-lint-ignore no-console
for (const name of ["log", "info", "debug", "table", "dir"] as const) console[name] = console.error;
Object.defineProperty(Deno, "stdout", { value: stderr });

/** Offers a tool's exports over the pipe, until the host closes it. */
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
  for await (const piece of stdin.readable) {
    for (const { kind, session, payload } of splitter.push(piece)) {
      if (kind === FrameKind.exec) answer(session, payload, { run: run as Run, schema });
      else if (kind === FrameKind.interrupt) interrupt(session);
    }
  }
  exit(0);
}

async function answer(
  slot: number,
  payload: Uint8Array,
  { run, schema }: { run: Run; schema: StandardSchema | undefined },
): Promise<void> {
  const stop = new AbortController();
  calls.set(slot, stop);
  try {
    const { args, callId } = JSON.parse(decoder.decode(payload));
    const value = await run(await parsed(schema, args), { signal: stop.signal, callId });
    send(FrameKind.result, slot, { value: value ?? null });
  } catch (error) {
    send(FrameKind.result, slot, { error: errorText(error) });
  } finally {
    calls.delete(slot);
  }
}

/** Tells the call, and then the host, that the call is to end: who answers is alive. */
function interrupt(slot: number): void {
  calls.get(slot)?.abort(new DOMException("Nobody waits for the call any more", "AbortError"));
  send(FrameKind.done, slot, null);
}

async function parsed(schema: StandardSchema | undefined, args: unknown): Promise<unknown> {
  if (schema === undefined) return args;
  const result = await schema.validate(args) as { value?: unknown; issues?: readonly { message: string }[] };
  if (result.issues === undefined) return result.value;
  throw new TypeError(`wrong arguments: ${result.issues.map(({ message }) => message).join("; ")}`);
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
  for (let at = 0; at < bytes.length;) at += writeOut(bytes.subarray(at));
}
