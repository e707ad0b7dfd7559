import type { ExecResult } from "just-bash";
import { latin1Bytes } from "../script/byte_text.ts";
import type { CoprocInput } from "../jobs/coproc.ts";

const decoder = new TextDecoder();

/** Thrown when a command of a coprocess reads its stdin, before the shell has closed it. */
class InputNeeded extends Error {}

/** True for commands that print what they have read so far, as GNU's do into a pipe. */
export function isStreaming(name: string, args: readonly string[]): boolean {
  const text = args.join(" ");
  if (name === "cat" || name === "bc" || name === "tee") return true;
  if (name === "sed") return args.some((word) => word === "--unbuffered" || /^-[a-zA-Z]*u/.test(word));
  if (name === "grep" || name === "egrep" || name === "fgrep") return args.includes("--line-buffered");
  return /^[gn]?awk$/.test(name) && /\bfflush\(|system\(""\)/.test(text);
}

/**
 * Runs a command of a coprocess on the stdin that its shell writes. A command that reads runs at the end of the input. A
 * streaming one runs on all input so far each time that more comes, and prints what is new.
 */
export async function runOnInput(
  run: (stdin: () => string) => Promise<ExecResult>,
  input: CoprocInput,
  isStreaming: boolean,
): Promise<ExecResult> {
  if (input.isClosed) return await run(() => takeAll(input));
  try {
    return await run(() => {
      throw new InputNeeded();
    });
  } catch (error) {
    if (!(error instanceof InputNeeded)) throw error;
  }
  const print = isStreaming ? input.printer() : undefined;
  if (print) return await stream(run, input, print);
  await input.waitForEnd();
  return await run(() => takeAll(input));
}

/** Takes what is left of the stdin of a coprocess. */
export function takeAll(input: CoprocInput): string {
  const { text } = input;
  input.leave("");
  return text;
}

async function stream(
  run: (stdin: () => string) => Promise<ExecResult>,
  input: CoprocInput,
  print: (text: string) => void,
): Promise<ExecResult> {
  let given = "";
  let printed = "";
  for (;;) {
    await input.waitFor((text) => text.endsWith("\n"));
    given += takeAll(input);
    const isLast = input.isClosed;
    const result = await run(() => given);
    const added = result.stdout.slice(printed.length);
    if (isLast) return { ...result, stdout: added };
    print(decoder.decode(latin1Bytes(added)));
    printed = result.stdout;
  }
}
