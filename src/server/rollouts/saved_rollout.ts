import { join } from "node:path";
import { errorMessage } from "../../errors.ts";
import { shortenTrajectory, toEpisodeRow } from "../../rollout/episode/episode_row.ts";
import type { Trajectory } from "../../rollout/trajectory.ts";

/** The file of a rollout of a client, with a trajectory per line, as `paddock rollout --out` writes it. */
export class SavedRollout implements Disposable {
  readonly #file: Deno.FsFile;

  private constructor(file: Deno.FsFile) {
    this.#file = file;
  }

  /** Creates a file in a folder. The file's name has the time and a random part. */
  static async create(folder: string, now: Date = new Date()): Promise<SavedRollout> {
    const time = now.toISOString().slice(0, 19).replaceAll(":", "-");
    const path = join(folder, `${time}-${crypto.randomUUID().slice(0, 8)}.jsonl`);
    return new SavedRollout(await Deno.open(path, { write: true, createNew: true, mode: 0o600 }));
  }

  /**
   * Appends an episode.
   *
   * @throws {Error} if the episode cannot be written, for example on a full disk.
   */
  async write(trajectory: Trajectory): Promise<void> {
    const line = `${toEpisodeRow(trajectory, { shorten: shortenTrajectory })}\n`;
    const bytes = new TextEncoder().encode(line);
    try {
      for (let written = 0; written < bytes.length;) {
        written += await this.#file.write(bytes.subarray(written));
      }
    } catch (cause) {
      throw new Error(`Cannot save an episode of a rollout: ${errorMessage(cause)}`, { cause });
    }
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]();
  }
}
