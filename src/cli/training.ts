import { toInteractionResult } from "../rollout/interaction_result.ts";
import type { TokenOptions } from "../rollout/tokens/episode_writer.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import type { TrainingFile } from "./training_file.ts";

/** Episodes that are played for a trainer: their tokens are written, and each becomes a line of its file. */
export class TrainingRun {
  readonly file: TrainingFile;
  readonly tokens: TokenOptions;
  readonly #aborted: Trajectory[] = [];

  constructor(file: TrainingFile, tokens: TokenOptions) {
    this.file = file;
    this.tokens = tokens;
  }

  /** Takes what there is of an episode that was stopped; it is written in the end. */
  add(trajectory: Trajectory): void {
    this.#aborted.push(trajectory);
  }

  /** Writes an episode; one whose env could not be made has no tokens, and no line. */
  async write(trajectory: Trajectory): Promise<void> {
    if (trajectory.tokens?.promptLength === undefined) return;
    await this.file.write(toInteractionResult(trajectory));
  }

  /** Writes what there is of episodes that were stopped, in this run or in an earlier one. */
  async writePartial(): Promise<void> {
    for (const trajectory of this.#aborted.splice(0)) await this.write(trajectory);
    await this.file.writePartial();
  }
}
