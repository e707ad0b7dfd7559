import { errorMessage } from "../errors.ts";
import type { ExecResult } from "../sandbox/exec.ts";
import { UsageError } from "./errors.ts";
import { currentIo, type TextSink } from "./io.ts";
import { escapeControls, writeText } from "./output.ts";
import { UnwrittenError } from "./rollout/episode_file.ts";

/** Does the work of a command under Ctrl-C, and sets the exit code that it gives or that its failure means. */
export async function runCommand(work: (signal: AbortSignal) => Promise<number>): Promise<void> {
  const io = currentIo();
  using interrupt = io.signal === undefined ? new Interrupt() : undefined;
  const signal = interrupt?.signal ?? io.signal ?? new AbortController().signal;
  try {
    io.exitCode = await work(signal);
  } catch (error) {
    io.exitCode = await reportFailure(error, { signal, stderr: io.stderr });
  }
}

/** Says in one line what stopped a command, where there is something to say, and gives the exit code. */
export async function reportFailure(
  error: unknown,
  options: { signal: AbortSignal; stderr: TextSink },
): Promise<number> {
  if (options.signal.aborted) return EXIT.interrupted;
  if (error instanceof Deno.errors.BrokenPipe) return EXIT.ok; // whoever read the output wants no more of it
  const message = errorMessage(error);
  await writeText(options.stderr, `error: ${escapeControls(message)}\n`).catch(() => {}); // nobody reads it: the code tells
  if (error instanceof UsageError) return EXIT.usage;
  return error instanceof UnwrittenError ? EXIT.unwritten : EXIT.sandbox;
}

/** What the exit codes of the command line mean. */
export const EXIT = {
  ok: 0,
  error: 1,
  usage: 2,
  unwritten: 74,
  timeout: 124,
  sandbox: 125,
  interrupted: 130,
  crashed: 134,
  memory: 137,
} as const;

/** The exit codes of one program, for a help text. */
export const EXIT_CODES = `
Exit codes: 0 ok, 1 an exception or too much output, 2 wrong usage, 124 timeout, 125 the sandbox itself failed,
130 interrupted, 134 the interpreter crashed, 137 memory; the program's own code after sys.exit(code).`;

/** The exit code that says what became of a program. */
export function exitCode(result: ExecResult): number {
  switch (result.status) {
    case "exited":
      return result.exitCode & 255;
    case "output":
      return EXIT.error;
    default:
      return EXIT[result.status];
  }
}

const SIGNALS: readonly Deno.Signal[] = Deno.build.os === "windows"
  ? ["SIGINT"]
  : ["SIGINT", "SIGTERM", "SIGHUP"];

/**
 * A signal that Ctrl-C aborts, and so does being told to end (SIGTERM) or losing one's terminal (SIGHUP), until
 * disposed. What comes a second time ends the program as if this were not there. Below `nohup` a terminal that goes
 * away is not minded.
 */
export class Interrupt implements Disposable {
  readonly #abort = new AbortController();
  readonly #listeners: ReadonlyMap<Deno.Signal, () => void>;

  constructor() {
    const end = () => {
      this[Symbol.dispose]();
      this.#abort.abort(new DOMException("Interrupted by Ctrl-C", "AbortError"));
    };
    const ignored = isHangupIgnored();
    // Deno ends at a hangup that it was started to ignore, unless somebody listens.
    this.#listeners = new Map(SIGNALS.map((name) => [name, name === "SIGHUP" && ignored ? () => {} : end]));
    for (const [name, listener] of this.#listeners) Deno.addSignalListener(name, listener);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  [Symbol.dispose](): void {
    for (const [name, listener] of this.#listeners) Deno.removeSignalListener(name, listener);
  }
}

/** Whether this process was started with SIGHUP ignored, where the system says so. */
export function isHangupIgnored(): boolean {
  const [, lowest = "0"] = /^SigIgn:\s*[0-9a-f]*([0-9a-f])$/m.exec(ownStatus()) ?? [];
  return (Number.parseInt(lowest, 16) & 1) === 1;
}

function ownStatus(): string {
  try {
    return Deno.readTextFileSync("/proc/self/status");
  } catch {
    return ""; // only Linux has it
  }
}
