import { readLines } from "../src/read_lines.ts";
import { setprivPrefix } from "../src/sandbox/process/namespaces.ts";
import type { Layer } from "../src/sandbox/profile/schema.ts";
import { detectLayers } from "../src/sandbox/process/layers.ts";

const CLI = decodeURIComponent(new URL("../src/cli.ts", import.meta.url).pathname);

/** Options of {@linkcode Serving.startWith}. */
export interface ServingOptions {
  /** Path of the command line to run. @default this tree's */
  readonly cli?: string | undefined;
  /** File descriptors that the server may open. @default the system's limit */
  readonly descriptors?: number | undefined;
  /** True if Ctrl-C in this process's terminal does not reach the server. @default false */
  readonly isDetached?: boolean | undefined;
}

/** A `paddock serve` in its own process, on a free port. */
export class Serving implements AsyncDisposable {
  readonly child: Deno.ChildProcess;
  readonly url: string;
  /** Its output until it served. */
  readonly startLog: string;
  readonly #log: Promise<string>;

  /** Starts the server and waits until it serves. Where the system allows it, the server ends with this process. */
  static async start(...args: string[]): Promise<Serving> {
    return await Serving.startWith({}, args);
  }

  /** Starts the server with additional environment variables. */
  static async startWith(
    env: Record<string, string>,
    args: readonly string[],
    { cli = CLI, descriptors, isDetached = false }: ServingOptions = {},
  ): Promise<Serving> {
    const [program = "", ...words] = [
      ...setprivPrefix(await parentDeath()),
      ...descriptors === undefined ? [] : ["sh", "-c", `ulimit -n ${descriptors} && exec "$@"`, "sh"],
      Deno.execPath(),
      "run",
      "-A",
      "--quiet",
      cli,
      "serve",
      "--port",
      "0",
      ...args,
    ];
    const child = new Deno.Command(program, {
      args: words,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      env: { NO_COLOR: "1", ...env },
      detached: isDetached,
    }).spawn();
    return await Serving.over(child);
  }

  /**
   * Waits until a child, whose pipes are all open here, serves.
   *
   * @throws {Error} when it exits earlier.
   */
  static async over(child: Deno.ChildProcess): Promise<Serving> {
    await child.stdin.close();
    await child.stdout.cancel();
    const lines = readLines(child.stderr, { maxBytes: 1 << 20 });
    let startLog = "";
    for (;;) {
      const { done, value } = await lines.next();
      if (done) throw new Error("the server ended before it served");
      const text = "text" in value ? value.text : "";
      const url = text.match(/^Serving at (\S+) /)?.[1];
      if (url !== undefined) return new Serving(child, { url, startLog, lines });
      startLog += `${text}\n`;
    }
  }

  private constructor(
    child: Deno.ChildProcess,
    { url, startLog, lines }: { url: string; startLog: string; lines: ReturnType<typeof readLines> },
  ) {
    this.child = child;
    this.url = url;
    this.startLog = startLog;
    this.#log = Array.fromAsync(lines, (line) => "text" in line ? line.text : "").then((all) =>
      all.join("\n")
    );
  }

  /** Posts a body as JSON and returns the body of the response, for any status. */
  async ask(path: string, body: unknown, init: RequestInit = {}): Promise<unknown> {
    const headers = { "content-type": "application/json" };
    const response = await fetch(this.url + path, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
      ...init,
    });
    return await response.json();
  }

  /** Stops the server, and returns the exit code and its output since it served. */
  async end(signal: Deno.Signal): Promise<{ code: number; log: string }> {
    this.child.kill(signal);
    const { code } = await this.child.status;
    return { code, log: await this.#log };
  }
  /** Stops the server if it runs, and waits until it has exited. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("SIGTERM").catch(() => this.child.status); // it has ended already
  }
}

/** Returns the command that ends a child with its parent, if the system has it. */
export async function parentDeath(): Promise<ReadonlySet<Layer>> {
  const reports = await detectLayers();
  return new Set(
    reports.filter(({ layer, works }) => layer === "parentDeath" && works).map(({ layer }) => layer),
  );
}
