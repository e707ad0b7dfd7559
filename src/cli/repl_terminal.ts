import process from "node:process";
import { createInterface, type Interface } from "node:readline";
import type { PythonSession } from "../sandbox/exec.ts";
import { runReplBlock } from "./repl_block.ts";
import { ReplBlocks } from "./repl_blocks.ts";
import type { ReplHistory } from "./repl_history.ts";

const HISTORY_LINES = 1000;

/** The prompt on a terminal: lines can be edited and called back, and Ctrl-C stops a block but not the session. */
export class ReplTerminal implements Disposable {
  readonly #history: ReplHistory;
  readonly #signal: AbortSignal;
  readonly #lines: Interface;
  readonly #blocks = new ReplBlocks({ emptyLineEnds: true });
  #running: AbortController | undefined;

  constructor(options: { history: ReplHistory; signal: AbortSignal }) {
    const { history, signal } = options;
    this.#history = history;
    this.#signal = signal;
    this.#lines = createInterface({
      input: process.stdin,
      output: process.stdout,
      terminal: true,
      history: [...history.lines],
      historySize: HISTORY_LINES,
      removeHistoryDuplicates: true,
      signal,
    });
    this.#lines.on("SIGINT", () => this.#interrupt());
  }

  /** Runs what is typed until the end of input or of the program; gives the exit code. */
  async run(session: PythonSession): Promise<number> {
    this.#prompt();
    for await (const line of this.#lines) {
      await this.#history.add(line);
      for (const block of this.#blocks.push(line)) {
        const code = await this.#runBlock(session, block);
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

  async #runBlock(session: PythonSession, block: string): Promise<number | undefined> {
    const { stdout, stderr } = Deno;
    this.#running = new AbortController();
    const signal = AbortSignal.any([this.#signal, this.#running.signal]);
    try {
      return await runReplBlock(session, block, { stdout, stderr, signal });
    } finally {
      this.#running = undefined;
    }
  }

  /** What Ctrl-C does: on a terminal in raw mode it is a key like any other, and no signal. */
  #interrupt(): void {
    if (this.#running) return this.#running.abort(new DOMException("Interrupted by Ctrl-C", "AbortError"));
    this.#blocks.end();
    process.stdout.write("\nKeyboardInterrupt\n");
    this.#lines.write(null, { ctrl: true, name: "e" });
    this.#lines.write(null, { ctrl: true, name: "u" });
    this.#prompt();
  }

  #prompt(): void {
    this.#lines.setPrompt(this.#blocks.pending ? "... " : ">>> ");
    this.#lines.prompt();
  }
}
