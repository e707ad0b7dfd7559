import {
  type InteractionResult,
  parseInteraction,
  toInteractionResult,
} from "../../rollout/interaction_result.ts";
import type { TokenOptions } from "../../rollout/tokens/episode_writer.ts";
import type { Trajectory } from "../../rollout/trajectory.ts";
import type { Task } from "../../task.ts";
import { EpisodeFile, type EpisodeFileOptions, openEpisodeFile } from "./episode_file.ts";
import { episodeKeyOf, Multiset, resultKeyOf } from "./finished_episodes.ts";
import { PartialEpisodes } from "./partial_episodes.ts";

const INTERACTIONS = {
  beginning: '{"prompt":',
  parse: parseInteraction,
  keeps: ({ status }: InteractionResult) => status !== "aborted",
};

/** The file of `--train-out`: each episode as a trainer reads it, those that were stopped included. */
export class TrainingFile extends EpisodeFile<InteractionResult> {
  readonly #finished: Multiset;
  readonly #stopped: PartialEpisodes;

  private constructor(
    path: string,
    file: Deno.FsFile,
    earlier: { finished: Multiset; stopped: PartialEpisodes },
  ) {
    super(path, file);
    this.#finished = earlier.finished;
    this.#stopped = earlier.stopped;
  }

  /** @throws {UsageError} when it cannot be written, or cannot be resumed. */
  static async open(
    path: string,
    options: EpisodeFileOptions<InteractionResult> = {},
  ): Promise<TrainingFile> {
    const finished = new Multiset();
    const stopped = new PartialEpisodes(path);
    if (options.resume) await stopped.readCopy(INTERACTIONS);
    else if (!options.force) await stopped.requireNoCopy();
    const file = await openEpisodeFile(path, INTERACTIONS, {
      ...options,
      onKeep(result) {
        finished.add(resultKeyOf(result));
        options.onKeep?.(result);
      },
      onDrop: (result) => stopped.add(result),
      async onRead() {
        stopped.forget((key) => finished.has(key));
        await stopped.saveCopy();
      },
    });
    if (!options.resume) await stopped.dropCopy();
    return new TrainingFile(path, file, { finished, stopped });
  }

  takeFinished(task: Task, sample: number): boolean {
    return this.#finished.take(episodeKeyOf(task, sample));
  }

  /** What there is of an episode that was stopped, once. */
  takePartial(task: Task, sample: number): InteractionResult | undefined {
    return this.#stopped.take(task, sample);
  }

  /** Writes an episode; of one that was gone on with and did not get as far again, what there was. */
  override async write(result: InteractionResult): Promise<void> {
    await super.write(this.#stopped.end(result));
  }

  /**
   * Writes the episodes that the run's other file has and this one lacks, as far as that has their tokens. Gives
   * those that are then in both.
   */
  async *fillFrom(
    trajectories: AsyncIterable<Trajectory> | Iterable<Trajectory>,
  ): AsyncGenerator<Trajectory> {
    const there = this.#finished.copy();
    for await (const trajectory of trajectories) {
      const key = episodeKeyOf(trajectory.task, trajectory.sample);
      if (!there.take(key)) {
        if (trajectory.tokens?.promptLength === undefined) continue;
        await super.write(toInteractionResult(trajectory));
        this.#finished.add(key);
      }
      yield trajectory;
    }
    this.#stopped.forget((key) => this.#finished.has(key));
  }

  /** Writes back the stopped episodes that were not continued. */
  async writePartial(): Promise<void> {
    for (const result of this.#stopped.takeRest()) await super.write(result);
    await this.#stopped.dropCopy();
  }
}

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
