import { readLines } from "../../src/read_lines.ts";
import { startPaddock, startPaddockWith } from "./run_paddock.ts";

/** The real `paddock serve`, on a port that was free. */
export class Serving {
  readonly child: Deno.ChildProcess;
  readonly url: string;
  readonly #log: Promise<string>;

  static async start(...args: string[]): Promise<Serving> {
    return await Serving.over(startPaddock("serve", "--port", "0", ...args));
  }

  /** Starts it with more in its environment. */
  static async startWith(env: Record<string, string>, args: readonly string[]): Promise<Serving> {
    return await Serving.over(startPaddockWith(env, ["serve", "--port", "0", ...args]));
  }

  /** Waits until a child serves. */
  static async over(child: Deno.ChildProcess): Promise<Serving> {
    await child.stdin.close();
    await child.stdout.cancel();
    const lines = readLines(child.stderr, { maxBytes: 1 << 20 });
    for (;;) {
      const { done, value } = await lines.next();
      if (done) throw new Error("the server ended before it served");
      const url = "text" in value ? value.text.match(/^Serving at (\S+) /)?.[1] : undefined;
      if (url !== undefined) return new Serving(child, url, lines);
    }
  }

  constructor(child: Deno.ChildProcess, url: string, lines: ReturnType<typeof readLines>) {
    this.child = child;
    this.url = url;
    this.#log = Array.fromAsync(lines, (line) => "text" in line ? line.text : "").then((all) =>
      all.join("\n")
    );
  }

  async ask(path: string, body: unknown, init: RequestInit = {}): Promise<unknown> {
    const headers = { "content-type": "application/json" };
    const response = await fetch(this.url + path, {
      ...{ method: "POST", headers, body: JSON.stringify(body) },
      ...init,
    });
    return await response.json();
  }

  /** Ends it, and gives the exit code and what it said since it served. */
  async end(signal: Deno.Signal): Promise<{ code: number; log: string }> {
    this.child.kill(signal);
    const { code } = await this.child.status;
    return { code, log: await this.#log };
  }
}
