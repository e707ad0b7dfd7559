import type { InteractionResult } from "../rollout/interaction_result.ts";
import { parseInteraction } from "../rollout/parse_interaction.ts";
import type { Task } from "../task.ts";
import {
  EpisodeFile,
  type EpisodeFileOptions,
  episodeKey,
  type Finished,
  openEpisodeFile,
} from "./episode_file.ts";

const INTERACTIONS = {
  beginning: '{"prompt":',
  parse: parseInteraction,
  keeps: ({ status }: InteractionResult) => status !== "aborted",
};

/** What was not the episode's own fault: what it had said by then is still good. */
const PASSING = ["policy", "user"];

/** The file of `--train-out`: each episode as a trainer reads it, those that were stopped included. */
export class TrainingFile extends EpisodeFile<InteractionResult> {
  readonly #partial: Map<string, InteractionResult>;

  private constructor(file: Deno.FsFile, finished: Finished, partial: Map<string, InteractionResult>) {
    super(file, finished);
    this.#partial = partial;
  }

  /** @throws {UsageError} when it cannot be written, or cannot be gone on with. */
  static async open(
    path: string,
    options: EpisodeFileOptions<InteractionResult> = {},
  ): Promise<TrainingFile> {
    const finished: Finished = new Map();
    const partial = new Map<string, InteractionResult>();
    const onKept = (result: InteractionResult) => {
      const key = episodeKey(result.task_id, result.sample);
      finished.set(key, (finished.get(key) ?? 0) + 1);
      options.onKept?.(result);
    };
    const onDropped = (result: InteractionResult) => {
      const isGood = result.errors.every(({ boundary }) => PASSING.includes(boundary));
      if (isGood) partial.set(episodeKey(result.task_id, result.sample), result);
    };
    const file = await openEpisodeFile(path, INTERACTIONS, { ...options, onKept, onDropped });
    return new TrainingFile(file, finished, partial);
  }

  /** What the file held of an episode that was stopped, once. */
  takePartial({ id }: Task, sample: number): InteractionResult | undefined {
    const key = episodeKey(id, sample);
    const result = this.#partial.get(key);
    this.#partial.delete(key);
    return result;
  }
}
