import { type TextSink, writeText } from "./write_text.ts";
import { currentIo } from "./io.ts";

/** Says what a command that programs drive waits for, where it is a person who started it and would wait too. */
export async function printHint(
  text: string,
  { stdin, stderr }: { stdin: { isTerminal(): boolean }; stderr: TextSink } = currentIo(),
): Promise<void> {
  if (stdin.isTerminal()) await writeText(stderr, `${text}\n`);
}
