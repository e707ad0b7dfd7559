import { requireKnownOptions } from "../options.ts";
import { type Line, readLines } from "../read_lines.ts";
import { USER_STOP, type UserSimulator, type UserTurnOptions } from "./user_simulator.ts";
import { escapeControls } from "../terminal_text.ts";

/** Options of {@linkcode humanUser}. */
export interface HumanUserOptions {
  /**
   * The lines that the person types.
   *
   * @default Deno.stdin.readable
   */
  input?: ReadableStream<Uint8Array> | undefined;
  /**
   * Shows text to the person.
   *
   * @default a function that writes to stdout
   */
  show?: ((text: string) => void | Promise<void>) | undefined;
}

const MAX_LINE_BYTES = 1024 * 1024;

/**
 * Creates a user simulator that is played by a person. The simulator shows the instruction and the agent's messages,
 * and reads a line as each reply. The end of the input (Ctrl-D on a terminal) ends the conversation.
 *
 * A simulator plays episodes in order. Lines that are typed early are read in order.
 */
export function humanUser(options: HumanUserOptions = {}): UserSimulator {
  requireKnownOptions("call humanUser", options, { input: true, show: true });
  const { input = Deno.stdin.readable, show = showOnTerminal } = options;
  const lines = readLines(input, { maxBytes: MAX_LINE_BYTES });
  /** The pending read. If an episode is aborted, the next episode uses the line. */
  let pendingLine: Promise<IteratorResult<Line>> | undefined;
  /** The recalled messages, which are shown with the next message. */
  let recalled = "";
  const showMessage = async (text: string) => {
    const before = recalled;
    recalled = "";
    await show(`${before}${escapeControls(text)}\n`);
  };
  const ask = async ({ signal }: UserTurnOptions = {}): Promise<string> => {
    await show("> ");
    const { done, value } = await untilAborted(pendingLine ??= lines.next(), signal);
    pendingLine = undefined;
    return done ? USER_STOP : "text" in value ? value.text : "";
  };
  return {
    cost: 0,
    recall(reply, input) {
      const message = "task" in input ? input.task.instruction : `agent: ${input.content}`;
      recalled += `${escapeControls(message)}\n> ${escapeControls(reply)}\n`;
    },
    async reset({ instruction }, turn) {
      await showMessage(instruction);
      return await ask(turn);
    },
    async step(content, turn) {
      await showMessage(`agent: ${content}`);
      return await ask(turn);
    },
    async [Symbol.asyncDispose]() {
      // A pending read cannot be cancelled, and ends with the input.
      if (pendingLine === undefined) await lines.return(undefined);
    },
  };
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
