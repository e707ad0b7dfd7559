import { attributeErrors, EnvError } from "../errors.ts";
import type { Step } from "../envs/env.ts";
import type {
  EpisodeCheckpoint,
  EpisodeCheckpointOptions,
  EpisodeCopyOptions,
} from "../episode_checkpoint.ts";
import { messageText } from "../message.ts";
import type { Grader } from "../rewards/grader.ts";
import type { Task } from "../task.ts";
import type { Tool } from "../tools/tool.ts";
import { GradeEpisode } from "../transforms/grade_episode.ts";
import { ToolTransform, type ToolTransformOptions } from "../transforms/tool_transform.ts";
import type { Transform, TransformContext } from "../transforms/transform.ts";
import type { EnvFile, FileEpisode } from "./env_file.ts";
import { plainMessages, plainTask } from "./plugin_host.ts";

/** Parts of an env that a file gives to a chat. The parts are for a single env. */
export interface FileEnvParts {
  /** Starts and ends the episodes, and runs the tools. Append this transform first. */
  readonly episode: Transform;
  /** Answers a reply that no tool answered, or ends the episode, if the file has a `step`. Append this transform after the
   * tools. */
  readonly answer: Transform | undefined;
  /** Scores episodes, if the file has a `reward`. Append this transform after the transforms that end the episode. */
  readonly grading: Transform | undefined;
}

/** Returns the parts of an env. */
export function makeFileEnvParts(
  file: EnvFile,
  options: Omit<ToolTransformOptions, "tools"> = {},
): FileEnvParts {
  const { name, hooks } = file.description;
  const episode = new EpisodeTransform(file, options);
  return {
    episode,
    answer: hooks.has("step") ? new AnswerTransform(episode, name) : undefined,
    grading: hooks.has("reward") ? new RewardTransform(episode, name) : undefined,
  };
}

/** Starts and ends the episodes of a file, and runs the file's tools. */
class EpisodeTransform implements Transform {
  readonly #file: EnvFile;
  readonly #options: Omit<ToolTransformOptions, "tools">;
  readonly #calls: ToolTransform;
  /** Episodes of copies of the env, by the options of the copy. */
  readonly #copies = new WeakMap<EpisodeCopyOptions, EpisodeTransform>();
  #current: FileEpisode | undefined;

  constructor(file: EnvFile, options: Omit<ToolTransformOptions, "tools">) {
    const tools = file.description.tools.map((spec): Tool => ({
      ...spec,
      run: (args, { signal }) => this.current.call(spec.name, args, signal),
    }));
    this.#file = file;
    this.#options = options;
    this.#calls = new ToolTransform({ ...options, tools });
  }

  /** Returns the transform of a copy of the env. The episode starts when the copy is made. */
  copyFor(options: EpisodeCopyOptions): EpisodeTransform {
    const copy = this.#copies.get(options) ?? new EpisodeTransform(this.#file, this.#options);
    this.#copies.set(options, copy);
    return copy;
  }

  get current(): FileEpisode {
    if (this.#current !== undefined) return this.#current;
    throw new Error(`Cannot play env '${this.#file.description.name}' as no episode has been started`);
  }

  async task(
    task: Task,
    { seed, signal }: { seed?: number | undefined; signal?: AbortSignal | undefined },
  ): Promise<Task> {
    const { name, hooks, system } = this.#file.description;
    return await attributeErrors(async () => {
      await this[Symbol.asyncDispose]();
      this.#current = await this.#file.open({ seed, signal });
      if (!hooks.has("reset")) return task;
      const input = { task: plainTask(task), ...(seed !== undefined && { seed }) };
      const query = await this.#current.reset(input, signal);
      if (query === null) return task;
      if (typeof query !== "string" && query[0]?.role === "system" && system !== undefined) {
        throw new Error(
          "only one of its system message and that of the messages of 'reset' can be used: found both",
        );
      }
      return { ...task, query };
    }, { error: EnvError, failure: `Cannot start an episode of env '${name}'`, signal });
  }

  reset(...args: Parameters<ToolTransform["reset"]>): ReturnType<ToolTransform["reset"]> {
    return this.#calls.reset(...args);
  }

  async step(step: Step, context: TransformContext): Promise<Step> {
    return this.#file.description.tools.length === 0 ? step : await this.#calls.step(step, context);
  }

  async end(): Promise<void> {
    await this[Symbol.asyncDispose]();
  }

  /**
   * Copies have the state of the episode in the file.
   *
   * @throws {CheckpointError} if the session of a Python file refuses a checkpoint.
   */
  async checkpoint(options: EpisodeCheckpointOptions): Promise<EpisodeCheckpoint<Transform>> {
    const state = await this.#current?.checkpoint(options);
    return {
      copy: async (options = {}) => {
        const copy = this.copyFor(options);
        copy.#current = await state?.copy(options);
        return copy;
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const current = this.#current;
    this.#current = undefined;
    await current?.[Symbol.asyncDispose]();
  }
}

/** Passes replies that no tool answered to `step` of a file. */
class AnswerTransform implements Transform {
  readonly #episode: EpisodeTransform;
  readonly #name: string;

  constructor(episode: EpisodeTransform, name: string) {
    this.#episode = episode;
    this.#name = name;
  }

  async step(step: Step, { task, turn, signal }: TransformContext): Promise<Step> {
    const { prompt } = step.history;
    const { last } = prompt;
    if (last?.role !== "assistant" || step.terminated) return step;
    if (last.is_complete === false) return { ...step, truncated: true };
    const input = { task: plainTask(task), reply: messageText(last), messages: plainMessages(prompt), turn };
    const { message, reward, done, parts } = await attributeErrors(
      () => this.#episode.current.step(input, signal),
      { error: EnvError, failure: `Cannot step env '${this.#name}'`, signal },
    );
    return {
      ...step,
      ...(message !== null &&
        { history: { ...step.history, prompt: prompt.append({ role: "user", content: message }) } }),
      ...(reward !== null && { reward: (step.reward ?? 0) + reward }),
      ...(parts !== undefined && { rewardParts: { ...step.rewardParts, ...parts } }),
      terminated: done,
    };
  }

  checkpoint(): EpisodeCheckpoint<Transform> {
    return { copy: (options = {}) => new AnswerTransform(this.#episode.copyFor(options), this.#name) };
  }
}

/** Scores an ended episode with `reward` of a file. */
class RewardTransform implements Transform {
  readonly #episode: EpisodeTransform;
  readonly #name: string;
  readonly #grading: GradeEpisode;

  constructor(episode: EpisodeTransform, name: string) {
    const grader: Grader = { name, grade: (context) => episode.current.reward(context) };
    this.#episode = episode;
    this.#name = name;
    this.#grading = new GradeEpisode({ grader });
  }

  async step(step: Step, context: TransformContext): Promise<Step> {
    return await this.#grading.step(step, context);
  }

  checkpoint(): EpisodeCheckpoint<Transform> {
    return { copy: (options = {}) => new RewardTransform(this.#episode.copyFor(options), this.#name) };
  }
}
