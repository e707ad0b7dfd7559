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
import sys, json, io, contextlib
scope = {"__name__": "__main__"}
for line in sys.stdin:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(json.loads(line), scope)
    print(json.dumps(out.getvalue()), flush=True)
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

  /** Runs one program and returns its output. */
  async exec(code: string): Promise<string> {
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
