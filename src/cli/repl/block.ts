import type { ExecResult } from "../../sandbox/contract/exec.ts";
import type { PythonSession } from "../../sandbox/contract/pool.ts";
import { exitCode } from "../run_command.ts";
import type { TerminalSink } from "../io.ts";
import { TextQueue, toSinkText } from "../output.ts";
import { inputTool, setUpInterpreter } from "./interpreter.ts";

/** Options of {@linkcode runReplBlock}. */
export interface ReplBlockOptions {
  stdout: TerminalSink;
  stderr: TerminalSink;
  signal: AbortSignal;
  /** Reads a line for `input()`. By default, `input()` has nothing to read. */
  onInput?: ((prompt: string, signal: AbortSignal) => Promise<string | undefined>) | undefined;
  /** Text of a block that was interrupted. @default "KeyboardInterrupt" */
  interruptText?: (() => string) | undefined;
}

/**
 * Runs a block and prints output, value and errors. Returns the exit code if the block ends the
 * session, else `undefined`.
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
    output.write(options[stream], toSinkText(options[stream], text));
  };
  const result = await execOrInterrupt(session, code, { ...options, output, onOutput });
  if (!last.endsWith("\n")) output.write(stdout, "\n");
  if (result?.status === "ok" && result.value !== undefined) {
    output.write(stdout, `${toSinkText(stdout, result.value)}\n`);
  }
  output.write(stderr, toSinkText(stderr, formatErrors(result, options.interruptText?.())));
  await output.flush();
  if (result?.stateKept === false) {
    await setUpInterpreter(session, { hasInput: options.onInput !== undefined, signal: options.signal });
  }
  return result?.status === "exited" ? exitCode(result) : undefined;
}

/** Runs a block. Returns `undefined` after an interrupt. */
async function execOrInterrupt(
  session: PythonSession,
  code: string,
  options: ReplBlockOptions & {
    output: TextQueue;
    onOutput: (stream: "stdout" | "stderr", text: string) => void;
  },
): Promise<ExecResult | undefined> {
  const { signal, output, onOutput, onInput } = options;
  const ask = onInput && (async (prompt: string, signal: AbortSignal) => {
    await output.flush();
    return await onInput(prompt, signal);
  });
  try {
    return await session.exec(code, {
      signal: AbortSignal.any([signal, output.signal]),
      onOutput,
      ...(ask !== undefined && { tools: [inputTool(ask)], timeoutMs: MAX_BLOCK_MS }),
    });
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

/** Time limit of the sandbox for a block that may wait for the user; the terminal measures the time without such waits. */
const MAX_BLOCK_MS = 24 * 3_600_000;

function formatErrors(result: ExecResult | undefined, interruptText = "KeyboardInterrupt"): string {
  if (!result) return `${interruptText}\n`;
  const { restarted, truncated, stateKept } = result;
  return [
    truncated ? "paddock: some output was dropped\n" : "",
    "error" in result ? result.error.traceback : "",
    restarted ? "paddock: this block ran in a fresh interpreter, as the previous one was lost\n" : "",
    stateKept ? "" : "paddock: the interpreter and all variables were lost\n",
  ].join("");
}
