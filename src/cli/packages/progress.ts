import { currentIo, type TerminalSink } from "../io.ts";
import { terminalColumns, writeText } from "../output.ts";
import type { DownloadProgress } from "./resolution.ts";

const BAR_COLUMNS = 24;
const MEGABYTE = 1_000_000;

/** Shows the progress of downloads on a terminal's stderr. Dispose clears the line. */
export class ProgressBar implements AsyncDisposable {
  readonly #sink: TerminalSink;
  #shown = Promise.resolve();
  #label = "";

  constructor(sink: TerminalSink = currentIo().stderr) {
    this.#sink = sink;
  }

  /** Names what is downloaded next. */
  start(label: string): void {
    this.#label = label;
    this.#show(label);
  }

  /** Shows how much of the file has arrived. */
  readonly update = (progress: DownloadProgress): void => {
    this.#show(`${this.#label} ${formatDownload(progress)}`);
  };

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#label !== "") this.#show("");
    await this.#shown;
  }

  #show(line: string): void {
    if (!this.#sink.isTerminal()) return;
    const text = `\r\x1b[2K${line.slice(0, terminalColumns() - 1)}`;
    this.#shown = this.#shown.then(() => writeText(this.#sink, text)).catch(() => {}); // stderr is closed
  }
}

/** Returns a bar and the megabytes that have arrived. */
export function formatDownload({ done, total }: DownloadProgress): string {
  const size = (bytes: number) => (bytes / MEGABYTE).toFixed(1);
  if (total === undefined || total <= 0) return `${size(done)} MB`;
  const filled = Math.round(Math.min(1, done / total) * BAR_COLUMNS);
  return `[${"#".repeat(filled)}${"-".repeat(BAR_COLUMNS - filled)}] ${size(done)}/${size(total)} MB`;
}
