import { SerialQueue } from "../../async/semaphore.ts";
import { shortenInteraction, toEpisodeRow } from "../../rollout/episode/episode_row.ts";
import type { InteractionResult } from "../../rollout/interaction.ts";
import { rethrowAsUsageError } from "../cli_errors.ts";

/** Bytes that are searched at once for the end of the last line. */
const PIECE_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/** File of `--out`, to which the rows of each session are appended when the session ends. */
export class RowFile implements AsyncDisposable {
  readonly #file: Deno.FsFile;
  readonly #queue = new SerialQueue();
  readonly #onError: (error: unknown) => void;

  private constructor(file: Deno.FsFile, onError: (error: unknown) => void) {
    this.#file = file;
    this.#onError = onError;
  }

  /**
   * Opens the file. A last line without an end, which a killed gateway left, is removed.
   *
   * @throws {UsageError} if the file cannot be written.
   */
  static async open(path: string, { onError }: { onError: (error: unknown) => void }): Promise<RowFile> {
    const file = await rethrowAsUsageError(
      () => Deno.open(path, { read: true, write: true, create: true }),
      { prefix: `Cannot write rows to '${path}'` },
    );
    const end = await findLastLineEnd(file);
    await file.truncate(end);
    await file.seek(end, Deno.SeekMode.Start);
    return new RowFile(file, onError);
  }

  /** Appends rows. Rows of a call are written together. */
  add(rows: readonly InteractionResult[]): void {
    const lines = rows.map((row) => `${toEpisodeRow(row, { shorten: shortenInteraction })}\n`).join("");
    this.#queue.run(() => this.#write(new TextEncoder().encode(lines))).catch(this.#onError);
  }

  async #write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) at += await this.#file.write(bytes.subarray(at));
  }

  /** Waits for the rows that are being written, and closes the file. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#queue.run(() => Promise.resolve());
    this.#file.close();
  }
}

/** Returns the length of the file up to the end of the last whole line. */
async function findLastLineEnd(file: Deno.FsFile): Promise<number> {
  const { size } = await file.stat();
  const buffer = new Uint8Array(PIECE_BYTES);
  for (let end = size; end > 0;) {
    const start = Math.max(0, end - PIECE_BYTES);
    await file.seek(start, Deno.SeekMode.Start);
    const read = await file.read(buffer.subarray(0, end - start)) ?? 0;
    const at = buffer.subarray(0, read).lastIndexOf(NEWLINE);
    if (at >= 0) return start + at + 1;
    end = start;
  }
  return 0;
}
