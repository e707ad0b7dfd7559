/** Other ways to run a model's Python, without isolation, measured in the same run. */

/** The Python interpreter of the host. */
export interface HostPython {
  /** Path of the interpreter itself. */
  readonly executable: string;
  /** For example `3.12.4`. */
  readonly version: string;
}

const DESCRIBE = "import platform, sys; print(sys.executable); print(platform.python_version())";

/**
 * Finds the interpreter that `command` starts; `undefined` if there is none.
 *
 * A version manager puts a shell script in the place of `python3`, which takes several times as long to start as the
 * interpreter. The interpreter names its own file, so that no measurement times the script.
 */
export async function findPython(command = "python3"): Promise<HostPython | undefined> {
  try {
    const { success, stdout } = await new Deno.Command(command, {
      args: ["-c", DESCRIBE],
      stdin: "null",
      stderr: "null",
    }).output();
    const [executable = "", version = ""] = new TextDecoder().decode(stdout).split("\n");
    return success && executable !== "" ? { executable, version } : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Runs each program in a new child, as most harnesses do. */
export async function runChild(python: string, code: string): Promise<string> {
  const { stdout } = await new Deno.Command(python, { args: ["-c", code], stdin: "null", stderr: "null" })
    .output();
  return new TextDecoder().decode(stdout);
}

const LOOP = `
import sys, json, io, contextlib, linecache, traceback
scope = {"__name__": "__main__"}
for line in sys.stdin:
    code, out, value = json.loads(line), io.StringIO(), None
    with contextlib.redirect_stdout(out):
        try:
            try:
                compiled = compile(code, "<block>", "eval")
            except SyntaxError:
                compiled = compile(code, "<block>", "exec")
            value = eval(compiled, scope)
            value = value if value is None else repr(value)
        except Exception:
            linecache.cache["<block>"] = (len(code), None, code.splitlines(True), "<block>")
            traceback.print_exc(file=out)
    print(json.dumps([out.getvalue(), value]), flush=True)
`;

/** A child that keeps its globals and reads programs from a pipe. */
export class PersistentPython implements AsyncDisposable {
  readonly pid: number;
  readonly #process: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #reader: ReadableStreamDefaultReader<string>;

  constructor(python: string) {
    this.#process = new Deno.Command(python, {
      args: ["-u", "-c", LOOP],
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    this.pid = this.#process.pid;
    this.#writer = this.#process.stdin.getWriter();
    this.#reader = this.#process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** Runs one program and returns its output, with a traceback if it raised, and the value of an expression. */
  async exec(code: string): Promise<[output: string, value: string | null]> {
    await this.#writer.write(new TextEncoder().encode(`${JSON.stringify(code)}\n`));
    let answer = "";
    while (!answer.endsWith("\n")) {
      const { value, done } = await this.#reader.read();
      if (done) throw new Error("Cannot exec as python3 ended");
      answer += value;
    }
    return JSON.parse(answer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writer.close();
    await this.#reader.cancel();
    await this.#process.status;
  }
}

const CHILDREN = `
import subprocess, sys, time
code, runs = sys.argv[1], int(sys.argv[2])
times = []
for _ in range(runs):
    start = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-c", code], stdout=subprocess.PIPE)
    times.append(time.perf_counter() - start)
print(1000 * sorted(times)[runs // 2])
`;

/** Runs a program in children that a Python process starts. Returns the median of their times, in milliseconds. */
export async function timeChildren(python: string, options: { code: string; runs: number }): Promise<number> {
  return Number(await runNatively(python, [CHILDREN, options.code, String(options.runs)]));
}

const COUNT = `
import sys, time
compiled, seconds, done = compile(sys.argv[1], "<block>", "exec"), float(sys.argv[2]), 0
start = time.perf_counter()
while time.perf_counter() < start + seconds:
    exec(compiled, {})
    done += 1
print(done / (time.perf_counter() - start))
`;

/** Returns how many programs per second so many processes run together, each in a loop. */
export async function countLoops(
  python: string,
  { code, processes, seconds }: { code: string; processes: number; seconds: number },
): Promise<number> {
  const loop = () => runNatively(python, [COUNT, code, String(seconds)]);
  const rates = await Promise.all(Array.from({ length: processes }, loop));
  return rates.reduce((sum, rate) => sum + Number(rate), 0);
}

/** Runs a program of Python, given with its arguments, and returns its output. */
export async function runNatively(python: string, args: readonly string[]): Promise<string> {
  const { success, stdout } = await new Deno.Command(python, {
    args: ["-I", "-c", ...args],
    stdin: "null",
    stderr: "inherit",
  }).output();
  if (!success) throw new Error("Cannot measure a peer as its program must run");
  return new TextDecoder().decode(stdout);
}
