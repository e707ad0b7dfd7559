const CLI = new URL("../../src/cli.ts", import.meta.url).pathname;

/** What came of a run of the command line. */
export interface Run {
  code: number;
  stdout: string;
  stderr: string;
}

/** Starts the real command line with all of its pipes. */
export function startPaddock(...args: string[]): Deno.ChildProcess {
  return startPaddockWith({}, args);
}

/** The same with more in its environment. */
export function startPaddockWith(env: Record<string, string>, args: readonly string[]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", CLI, ...args],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
    env: { NO_COLOR: "1", ...env },
  }).spawn();
}

/** Runs the real command line to its end with `stdin` as its input. */
export async function runPaddock(args: readonly string[], stdin: string | Uint8Array = ""): Promise<Run> {
  const child = startPaddock(...args);
  const bytes = typeof stdin === "string" ? new TextEncoder().encode(stdin) : new Uint8Array(stdin);
  const written = new Blob([bytes]).stream().pipeTo(child.stdin).catch(() => {}); // it may not want it all
  const { code, stdout, stderr } = await child.output();
  await written;
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: withoutBuild(decoder.decode(stderr)) };
}

/** What is said on stderr, but for the note of a first use. */
function withoutBuild(text: string): string {
  return text.replace(/^Building the base image .*\n/m, "");
}

/** The processes that a process has started and that still run. */
export async function childrenOf(pid: number): Promise<number[]> {
  const text = await Deno.readTextFile(`/proc/${pid}/task/${pid}/children`).catch(() => "");
  const threads = await Array.fromAsync(Deno.readDir(`/proc/${pid}/task`), ({ name }) => name).catch(
    () => [],
  );
  const others = await Promise.all(
    threads.map((thread) => Deno.readTextFile(`/proc/${pid}/task/${thread}/children`).catch(() => "")),
  );
  return [...new Set([text, ...others].join(" ").split(/\s+/).filter((word) => word !== "").map(Number))];
}

/** Whether a process runs. */
export async function isAlive(pid: number): Promise<boolean> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => undefined);
  return stat !== undefined && !/\) [ZX] /.test(stat);
}
