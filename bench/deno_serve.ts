/** Options of {@linkcode DenoServe}, beside the permission to listen. */
export interface DenoServeOptions {
  /** Flags of `deno serve`. */
  flags?: readonly string[] | undefined;
  /** Environment variables of the process, which the module may not read. */
  env?: Readonly<Record<string, string>> | undefined;
}

/** A module that `deno serve` runs as users do: with the permission to listen, and no other. */
export class DenoServe implements AsyncDisposable {
  readonly url: string;
  readonly #process: Deno.ChildProcess;
  readonly #log: Promise<string>;

  private constructor(process: Deno.ChildProcess, url: string, log: Promise<string>) {
    this.#process = process;
    this.url = url;
    this.#log = log;
  }

  /** Starts the server on a free port of the loopback, and waits for the line that names the address. */
  static async start(module: string, options: DenoServeOptions = {}): Promise<DenoServe> {
    const { flags = [], env = {} } = options;
    const root = new URL("../", import.meta.url);
    const process = new Deno.Command(Deno.execPath(), {
      args: ["serve", "--allow-net", "--no-prompt", "--host", "127.0.0.1", "--port", "0", ...flags, module],
      cwd: root,
      env: { ...env, NO_COLOR: "1" },
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const log = readLog(process.stderr, (line) => {
      const url = /Listening on (http:\/\/[\d.:]+)/.exec(line)?.[1];
      if (url !== undefined) resolve(url);
    });
    log.then((text) => reject(new Error(`the server ended: ${text}`)));
    return new DenoServe(process, await promise, log);
  }

  get pid(): number {
    return this.#process.pid;
  }

  /** Requests a grade. */
  async grade(body: object, headers: HeadersInit = {}): Promise<Response> {
    return await fetch(`${this.url}/grade`, { method: "POST", headers, body: JSON.stringify(body) });
  }

  /** Stops the server and returns its stderr. */
  async end(): Promise<string> {
    this.#process.kill("SIGKILL");
    await this.#process.status;
    return await this.#log;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end().catch(() => {}); // it has ended already
  }
}

async function readLog(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  onText: (text: string) => void,
): Promise<string> {
  let text = "";
  for await (const piece of stream.pipeThrough(new TextDecoderStream())) onText(text += piece);
  return text;
}
