import type { InteractionResult } from "../../rollout/interaction_result.ts";
import type { Task } from "../../task.ts";
import { toWellFormedJson } from "../../json.ts";
import { episodeKeyOf, resultKeyOf } from "./finished_episodes.ts";
import { type EpisodeKind, prepareResume } from "./episode_file.ts";
import { UsageError } from "../errors.ts";
import { writeText } from "../output.ts";

/** Boundaries whose failure leaves the partial episode valid. */
const PASSING = ["policy", "user"];

/**
 * What there is of episodes that an earlier run left behind, until this one has gone on with them. A copy on disk
 * stands by meanwhile, for a run that is killed.
 */
export class PartialEpisodes {
  readonly #copy: string;
  readonly #waiting = new Map<string, InteractionResult>();
  /** Episodes being continued. */
  readonly #taken = new Map<string, InteractionResult>();

  /** `path` is that of the file of episodes; the copy stands beside it. */
  constructor(path: string) {
    this.#copy = `${path}.stopped`;
  }

  /**
   * Refuses to start over where a killed run has left a copy, as what is in it would be lost.
   *
   * @throws {UsageError} when there is one.
   */
  async requireNoCopy(): Promise<void> {
    const isThere = await Deno.stat(this.#copy).then(() => true, () => false); // what cannot be seen is not there
    if (!isThere) return;
    throw new UsageError(
      `Cannot begin anew as '${this.#copy}' holds episodes that were stopped: give --resume to go on, or --force`,
    );
  }

  /**
   * Reads the copy that a killed run has left.
   *
   * @throws {UsageError} when a line is no episode.
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

  /** Takes note of an episode that did not end; one that failed of its own is to be played from its start. */
  add(result: InteractionResult): void {
    const key = resultKeyOf(result);
    if (failedByItself(result)) this.#waiting.delete(key);
    else this.#waiting.set(key, further(result, this.#waiting.get(key)));
  }

  /** Forgets those that are finished. */
  forget(isFinished: (key: string) => boolean): void {
    for (const key of this.#waiting.keys()) if (isFinished(key)) this.#waiting.delete(key);
  }

  /** Keeps a copy of those that are there. */
  async saveCopy(): Promise<void> {
    if (this.#waiting.size === 0) return await this.dropCopy();
    const fresh = `${this.#copy}.new`;
    {
      using file = await Deno.create(fresh);
      for (const result of this.#waiting.values()) await writeText(file, `${toWellFormedJson(result)}\n`);
    }
    await Deno.rename(fresh, this.#copy);
  }

  /** Throws the copy away, where there is one. */
  async dropCopy(): Promise<void> {
    await Deno.remove(this.#copy).catch(() => {}); // there was none
  }

  /** Gives an episode to whoever goes on with it, once. */
  take(task: Task, sample: number): InteractionResult | undefined {
    const key = episodeKeyOf(task, sample);
    const result = this.#waiting.get(key);
    if (result === undefined) return undefined;
    this.#waiting.delete(key);
    this.#taken.set(key, result);
    return result;
  }

  /** What is to be kept of an episode that is over: what was there before, where that went further. */
  end(result: InteractionResult): InteractionResult {
    const key = resultKeyOf(result);
    const before = this.#taken.get(key);
    this.#taken.delete(key);
    if (result.status !== "aborted" || failedByItself(result)) return result;
    return further(result, before);
  }

  /** Gives those that nobody has gone on with, or not begun to, and forgets them. */
  takeRest(): InteractionResult[] {
    const rest = [...this.#waiting.values(), ...this.#taken.values()];
    this.#waiting.clear();
    this.#taken.clear();
    return rest;
  }
}

function failedByItself({ errors }: InteractionResult): boolean {
  return errors.some(({ boundary }) => !PASSING.includes(boundary));
}

/** The one of two that has more tokens, with what the first says that failed. */
function further(result: InteractionResult, before: InteractionResult | undefined): InteractionResult {
  if (before === undefined || result.response_length >= before.response_length) return result;
  return { ...before, errors: result.errors };
}
