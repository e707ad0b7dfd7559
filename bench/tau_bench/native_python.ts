import { resolve } from "node:path";
import desk from "../../src/envs/tau_bench/guest/domain.py" with { type: "text" };
import standIns from "../../src/envs/tau_bench/guest/stand_ins.py" with { type: "text" };
import { readLines } from "../../src/read_lines.ts";
import native from "./native.py" with { type: "text" };

/** Path of a checkout, and the tasks to play. */
export interface NativeOptions {
  readonly path: string;
  readonly domain: string;
  readonly split: string;
}

/** Maximum length of an output line; longer than that of any task. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

/**
 * Plays a split with a `python3` of the host, without a sandbox, and yields the JSON value of each output line, for
 * comparison with the sandbox. `call` is Python that runs at the end, with `checkout`, `domain` and `split`.
 *
 * @throws {Error} when that Python fails.
 */
export async function* nativePython(
  python: string,
  call: string,
  { path, domain, split }: NativeOptions,
): AsyncGenerator<unknown> {
  const child = new Deno.Command(python, {
    args: ["-B", "-", resolve(path), domain, split],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const complaint = new Response(child.stderr).text();
  try {
    const writer = child.stdin.getWriter();
    const program = `${standIns}\n${desk}\n${native}\ncheckout, domain, split = sys.argv[1:]\n${call}\n`;
    await writer.write(new TextEncoder().encode(program));
    await writer.close();
    for await (const line of readLines(child.stdout, { maxBytes: MAX_LINE_BYTES })) {
      if ("fault" in line) throw new Error(`Cannot replay ${domain}/${split} as ${line.fault}`);
      yield JSON.parse(line.text);
    }
    if ((await child.status).success) return;
    throw new Error(`Cannot replay ${domain}/${split} as ${python} must run it: ${(await complaint).trim()}`);
  } finally {
    kill(child);
    await Promise.all([child.status, complaint]);
  }
}

function kill(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch {
    // it has exited already
  }
}
