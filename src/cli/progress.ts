import type { Summary } from "./summary.ts";
import { type TextSink, writeText } from "./write_text.ts";

const WIDTH = 30;
const INTERVAL_MS = 100;
const CLEAR_LINE = "\r\x1b[K";

/** What {@linkcode Progress} shows and where. */
export interface ProgressOptions {
  /** How many episodes there will be, if that is known. */
  total?: number | undefined;
  /** Where the bar is drawn: a terminal. */
  sink: TextSink;
}

/** One line on a terminal that says how far a run is; gone when disposed. */
export class Progress implements AsyncDisposable {
  readonly #sink: TextSink;
  readonly #total: number | undefined;
  #nextMs = 0;
  #visible = false;

  constructor(options: ProgressOptions) {
    this.#sink = options.sink;
    this.#total = options.total;
  }

  /** Draws anew, unless it was drawn a moment ago. */
  async draw(summary: Summary): Promise<void> {
    const nowMs = performance.now();
    if (nowMs < this.#nextMs) return;
    this.#nextMs = nowMs + INTERVAL_MS;
    this.#visible = true;
    await writeText(this.#sink, CLEAR_LINE + progressLine(summary, this.#total));
  }

  /** Takes the line away, so that something else can be written. */
  async clear(): Promise<void> {
    if (this.#visible) await writeText(this.#sink, CLEAR_LINE);
    this.#visible = false;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.clear();
  }
}

/** The text of a {@linkcode Progress}. */
export function progressLine(summary: Summary, total?: number): string {
  const { episodes, failed, meanReward, episodesPerSecond } = summary;
  const numbers = `reward ${meanReward?.toFixed(3) ?? "-"}  errors ${failed}  ${
    episodesPerSecond.toFixed(1)
  }/s`;
  if (total === undefined || total < 1) return `${episodes} done  ${numbers}`;
  const filled = Math.min(WIDTH, Math.floor(WIDTH * episodes / total));
  return `${"█".repeat(filled)}${"░".repeat(WIDTH - filled)} ${episodes}/${total}  ${numbers}`;
}
