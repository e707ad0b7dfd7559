import process from "node:process";
import { createInterface, type Interface } from "node:readline";
import type { PythonSession } from "../../sandbox/contract/pool.ts";
import { escapeControls } from "../../terminal_text.ts";
import { runReplBlock } from "./block.ts";
import { ReplBlocks } from "./blocks.ts";
import type { ReplHistory } from "./history.ts";
import { completeLine } from "./interpreter.ts";

const HISTORY_LINES = 1000;

/** Options of {@linkcode ReplTerminal}. */
export interface ReplTerminalOptions {
  session: PythonSession;
  history: ReplHistory;
  /** True if `input()` may read from the terminal. */
  hasInput: boolean;
  /** Time limit of a block, without the time in `input()`, in milliseconds. @default the profile's, with that time */
  timeoutMs?: number | undefined;
  signal: AbortSignal;
}

/** A terminal prompt with line editing, completion and history. Ctrl-C interrupts the running block, not the session. */
export class ReplTerminal implements Disposable {
  readonly #options: ReplTerminalOptions;
  readonly #lines: Interface;
  readonly #blocks = new ReplBlocks({ emptyLineEnds: true });
  readonly #closed = new AbortController();
  #running: AbortController | undefined;
  #isLate = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #leftMs = Infinity;
  #startedAt = 0;

  constructor(options: ReplTerminalOptions) {
    const { history, session, signal } = options;
    this.#options = options;
    this.#lines = createInterface({
      input: process.stdin,
      output: process.stdout,
      terminal: true,
      history: [...history.lines],
      historySize: HISTORY_LINES,
      removeHistoryDuplicates: true,
      signal,
      completer: (line: string, done: (error: null, found: [string[], string]) => void) => {
        if (this.#running !== undefined) return done(null, [[], line]); // the interpreter is busy
        completeLine(session, line, { signal }).then(
          (found) => done(null, found),
          () => done(null, [[], line]),
        );
      },
    });
    this.#lines.on("SIGINT", () => this.#interrupt());
    this.#lines.on("close", () => this.#closed.abort());
  }

  /** Reads and runs blocks until the input or the program ends. Returns the exit code. */
  async run(): Promise<number> {
    this.#prompt();
    for await (const line of this.#lines) {
      await this.#options.history.add(line);
      for (const block of this.#blocks.push(line)) {
        const code = await this.#runBlock(block);
        if (code !== undefined) return code;
      }
      this.#prompt();
    }
    process.stdout.write("\n");
    return 0;
  }

  [Symbol.dispose](): void {
    this.#lines.close();
  }

  async #runBlock(block: string): Promise<number | undefined> {
    const { stdout, stderr } = Deno;
    const { session, hasInput, timeoutMs = Infinity } = this.#options;
    this.#running = new AbortController();
    this.#isLate = false;
    this.#leftMs = timeoutMs;
    this.#startTimer();
    const signal = AbortSignal.any([this.#options.signal, this.#running.signal]);
    const interruptText = () =>
      this.#isLate ? `TimeoutError: the block ran longer than ${timeoutMs} ms` : "KeyboardInterrupt";
    const onInput = hasInput ? this.#ask.bind(this) : undefined;
    try {
      return await runReplBlock(session, block, { stdout, stderr, signal, onInput, interruptText });
    } finally {
      clearTimeout(this.#timer);
      this.#running = undefined;
    }
  }

  #startTimer(): void {
    if (this.#leftMs === Infinity || !this.#options.hasInput) return; // the sandbox limits the time
    this.#startedAt = performance.now();
    this.#timer = setTimeout(() => {
      this.#isLate = true;
      this.#running?.abort(new DOMException("The block ran too long", "AbortError"));
    }, Math.max(0, this.#leftMs));
  }

  /** Reads a line for `input()`. Returns `undefined` at the end of the input. */
  async #ask(prompt: string, ended: AbortSignal): Promise<string | undefined> {
    if (this.#closed.signal.aborted) return undefined;
    clearTimeout(this.#timer);
    this.#leftMs -= performance.now() - this.#startedAt;
    const signal = AbortSignal.any([ended, this.#closed.signal]);
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
    this.#lines.question(escapeControls(prompt), { signal }, resolve);
    const line = await promise;
    if (!ended.aborted) this.#startTimer();
    return line;
  }

  /** Handles Ctrl-C. A terminal in raw mode reports Ctrl-C as a key, not as a signal. */
  #interrupt(): void {
    if (this.#running) return this.#running.abort(new DOMException("Interrupted by Ctrl-C", "AbortError"));
    this.#blocks.end();
    process.stdout.write("\nKeyboardInterrupt\n");
    this.#lines.write(null, { ctrl: true, name: "e" });
    this.#lines.write(null, { ctrl: true, name: "u" });
    this.#prompt();
  }

  #prompt(): void {
    if (this.#closed.signal.aborted) return; // by Ctrl-D in input()
    this.#lines.setPrompt(this.#blocks.pending ? "... " : ">>> ");
    this.#lines.prompt();
  }
}
