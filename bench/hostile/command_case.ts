import { setprivPrefix } from "../../src/sandbox/process/namespaces.ts";
import { parentDeath } from "../serving.ts";
import { type CommandCase, type CommandResult, growth, type Measured } from "./case.ts";
import { MemoryWatch } from "./memory_watch.ts";
import type { SuiteOptions } from "./server_case.ts";

/** Time after which the command is killed, as a multiple of the time of a case. */
const PATIENCE = 2;
/** Characters of output that are kept. */
const MAX_KEPT_CHARACTERS = 1 << 20;

/** Runs the command line with an honest peer or file, then with a lying one, and compares time and memory. */
export async function measureCommandCase(attack: CommandCase, options: SuiteOptions): Promise<Measured> {
  const { permittedMs = 0 } = attack;
  const honest = await run(attack, { ...options, isLying: false });
  const lying = await run(attack, { ...options, isLying: true });
  const { host, tree } = growth(lying.peak, honest.peak);
  return {
    hostBytes: host,
    treeBytes: tree,
    keptBytes: 0,
    waitMs: lying.ms,
    quietMs: honest.ms + permittedMs,
    twinMs: honest.ms,
    waited: "",
    outcome: lying.outcome,
    breaches: [...honest.breaches.map((text) => `with an honest peer: ${text}`), ...lying.breaches],
  };
}

async function run(attack: CommandCase, options: SuiteOptions & { isLying: boolean }) {
  await using stack = new AsyncDisposableStack();
  const folder = await Deno.makeTempDir();
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  const { root, isLying } = options;
  const { args, stdin = "", env = {}, check = () => undefined } = await attack.prepare({
    folder,
    isLying,
    root,
    stack,
  });
  const [program = "", ...words] = [
    ...setprivPrefix(await parentDeath()),
    Deno.execPath(),
    "run",
    "-A",
    "--quiet",
  ];
  const startedAt = performance.now();
  const child = new Deno.Command(program, {
    args: [...words, ...args],
    cwd: root,
    env: { NO_COLOR: "1", PADDOCK_TREE: root, ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  using memory = new MemoryWatch(child.pid, { killBytes: options.killBytes });
  const timer = setTimeout(
    () => child.kill("SIGKILL"),
    PATIENCE * options.caseMs + (attack.permittedMs ?? 0),
  );
  const written = writeInput(child.stdin, stdin);
  const [stdout, stderr] = await Promise.all([readText(child.stdout), readText(child.stderr)]);
  const { code, signal } = await child.status;
  clearTimeout(timer);
  await written;
  const ms = performance.now() - startedAt;
  const result: CommandResult = { code: signal === null ? code : undefined, stdout, stderr };
  const killed = memory.wasKilled ? "killed above the limit of memory" : "killed: it did not end";
  const fault = result.code === undefined ? killed : await check(result);
  const lastLine = stderr.trim().split("\n").at(-1) ?? "";
  return {
    ms,
    peak: memory.peak,
    outcome: result.code === undefined ? "killed" : `exit ${code}: ${lastLine}`,
    breaches: fault === undefined ? [] : [fault],
  };
}

async function writeInput(stream: WritableStream<Uint8Array<ArrayBuffer>>, text: string): Promise<void> {
  try {
    await new Blob([text]).stream().pipeTo(stream);
  } catch {
    // the command has ended before it read everything
  }
}

/** Reads a stream to its end, and keeps its end. */
async function readText(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> {
  let text = "";
  for await (const piece of stream.pipeThrough(new TextDecoderStream())) {
    text = (text + piece).slice(-MAX_KEPT_CHARACTERS);
  }
  return text;
}
