import { runCommandLine } from "../../src/cli/commands.ts";
import type { OutputStream } from "../../src/cli/io.ts";

const CLI = decodeURIComponent(new URL("../../src/cli.ts", import.meta.url).pathname);

/** A folder that does not exist: profiles of the user of this machine must not change tests. */
const NO_CONFIG = "/nonexistent";

/** Outcome of a run of the command line. */
export interface Run {
  code: number;
  stdout: string;
  stderr: string;
}

/** Starts the command line in a process, with all of its pipes. */
export function startPaddock(...args: string[]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-check", CLI, ...args],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
    env: { NO_COLOR: "1", XDG_CONFIG_HOME: NO_CONFIG },
  }).spawn();
}

/** Runs the command line in a process to its end with `stdin` as its input. */
export async function spawnPaddock(args: readonly string[], stdin: string | Uint8Array = ""): Promise<Run> {
  const child = startPaddock(...args);
  const written = inputOf(stdin).pipeTo(child.stdin).catch(() => {}); // it may not read all of it
  const { code, stdout, stderr } = await child.output();
  await written;
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: withoutBuild(decoder.decode(stderr)) };
}

/**
 * Runs the command line in this process to its end with `stdin` as its input.
 *
 * @param env Variables in place of those of this process.
 */
export async function runPaddock(
  args: readonly string[],
  stdin: string | Uint8Array = "",
  { env = {} }: { env?: Readonly<Record<string, string>> } = {},
): Promise<Run> {
  const variables: Readonly<Record<string, string>> = { NO_COLOR: "1", XDG_CONFIG_HOME: NO_CONFIG, ...env };
  const stdout = new MemoryOutput();
  const stderr = new MemoryOutput();
  const code = await runCommandLine(args, {
    stdin: { readable: inputOf(stdin), isTerminal: () => false },
    stdout,
    stderr,
    env: { get: (name) => variables[name] ?? Deno.env.get(name) },
    signal: new AbortController().signal,
    exitCode: 0,
  });
  return { code, stdout: stdout.text(), stderr: withoutBuild(stderr.text()) };
}

/** An output stream that keeps what is written to it. */
class MemoryOutput implements OutputStream {
  readonly #chunks: Uint8Array<ArrayBuffer>[] = [];

  writeSync(bytes: Uint8Array): number {
    this.#chunks.push(new Uint8Array(bytes));
    return bytes.length;
  }

  write(bytes: Uint8Array): Promise<number> {
    return Promise.resolve(this.writeSync(bytes));
  }

  isTerminal(): boolean {
    return false;
  }

  text(): string {
    let text = "";
    const decoder = new TextDecoder();
    for (const chunk of this.#chunks) text += decoder.decode(chunk, { stream: true });
    return text + decoder.decode();
  }
}

function inputOf(stdin: string | Uint8Array): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new Blob([typeof stdin === "string" ? stdin : new Uint8Array(stdin)]).stream();
}

/** Removes the note that a base image is built from what was written to stderr. */
function withoutBuild(text: string): string {
  return text.replace(/^Building the base image .*\n/m, "");
}
