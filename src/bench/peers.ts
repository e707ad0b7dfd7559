/** Other ways to run a model's Python, without walls, measured in the same run. */

/** Finds a `python3` to compare with. */
export async function findPython(): Promise<string | undefined> {
  try {
    const { success } = await new Deno.Command("python3", { args: ["--version"] }).output();
    return success ? "python3" : undefined;
  } catch {
    return undefined; // there is none
  }
}

/** A child for each program: what most harnesses do. */
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

/** One child that keeps its globals and takes programs over its pipes. */
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

  /** Runs one program and gives what it printed. */
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
