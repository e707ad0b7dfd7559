import { formatProgress, formatProgressBar } from "./progress_line.ts";
import type { Summary } from "./summary.ts";
import { TextQueue } from "./text_queue.ts";
import type { TextSink } from "./write_text.ts";

const CLEAR_LINE = "\r\x1b[K";
const TERMINAL_INTERVAL_MS = 100;
const LOG_INTERVAL_MS = 5_000;

/** What {@linkcode Progress} shows and where. */
export interface ProgressOptions {
  summary: Summary;
  /** How many episodes there will be, if that is known. */
  total?: number | undefined;
  sink: TextSink;
  /** Draws a bar in one line that changes; otherwise a plain line is written now and then. */
  isTerminal: boolean;
  /** Milliseconds between two lines; 100 on a terminal and 5,000 elsewhere unless given. */
  intervalMs?: number | undefined;
  /** How wide the terminal is. */
  columns?: (() => number) | undefined;
}

/** Says how far a run is, by itself, until disposed; a bar is then gone. */
export class Progress implements AsyncDisposable {
  readonly #options: ProgressOptions;
  readonly #intervalMs: number;
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #queue = new TextQueue();
  #nextMs: number;
  #visible = false;
  #paused = false;

  constructor(options: ProgressOptions) {
    const { isTerminal, intervalMs = isTerminal ? TERMINAL_INTERVAL_MS : LOG_INTERVAL_MS } = options;
    this.#options = options;
    this.#intervalMs = intervalMs;
    // A short run needs no line in a log.
    this.#nextMs = isTerminal ? 0 : performance.now() + intervalMs;
    this.#timer = setInterval(() => this.update(), intervalMs);
  }

  /** Draws anew, unless it was drawn a moment ago. */
  update(): void {
    const nowMs = performance.now();
    if (this.#paused || nowMs < this.#nextMs) return;
    this.#nextMs = nowMs + this.#intervalMs;
    this.#visible = true;
    const { summary, total, sink, isTerminal, columns = () => Infinity } = this.#options;
    const text = isTerminal
      ? CLEAR_LINE + formatProgressBar(summary, total).slice(0, columns() - 1)
      : `${formatProgress(summary, total)}\n`;
    this.#queue.write(sink, text);
  }

  /** Takes a bar away while something else is written. */
  async pauseWhile(write: () => Promise<void>): Promise<void> {
    this.#paused = true;
    try {
      await this.#clear();
      await write();
    } finally {
      this.#paused = false;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    this.#paused = true;
    await this.#clear();
  }

  async #clear(): Promise<void> {
    if (this.#visible && this.#options.isTerminal) this.#queue.write(this.#options.sink, CLEAR_LINE);
    this.#visible = false;
    await this.#queue.flush().catch(() => {}); // nobody looks at it
  }
}
