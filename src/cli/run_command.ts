import { errorMessage } from "../errors.ts";
import { EXIT } from "./exit_code.ts";
import { Interrupt } from "./interrupt.ts";
import { escapeControls } from "./printable.ts";
import { UnwrittenError } from "./episode_file.ts";
import { UsageError } from "./usage_error.ts";
import { type TextSink, writeText } from "./write_text.ts";
import { currentIo } from "./io.ts";

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
