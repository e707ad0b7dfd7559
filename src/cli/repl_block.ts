import type { ExecResult, PythonSession } from "../sandbox/exec.ts";
import { exitCode } from "./exit_code.ts";
import { TextQueue } from "./text_queue.ts";
import type { TextSink } from "./write_text.ts";

/** Where a block's output goes, and what interrupts it. */
export interface ReplBlockOptions {
  stdout: TextSink;
  stderr: TextSink;
  signal: AbortSignal;
}

/**
 * Runs a block and prints its output, its value, and what went wrong. Gives the exit code when the block
 * was there to end the session.
 */
export async function runReplBlock(
  session: PythonSession,
  code: string,
  options: ReplBlockOptions,
): Promise<number | undefined> {
  if (/^(?:exit|quit)(?:\(\))?$/.test(code.trim())) return 0;
  const { stdout, stderr } = options;
  const output = new TextQueue();
  let last = "\n";
  const onOutput = (stream: "stdout" | "stderr", text: string) => {
    last = text;
    output.write(options[stream], text);
  };
  const result = await execOrInterrupt(session, code, { ...options, output, onOutput });
  if (!last.endsWith("\n")) output.write(stdout, "\n");
  if (result?.status === "ok" && result.value !== undefined) output.write(stdout, `${result.value}\n`);
  output.write(stderr, complaint(result));
  await output.flush();
  return result?.status === "exited" ? exitCode(result) : undefined;
}

/** Gives nothing when the block was interrupted. */
async function execOrInterrupt(
  session: PythonSession,
  code: string,
  options: ReplBlockOptions & {
    output: TextQueue;
    onOutput: (stream: "stdout" | "stderr", text: string) => void;
  },
): Promise<ExecResult | undefined> {
  const { signal, output, onOutput } = options;
  try {
    return await session.exec(code, { signal: AbortSignal.any([signal, output.signal]), onOutput });
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

function complaint(result: ExecResult | undefined): string {
  if (!result) return "KeyboardInterrupt\n";
  const { restarted, truncated, stateKept } = result;
  return [
    truncated ? "paddock: some output was dropped\n" : "",
    "error" in result ? result.error.traceback : "",
    restarted ? "paddock: this ran in a fresh interpreter, as the last one was lost\n" : "",
    stateKept ? "" : "paddock: the interpreter was lost, and all variables with it\n",
  ].join("");
}
