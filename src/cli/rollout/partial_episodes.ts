import type { InteractionResult } from "../../rollout/interaction_result.ts";
import type { Task } from "../../task.ts";
import { toWellFormedJson } from "../../json.ts";
import { episodeKeyOf, resultKeyOf } from "./finished_episodes.ts";
import { type EpisodeKind, prepareResume } from "./episode_file.ts";
import { UsageError } from "../cli_errors.ts";
import { writeText } from "../output.ts";

/** Boundaries whose failure leaves the partial episode valid. */
const KEEPING_BOUNDARIES = ["policy", "user"];

/**
 * Partial episodes of an earlier run that this run continues. A copy on disk preserves them if this run is killed.
 */
export class PartialEpisodes {
  readonly #copy: string;
  readonly #waiting = new Map<string, InteractionResult>();
  /** Episodes being continued. */
  readonly #taken = new Map<string, InteractionResult>();

  /** `path` is the file of episodes; the copy is beside the file. */
  constructor(path: string) {
    this.#copy = `${path}.stopped`;
  }

  /**
   * Refuses to start over if a killed run has left a copy, since the copy's episodes would be lost.
   *
   * @throws {UsageError} if there is a copy.
   */
  async requireNoCopy(): Promise<void> {
    const isThere = await Deno.stat(this.#copy).then(() => true, () => false); // an unreadable path counts as missing
    if (!isThere) return;
    throw new UsageError(
      `Cannot start over as '${this.#copy}' has partial episodes of a stopped run: give --resume to continue them, or --force`,
    );
  }

  /**
   * Reads the copy of a killed run.
   *
   * @throws {UsageError} if a line is not an episode.
   */
  async readCopy(kind: EpisodeKind<InteractionResult>): Promise<void> {
    try {
      await prepareResume(this.#copy, { ...kind, keeps: () => true }, {
        onKeep: (result) => this.add(result),
      });
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error; // no run was killed
    }
  }

  /** Adds an unfinished episode. An episode that failed by itself is played again from the start. */
  add(result: InteractionResult): void {
    const key = resultKeyOf(result);
    if (failedByItself(result)) this.#waiting.delete(key);
    else this.#waiting.set(key, further(result, this.#waiting.get(key)));
  }

  /** Removes finished episodes. */
  forget(isFinished: (key: string) => boolean): void {
    for (const key of this.#waiting.keys()) if (isFinished(key)) this.#waiting.delete(key);
  }

  /** Writes the copy. */
  async saveCopy(): Promise<void> {
    if (this.#waiting.size === 0) return await this.dropCopy();
    const fresh = `${this.#copy}.new`;
    {
      using file = await Deno.create(fresh);
      for (const result of this.#waiting.values()) await writeText(file, `${toWellFormedJson(result)}\n`);
    }
    await Deno.rename(fresh, this.#copy);
  }

  /** Deletes the copy, if any. */
  async dropCopy(): Promise<void> {
    await Deno.remove(this.#copy).catch(() => {}); // no copy exists
  }

  /** Returns an episode to be continued, once. */
  take(task: Task, sample: number): InteractionResult | undefined {
    const key = episodeKeyOf(task, sample);
    const result = this.#waiting.get(key);
    if (result === undefined) return undefined;
    this.#waiting.delete(key);
    this.#taken.set(key, result);
    return result;
  }

  /** Returns the longer of a finished episode and the earlier part. */
  end(result: InteractionResult): InteractionResult {
    const key = resultKeyOf(result);
    const before = this.#taken.get(key);
    this.#taken.delete(key);
    if (result.status !== "aborted" || failedByItself(result)) return result;
    return further(result, before);
  }

  /** Returns and removes the episodes that were not continued. */
  takeRest(): InteractionResult[] {
    const rest = [...this.#waiting.values(), ...this.#taken.values()];
    this.#waiting.clear();
    this.#taken.clear();
    return rest;
  }
}

function failedByItself({ errors }: InteractionResult): boolean {
  return errors.some(({ boundary }) => !KEEPING_BOUNDARIES.includes(boundary));
}

/** Returns the episode with more tokens, with the error of the first. */
function further(result: InteractionResult, before: InteractionResult | undefined): InteractionResult {
  if (before === undefined || result.response_length >= before.response_length) return result;
  return { ...before, errors: result.errors };
}
