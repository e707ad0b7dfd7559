import type { Tokenizer } from "../../chat/tokenizer.ts";
import { shortenInteraction } from "../../rollout/episode/episode_row.ts";
import {
  INTERACTION_FORMAT,
  type InteractionResult,
  parseInteraction,
  toInteractionResult,
} from "../../rollout/interaction_result.ts";
import type { TokenOptions } from "../../rollout/tokens/episode_writer.ts";
import { TokenFormat } from "../../rollout/tokens/token_format.ts";
import type { TokenMode } from "../../rollout/tokens/turn_writers.ts";
import type { Trajectory } from "../../rollout/trajectory.ts";
import type { Task } from "../../task.ts";
import { checkUsage, UsageError } from "../cli_errors.ts";
import { EpisodeFile, type EpisodeFileOptions, openEpisodeFile } from "./episode_file.ts";
import { episodeKeyOf, Multiset, resultKeyOf } from "./finished_episodes.ts";
import { PartialEpisodes } from "./partial_episodes.ts";

const INTERACTIONS = {
  beginning: '{"prompt":',
  format: INTERACTION_FORMAT,
  parse: parseInteraction,
  shorten: shortenInteraction,
  keeps: ({ status }: InteractionResult) => status !== "aborted",
};

/** File of `--train-out`, with a training row per episode, including partial episodes. */
export class TrainingFile extends EpisodeFile<InteractionResult> {
  readonly #finished: Multiset;
  readonly #stopped: PartialEpisodes;

  private constructor(
    path: string,
    file: Deno.FsFile,
    earlier: { finished: Multiset; stopped: PartialEpisodes },
  ) {
    super(path, { file, kind: INTERACTIONS });
    this.#finished = earlier.finished;
    this.#stopped = earlier.stopped;
  }

  /** @throws {UsageError} if the file cannot be written or resumed. */
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

  /** Returns the partial row of an episode, once. */
  takePartial(task: Task, sample: number): InteractionResult | undefined {
    return this.#stopped.take(task, sample);
  }

  /** Writes an episode. If a continued episode is shorter than before, writes the earlier part. */
  override async write(result: InteractionResult): Promise<void> {
    await super.write(this.#stopped.end(result));
  }

  /**
   * Writes the episodes of the run's other file that this file lacks, if that file has their tokens. Returns the
   * episodes that are then in both.
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

/** Rollout for a trainer: records tokens and writes a row per episode. */
export class TrainingRun {
  readonly file: TrainingFile;
  readonly tokens: TokenOptions;
  readonly #aborted: Trajectory[] = [];

  constructor(file: TrainingFile, tokens: TokenOptions) {
    this.file = file;
    this.tokens = tokens;
  }

  /** Adds a partial episode, which is written at the end. */
  add(trajectory: Trajectory): void {
    this.#aborted.push(trajectory);
  }

  /** Writes an episode. An episode whose env could not be created has no tokens and no row. */
  async write(trajectory: Trajectory): Promise<void> {
    if (trajectory.tokens?.promptLength === undefined) return;
    await this.file.write(toInteractionResult(trajectory));
  }

  /** Writes the partial episodes of this run and of earlier ones. */
  async writePartial(): Promise<void> {
    for (const trajectory of this.#aborted.splice(0)) await this.write(trajectory);
    await this.file.writePartial();
  }
}

/** Options of `paddock rollout` for rows of a trainer. */
export interface TrainingFlags {
  readonly trainOut?: string;
  readonly tokenMode: TokenMode;
  readonly resume?: boolean;
  readonly force?: boolean;
  readonly tasks?: string;
}

/** Options for writing the tokens of each episode, with the format that the episodes share. */
export type SharedTokenOptions = TokenOptions & { readonly format: TokenFormat };

/** Returns the options for writing tokens, if the run writes rows for a trainer. */
export function tokenOptionsOf(
  { trainOut, tokenMode: mode }: TrainingFlags,
  { tokenizer, editPrompt }: Pick<TokenOptions, "editPrompt"> & { tokenizer: Tokenizer | undefined },
): SharedTokenOptions | undefined {
  if (trainOut === undefined || tokenizer === undefined) return undefined;
  const format = new TokenFormat({ tokenizer });
  checkUsage(() => format.requireWritable({ mode, onRewrite: "keep" }));
  return { tokenizer, mode, onRewrite: "keep", editPrompt, format };
}

/** Opens the file of a run that writes rows for a trainer. */
export async function openTraining(
  { trainOut, resume, force, tasks: source }: TrainingFlags,
  { tokens, stack }: { tokens: SharedTokenOptions | undefined; stack: AsyncDisposableStack },
): Promise<TrainingRun | undefined> {
  if (trainOut === undefined || tokens === undefined) return undefined;
  const { tokenizer } = tokens;
  const onKeep = (result: InteractionResult) => requireSameTokens(result, { out: trainOut, tokenizer });
  const file = stack.use(
    await TrainingFile.open(trainOut, { resume, force, mayResume: true, source, onKeep }),
  );
  return new TrainingRun(file, tokens);
}

/**
 * Refuses an episode of another tokenizer, since token ids of both must not be mixed in a file.
 *
 * @throws {UsageError} if the tokenizer differs.
 */
export function requireSameTokens(
  { prompt, tokens, response_length }: InteractionResult,
  { out, tokenizer }: { out: string; tokenizer: Tokenizer },
): void {
  const ids = tokenizer.encode(prompt);
  if (ids.join() === tokens.slice(0, tokens.length - response_length).join()) return;
  throw new UsageError(
    `Cannot resume '${out}' as its tokens must be those of tokenizer '${tokenizer.name}': they are others`,
  );
}
