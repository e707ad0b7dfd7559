import { encodeFrame, FrameKind, FrameSplitter } from "../../../sandbox/protocol.ts";

/** Runs a call. */
type Handler = (call: unknown, signal: AbortSignal) => unknown;

/** Options of {@linkcode serveCalls}. */
interface ServeOptions {
  /** Second argument of `JSON.stringify` for results. */
  readonly replacer?: (key: string, value: unknown) => unknown;
}

const decoder = new TextDecoder();
const { stdin, stdout, stderr, exit } = Deno;
const writeOut = stdout.writeSync.bind(stdout);
const calls = new Map<number, AbortController>();

// stdout carries frames only, so the file's own output goes to stderr.
// deno-lint-ignore no-console
for (const name of ["log", "info", "debug", "table", "dir"] as const) console[name] = console.error;
Object.defineProperty(Deno, "stdout", { value: stderr });

/** Sends the metadata of the file and serves calls over stdin and stdout until the host closes stdin. */
export async function serveCalls(
  metadata: unknown,
  handle: Handler,
  options: ServeOptions = {},
): Promise<void> {
  send(FrameKind.opened, 0, metadata);
  const splitter = new FrameSplitter();
  for await (const chunk of stdin.readable) {
    for (const { kind, session, payload } of splitter.push(chunk)) {
      if (kind === FrameKind.exec) handleCall(session, payload, { handle, ...options });
      else if (kind === FrameKind.interrupt) interrupt(session);
    }
  }
  exit(0);
}

async function handleCall(
  slot: number,
  payload: Uint8Array,
  { handle, replacer }: ServeOptions & { handle: Handler },
): Promise<void> {
  const abortController = new AbortController();
  calls.set(slot, abortController);
  try {
    const value = await handle(JSON.parse(decoder.decode(payload)), abortController.signal);
    send(FrameKind.result, slot, { value: value ?? null }, replacer);
  } catch (error) {
    send(FrameKind.result, slot, { error: errorText(error) });
  } finally {
    calls.delete(slot);
  }
}

/** Aborts a call and confirms the abort to the host, which shows that this process still responds. */
function interrupt(slot: number): void {
  calls.get(slot)?.abort(new DOMException("The call was cancelled", "AbortError"));
  send(FrameKind.done, slot, null);
}

function errorText(error: unknown): string {
  try {
    return error instanceof Error ? `${error.message || error.name}` : `${error}`;
  } catch {
    return "the tool failed with an error that has no text";
  }
}

function send(
  kind: FrameKind,
  slot: number,
  content: unknown,
  replacer?: (key: string, value: unknown) => unknown,
): void {
  const bytes = encodeFrame(kind, slot, JSON.stringify(content, replacer));
  for (let offset = 0; offset < bytes.length;) offset += writeOut(bytes.subarray(offset));
}
