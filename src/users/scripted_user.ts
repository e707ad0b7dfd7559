import type { EpisodeCheckpoint } from "../episode_checkpoint.ts";
import { UserError } from "../errors.ts";
import type { UserInput, UserSimulator, UserTask } from "./user_simulator.ts";

/** The lines of a script: the same for every task, or a function that returns the lines of a task. */
export type UserScript = readonly string[] | ((task: UserTask) => readonly string[] | undefined);

/**
 * Creates a user simulator that replies with the lines of a script, in order, starting at `reset`. After the
 * last line a reply rejects with a `UserError`, since the script does not fit the episode.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { scriptedUser, USER_STOP } from "@paddock/paddock/tau-bench";
 *
 * const user = scriptedUser(["I want to return my lamp.", USER_STOP]);
 * const first = await user.reset({ index: 0, instruction: "You want to return a lamp." });
 * assertEquals(first, "I want to return my lamp.");
 * ```
 */
export function scriptedUser(lines: UserScript): UserSimulator {
  return new ScriptedUser(lines);
}

class ScriptedUser implements UserSimulator {
  readonly cost = 0;
  readonly #lines: UserScript;
  #script: readonly string[] = [];
  #position = 0;
  #index = 0;

  constructor(lines: UserScript) {
    this.#lines = lines;
  }

  // deno-lint-ignore require-await
  async reset(task: UserTask): Promise<string> {
    this.#begin(task);
    return this.#next();
  }

  // deno-lint-ignore require-await
  async step(): Promise<string> {
    return this.#next();
  }

  recall(_reply: string, input: UserInput): void {
    if ("task" in input) this.#begin(input.task);
    this.#position++;
  }

  checkpoint(): EpisodeCheckpoint<ScriptedUser> {
    const [script, position, index] = [this.#script, this.#position, this.#index];
    return {
      copy: () => {
        const copy = new ScriptedUser(this.#lines);
        copy.#script = script;
        copy.#position = position;
        copy.#index = index;
        return copy;
      },
    };
  }

  #begin(task: UserTask): void {
    const lines = this.#lines;
    this.#script = (typeof lines === "function" ? lines(task) : lines) ?? [];
    this.#position = 0;
    this.#index = task.index;
  }

  #next(): string {
    const line = this.#script[this.#position++];
    if (line !== undefined) return line;
    throw new UserError(
      `Cannot play the user of task ${this.#index} as the script must have line ${this.#position}: ` +
        `it has ${this.#script.length}`,
    );
  }
}
