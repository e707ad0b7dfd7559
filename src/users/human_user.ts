import { type Line, readLines } from "../read_lines.ts";
import { STOP, type UserSimulator, type UserTurnOptions } from "./user_simulator.ts";

/** Where a person is asked. */
export interface HumanUserOptions {
  /** What the person types, line by line; the terminal's unless given. */
  input?: ReadableStream<Uint8Array> | undefined;
  /** Shows text to the person; on the terminal unless given. */
  show?: ((text: string) => void | Promise<void>) | undefined;
}

const MAX_LINE_BYTES = 1024 * 1024;

/**
 * A user who is a person: shown the instruction and what the agent says, and asked for a line each time. The end
 * of the input, Ctrl-D on a terminal, says that they are done.
 *
 * It plays one episode after the other; what is typed beforehand is read in its turn.
 */
export function humanUser(options: HumanUserOptions = {}): UserSimulator {
  const { input = Deno.stdin.readable, show = showOnTerminal } = options;
  const lines = readLines(input, { maxBytes: MAX_LINE_BYTES });
  /** A line that an episode did not wait for is the next one's. */
  let typed: Promise<IteratorResult<Line>> | undefined;
  /** What was said before, to be shown with what comes next. */
  let recalled = "";
  const tell = async (text: string) => {
    const before = recalled;
    recalled = "";
    await show(`${before}${plainText(text)}\n`);
  };
  const ask = async ({ signal }: UserTurnOptions = {}): Promise<string> => {
    await show("> ");
    const { done, value } = await untilAborted(typed ??= lines.next(), signal);
    typed = undefined;
    return done ? STOP : "text" in value ? value.text : "";
  };
  return {
    cost: 0,
    recall(said, heard) {
      const shown = "task" in heard ? heard.task.instruction : `agent: ${heard.content}`;
      recalled += `${plainText(shown)}\n> ${plainText(said)}\n`;
    },
    async reset({ instruction }, turn) {
      await tell(instruction);
      return await ask(turn);
    },
    async step(content, turn) {
      await tell(`agent: ${content}`);
      return await ask(turn);
    },
    async [Symbol.asyncDispose]() {
      // one that waits for a line cannot be told to stop, and ends with its input
      if (typed === undefined) await lines.return(undefined);
    },
  };
}

/** Without the control characters by which a text could move on a terminal. */
function plainText(text: string): string {
  // deno-lint-ignore no-control-regex -- they are what is taken out
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "");
}

async function showOnTerminal(text: string): Promise<void> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length;) at += await Deno.stdout.write(bytes.subarray(at));
}

async function untilAborted<T>(line: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await line;
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([line, promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
