import { errorMessage } from "../errors.ts";
import type { ExecResult } from "../sandbox/contract/exec.ts";
import { PackageError } from "../sandbox/image/image_files.ts";
import { UnavailableError, UnwrittenError, UsageError } from "./cli_errors.ts";
import { currentIo, type Io, type TextSink } from "./io.ts";
import { escapeControls } from "../terminal_text.ts";
import { writeText } from "./output.ts";
import { isHangupIgnored } from "./process/hangup.ts";
import { findNpx, watchNpx } from "./process/parent_process.ts";

/** Runs a command until its end or an interrupt, and sets the exit code from the result or the error. */
export async function runCommand(work: (signal: AbortSignal) => Promise<number>): Promise<void> {
  const io = currentIo();
  using interrupt = io.signal === undefined ? new Interrupt(io) : undefined;
  const signal = interrupt?.signal ?? io.signal ?? new AbortController().signal;
  try {
    io.exitCode = await work(signal);
  } catch (error) {
    io.exitCode = await reportFailure(error, { signal, stderr: io.stderr });
  }
}

/** Prints the error of a command in a line and returns the exit code. An interrupt and a broken pipe print nothing. */
export async function reportFailure(
  error: unknown,
  options: { signal: AbortSignal; stderr: TextSink },
): Promise<number> {
  if (options.signal.aborted) return EXIT.interrupted;
  if (error instanceof Deno.errors.BrokenPipe) return EXIT.ok; // the reader of the output has closed the stream
  const message = errorMessage(error);
  await writeText(options.stderr, `error: ${escapeControls(message)}\n`).catch(() => {}); // stderr is closed: the exit code is enough
  if (error instanceof UsageError || error instanceof PackageError) return EXIT.usage;
  if (error instanceof UnavailableError) return EXIT.unavailable;
  return error instanceof UnwrittenError ? EXIT.unwritten : EXIT.sandbox;
}

/** Exit codes of the command line. */
export const EXIT = {
  ok: 0,
  error: 1,
  usage: 2,
  unavailable: 69,
  unwritten: 74,
  timeout: 124,
  sandbox: 125,
  interrupted: 130,
  crashed: 134,
  memory: 137,
} as const;

/** Help text for the exit codes of a program. */
export const EXIT_CODES = `
Exit codes: 0 ok, 1 an exception or too much output, 2 wrong usage, 124 timeout, 125 the sandbox failed,
130 interrupted, 134 the interpreter crashed, 137 out of memory. After sys.exit(code), the exit code is code.`;

/** Returns the exit code for the result of a program. */
export function exitCode(result: ExecResult): number {
  switch (result.status) {
    case "exited":
      return result.exitCode & 255;
    case "output":
    case "waiting":
    case "diverged":
      return EXIT.error;
    default:
      return EXIT[result.status];
  }
}

const SIGNALS: readonly Deno.Signal[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/**
 * An abort signal for Ctrl-C (SIGINT), SIGTERM, SIGHUP and the end of the npx that runs this process. The first of them
 * aborts the signal and removes the listeners, so a second signal ends the process. Under `nohup`, SIGHUP is ignored.
 * Dispose removes the listeners.
 */
export class Interrupt implements Disposable {
  readonly #abort = new AbortController();
  readonly #listeners = new Map<Deno.Signal, () => void>();
  readonly #npxWatch: Disposable | undefined;

  /** @param options.ignoresHangup True if this process was started with SIGHUP ignored. */
  constructor({ ignoresHangup = isHangupIgnored() }: Pick<Io, "ignoresHangup"> = {}) {
    const interruptBy = (message: string) => {
      this[Symbol.dispose]();
      this.#abort.abort(new DOMException(message, "AbortError"));
    };
    const interrupt = () => interruptBy("Interrupted by Ctrl-C");
    const npx = findNpx({ ignoresHangup });
    if (npx !== undefined && !npx.hasNohup) {
      this.#npxWatch = watchNpx(npx, () => interruptBy("npx, which ran this command, has ended"));
    }
    const ignored = ignoresHangup || npx?.hasNohup;
    // Without a listener, Deno exits on SIGHUP even if the process was started with SIGHUP ignored.
    for (const name of SIGNALS) {
      const listener = name === "SIGHUP" && ignored ? () => {} : interrupt;
      try {
        Deno.addSignalListener(name, listener);
        this.#listeners.set(name, listener);
      } catch (error) {
        if (!(error instanceof TypeError)) throw error; // otherwise the system has no such signal
      }
    }
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  [Symbol.dispose](): void {
    this.#npxWatch?.[Symbol.dispose]();
    for (const [name, listener] of this.#listeners) Deno.removeSignalListener(name, listener);
  }
}
