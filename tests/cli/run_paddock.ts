const CLI = decodeURIComponent(new URL("../../src/cli.ts", import.meta.url).pathname);

/** What came of a run of the command line. */
export interface Run {
  code: number;
  stdout: string;
  stderr: string;
}

/** Starts the real command line with all of its pipes. */
export function startPaddock(...args: string[]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", CLI, ...args],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
    env: { NO_COLOR: "1" },
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
