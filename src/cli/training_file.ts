import type { InteractionResult } from "../rollout/interaction_result.ts";
import { parseInteraction } from "../rollout/parse_interaction.ts";
import type { Task } from "../task.ts";
import { EpisodeFile, type EpisodeFileOptions, openEpisodeFile } from "./episode_file.ts";
import { Tally } from "./tally.ts";

const INTERACTIONS = {
  beginning: '{"prompt":',
  parse: parseInteraction,
  keeps: ({ status }: InteractionResult) => status !== "aborted",
};

/** What was not the episode's own fault: what it had said by then is still good. */
const PASSING = ["policy", "user"];

/** The file of `--train-out`: each episode as a trainer reads it, those that were stopped included. */
export class TrainingFile extends EpisodeFile<InteractionResult> {
  readonly #finished: Tally;
  readonly #partial: Map<string, InteractionResult>;

  private constructor(
    path: string,
    file: Deno.FsFile,
    earlier: { finished: Tally; partial: Map<string, InteractionResult> },
  ) {
    super(path, file);
    this.#finished = earlier.finished;
    this.#partial = earlier.partial;
  }

  /** @throws {UsageError} when it cannot be written, or cannot be gone on with. */
  static async open(
    path: string,
    options: EpisodeFileOptions<InteractionResult> = {},
  ): Promise<TrainingFile> {
    const finished = new Tally();
    const partial = new Map<string, InteractionResult>();
    const onKept = (result: InteractionResult) => {
      finished.add(episodeKey(result.task_id, result.sample));
      options.onKept?.(result);
    };
    const onDropped = (result: InteractionResult) => {
      const isGood = result.errors.every(({ boundary }) => PASSING.includes(boundary));
      if (isGood) partial.set(episodeKey(result.task_id, result.sample), result);
    };
    const file = await openEpisodeFile(path, INTERACTIONS, { ...options, onKept, onDropped });
    return new TrainingFile(path, file, { finished, partial });
  }

  takeFinished({ id }: Task, sample: number): boolean {
    return this.#finished.take(episodeKey(id, sample));
  }

  /** What the file held of an episode that was stopped, once. */
  takePartial({ id }: Task, sample: number): InteractionResult | undefined {
    const key = episodeKey(id, sample);
    const result = this.#partial.get(key);
    this.#partial.delete(key);
    return result;
  }

  /** Writes back the stopped episodes that nobody took. */
  async writeUntaken(): Promise<void> {
    for (const [key, result] of this.#partial) {
      this.#partial.delete(key);
      await this.write(result);
    }
  }
}

/** What names an episode in a run. */
function episodeKey(id: string, sample: number): string {
  return `${sample} ${id}`;
}
