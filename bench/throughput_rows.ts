import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { Sandbox, type SandboxOptions } from "../src/sandbox/sandbox.ts";
import type { Session } from "../src/sandbox/session.ts";
import type { HostPython } from "./peers.ts";
import type { Row } from "./row.ts";
import { type BenchSetup, poolOptions } from "./sandbox_rows.ts";

const FOLDER = fileURLToPath(new URL("throughput/", import.meta.url));
const TIMEOUT_MS = 120_000;
/** Programs before the one that is measured as the tenth. */
const EARLIER = 9;
const NATIVE_RUNS = 3;

/** Runs a program, given as `code`, and prints or returns its seconds. */
const TIMED = `import time
compiled = compile(code, "program.py", "exec")
scope = {"__name__": "__main__"}
start = time.perf_counter()
exec(compiled, scope)
seconds = time.perf_counter() - start`;

/** Modes of {@linkcode SandboxOptions.optimize}, and how a row names them. */
const MODES = { use: "", start: ", optimized at the start" } as const;

interface Program {
  readonly name: string;
  readonly code: string;
}

/** Milliseconds of a program. */
interface Times {
  readonly native: number;
  /** As the first program of a process. */
  readonly first: number;
  /** As the tenth program of the same process. */
  readonly tenth: number;
}

/**
 * Measures how fast Python runs: kernels, and programs as models write them, as the first and as the tenth program of a
 * process, against the native interpreter. A figure is the geometric mean of the ratios.
 */
export async function throughputRows(setup: BenchSetup): Promise<Row[]> {
  const { python } = setup;
  if (!python) return [];
  const [kernels, programs] = [await readKernels(), await readPrograms()];
  const rows: Row[] = [];
  for (const [optimize, mode] of Object.entries(MODES) as [keyof typeof MODES, string][]) {
    const options = { setup: { ...poolOptions(setup), optimize }, python };
    const times: Times[] = [];
    for (const program of kernels) times.push(await measure([program], options));
    rows.push(...rowsOf(`${kernels.length} kernels${mode}`, times));
    const all = await measure(programs, options);
    rows.push(...rowsOf(`${programs.length} programs as models write them, together${mode}`, [all]));
  }
  return rows;
}

function rowsOf(what: string, times: readonly Times[]): Row[] {
  const mean = (ratio: (time: Times) => number) =>
    Math.exp(times.reduce((sum, time) => sum + Math.log(ratio(time)), 0) / times.length);
  const row = (which: string, ratio: (time: Times) => number, bound?: number): Row => ({
    what: `${what}: ${which}`,
    value: 100 * mean(ratio),
    unit: "%",
    ...(bound !== undefined && { bound }),
  });
  return [
    row("first of a process, time against native", ({ first, native }) => first / native, 180),
    row("tenth of a process, time against native", ({ tenth, native }) => tenth / native),
    row("first against tenth", ({ first, tenth }) => first / tenth, 115),
  ];
}

/** Runs programs one after the other in a new process, and natively. The times are sums. */
async function measure(
  programs: readonly Program[],
  { setup, python }: { setup: SandboxOptions; python: HostPython },
): Promise<Times> {
  const code = programs.map(({ code }) => code);
  let native = 0;
  for (const program of code) native += await timeNatively(python, program);
  await using sandbox = await Sandbox.start(setup);
  const session = await sandbox.openSession();
  const once = async () => {
    let sum = 0;
    for (const program of code) {
      sum += await timeInSession(session, program);
      await session.reset({ mode: "rewind" });
    }
    return sum;
  };
  const first = await once();
  for (let run = 1; run < EARLIER; run++) await once();
  return { native, first, tenth: await once() };
}

async function timeNatively({ executable }: HostPython, code: string): Promise<number> {
  const runs: number[] = [];
  for (let run = 0; run < NATIVE_RUNS; run++) {
    const { success, stdout } = await new Deno.Command(executable, {
      args: ["-I", "-c", `import sys\ncode = sys.argv[1]\n${TIMED}\nprint("\\n", seconds)`, code],
      stdin: "null",
      stderr: "inherit",
    }).output();
    if (!success) throw new Error("Cannot measure a program as it must run natively");
    runs.push(Number(new TextDecoder().decode(stdout).trim().split("\n").at(-1)) * 1000);
  }
  return Math.min(...runs);
}

async function timeInSession(session: Session, code: string): Promise<number> {
  const result = await session.exec(`${TIMED}\nseconds`, { inputs: { code }, timeoutMs: TIMEOUT_MS });
  if (result.status === "ok") return Number(result.value) * 1000;
  throw new Error(`Cannot measure a program as it must run: it ended as '${result.status}'\n${code}`);
}

async function readKernels(): Promise<Program[]> {
  const names = await Array.fromAsync(Deno.readDir(`${FOLDER}kernels`), ({ name }) => name);
  return await Promise.all(
    names.sort().map(async (name) => ({
      name: basename(name, ".py"),
      code: await Deno.readTextFile(`${FOLDER}kernels/${name}`),
    })),
  );
}

/** Reads the programs of a file, which lines of `# --- name` separate. */
async function readPrograms(): Promise<Program[]> {
  const text = await Deno.readTextFile(`${FOLDER}programs.py`);
  return text.split(/^# --- /m).slice(1).map((part) => ({
    name: part.slice(0, part.indexOf("\n")),
    code: part.slice(part.indexOf("\n") + 1),
  }));
}
