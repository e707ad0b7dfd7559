import type { TextSink } from "../../io.ts";
import { TextQueue } from "../../output.ts";
import type { Summary } from "./summary.ts";

const CLEAR_LINE = "\r\x1b[K";
const TERMINAL_INTERVAL_MS = 100;
const LOG_INTERVAL_MS = 5_000;

/** Options of {@linkcode Progress}. */
export interface ProgressOptions {
  summary: Summary;
  /** Total number of episodes, if known. */
  total?: number | undefined;
  sink: TextSink;
  /** If true, redraws a line with a bar; else writes plain lines. */
  isTerminal: boolean;
  /** Time between two lines, in milliseconds. @default 100 on a terminal, else 5_000 */
  intervalMs?: number | undefined;
  /** Width of the terminal, in columns. */
  columns?: (() => number) | undefined;
}

/** Prints the progress of a run at intervals. Disposal removes the bar. */
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
    // a short run prints no line to a log
    this.#nextMs = isTerminal ? 0 : performance.now() + intervalMs;
    this.#timer = setInterval(() => this.update(), intervalMs);
  }

  /** Redraws, unless the last drawing is recent. */
  update(): void {
    const nowMs = performance.now();
    if (this.#paused || nowMs < this.#nextMs) return;
    this.#nextMs = nowMs + this.#intervalMs;
    this.#visible = true;
    const { summary, total, sink, isTerminal, columns = () => Infinity } = this.#options;
    const text = isTerminal
      ? CLEAR_LINE + formatProgressBar(summary, { total, columns: columns() - 1 })
      : `${formatProgress(summary, total)}\n`;
    this.#queue.write(sink, text);
  }

  /** Removes the bar while `work` writes something else. */
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
    await this.#queue.flush().catch(() => {}); // stderr is closed
  }
}

const WIDTH = 24;

/** Figures of a run that the progress shows. */
export type ProgressFigures =
  & Pick<Summary, "episodes" | "running" | "failed" | "meanReward" | "episodesPerSecond">
  & Partial<Pick<Summary, "cut" | "tokensPerSecond">>;

/** Options of {@linkcode formatProgressBar}. */
export interface ProgressBarOptions {
  /** Total number of episodes, if known. */
  total?: number | undefined;
  /** Maximum length of the line. @default no limit */
  columns?: number | undefined;
}

/**
 * Formats the progress as a line, with a bar if the number of episodes is known. In a narrow terminal the bar becomes
 * shorter and whole parts are left out, least important first; the rate and the remaining time stay longest.
 */
export function formatProgressBar(summary: ProgressFigures, options: ProgressBarOptions = {}): string {
  const { total, columns = Infinity } = options;
  const { episodes } = summary;
  const hasTotal = total !== undefined && total >= 1;
  const { counts, reward, rate } = parts(summary);
  const left = hasTotal ? timeLeft(summary, total) : "";
  const done = hasTotal ? `${episodes}/${total}` : `${episodes} done`;
  const texts = [
    [done, counts.join("  "), reward, rate + left].join("  "),
    [done, ...counts.slice(1), reward, rate + left].join("  "),
    [done, reward, rate + left].join("  "),
    [done, rate + left].join("  "),
    rate + left,
    left.trim() || rate,
    "",
  ];
  const text = texts.find(({ length }) => length <= columns) ?? "";
  const width = hasTotal ? Math.min(WIDTH, columns - text.length - 1) : 0;
  if (width < MIN_WIDTH || !text.startsWith(done)) return text;
  const filled = Math.min(width, Math.floor(width * episodes / (total ?? 1)));
  return `${"█".repeat(filled)}${"░".repeat(width - filled)} ${text}`;
}

/** Bars shorter than this say nothing. */
const MIN_WIDTH = 4;

/** Formats the progress without a bar, for a log. */
export function formatProgress(summary: Summary, total?: number): string {
  const of = total === undefined ? "" : `/${total}`;
  return `${summary.episodes}${of} done  ${numbers(summary)}${timeLeft(summary, total)}`;
}

function numbers(summary: Summary): string {
  const { counts, reward, rate } = parts(summary);
  return [...counts, reward, rate].join("  ");
}

function parts(summary: ProgressFigures): { counts: string[]; reward: string; rate: string } {
  const { running, failed, cut = 0, meanReward, episodesPerSecond, tokensPerSecond } = summary;
  const tokens = tokensPerSecond === undefined ? "" : `  ${tokensPerSecond.toFixed(0)} tokens/s`;
  return {
    counts: [`${running} running`, `${failed} failed`, ...(cut === 0 ? [] : [`${cut} cut off`])],
    reward: `reward ${meanReward?.toFixed(3) ?? "-"}`,
    rate: `${episodesPerSecond.toFixed(1)}/s${tokens}`,
  };
}

function timeLeft({ episodes, episodesPerSecond }: ProgressFigures, total = 0): string {
  const left = total - episodes;
  return left > 0 && episodesPerSecond > 0 ? `  ETA ${clock(left / episodesPerSecond)}` : "";
}

function clock(seconds: number): string {
  const whole = Math.round(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const ending = `${String(minutes).padStart(hours > 0 ? 2 : 1, "0")}:${String(rest).padStart(2, "0")}`;
  return hours > 0 ? `${hours}:${ending}` : ending;
}
