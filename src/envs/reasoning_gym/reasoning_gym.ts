import { join, resolve } from "node:path";
import * as z from "zod";
import { ArgumentRangeError, EnvError, GraderError } from "../../errors.ts";
import { ANSWER_FORM, answerOf, toReply } from "../../families/answer.ts";
import { requireKnownOptions } from "../../options.ts";
import { finalReplyOf } from "../../rewards/final_reply.ts";
import type { GradeContext, Grader, Score } from "../../rewards/grader.ts";
import { moduleCall, type PythonArgument } from "../../sandbox/isolated/callee.ts";
import { SandboxPool } from "../../sandbox/pool.ts";
import { parseProfile, type Profile } from "../../sandbox/profile/profile.ts";
import { deriveSeed } from "../../seeded_random.ts";
import type { Task } from "../../task.ts";
import { DATA_SETS, NOT_PLAYED } from "./data_sets.ts";
import dataSetSource from "./guest/data_set.py" with { type: "text" };

/** Options of {@linkcode ReasoningGym.open}. */
export interface ReasoningGymOptions {
  /** Folder with the package `reasoning_gym` and what the package needs, as of `pip install --target`. It is only read. */
  path: string;
  /** Name of a data set, such as `leg_counting`. */
  dataSet: string;
  /**
   * Settings of the data set, such as `{ min_animals: 5 }`.
   *
   * @default the data set's own
   */
  config?: Readonly<Record<string, unknown>> | undefined;
  /**
   * If true, an answer scores 1 if the data set gives the full score, else 0. By default, the data set's own score counts,
   * which is above 0 for many wrong answers: `2920` for `292` earns 0.75.
   *
   * @default false
   */
  fullScore?: boolean | undefined;
  /**
   * Number of interpreters.
   *
   * @default 1
   */
  sessions?: number | undefined;
  /** Folder of the cached base images. */
  cacheDir?: string | undefined;
  /** Called once before the base image of the data set is built, which takes a few seconds. */
  onBuild?: (() => void) | undefined;
}

/** Options of {@linkcode ReasoningGym.tasks}. */
export interface ReasoningGymTasksOptions {
  /**
   * Seed of the tasks.
   *
   * @default 0
   */
  seed?: number | undefined;
  /**
   * Number of tasks.
   *
   * @default Infinity
   */
  count?: number | undefined;
  signal?: AbortSignal | undefined;
}

const FOLDER = "/reasoning_gym";
const MODULE = "paddock_reasoning_gym";
const CALL_MS = 60_000;
/** Longest answer that is scored, in characters: some data sets read an answer as a program of their own. */
const MAX_ANSWER = 20_000;

const entrySchema = z.object({ question: z.string(), answer: z.string() });

/**
 * A data set of reasoning-gym, whose code runs in sandboxes: both to make the entries and to score answers. Code of a model
 * never runs there.
 *
 * @example
 * ```ts ignore
 * import { ReasoningGym } from "@paddock/paddock/envs";
 *
 * await using gym = await ReasoningGym.open({ path: "./gym", dataSet: "leg_counting", fullScore: true });
 * for await (const task of gym.tasks({ seed: 7, count: 10 })) console.log(task.query);
 * ```
 */
export class ReasoningGym implements AsyncDisposable {
  readonly dataSet: string;
  /** Scores the final reply to a task of {@linkcode ReasoningGym.tasks}. */
  readonly grader: Grader;
  readonly #pool: SandboxPool;
  readonly #config: string;
  readonly #fullScore: boolean;

  private constructor(pool: SandboxPool, { dataSet, config = {}, fullScore = false }: ReasoningGymOptions) {
    this.dataSet = dataSet;
    this.#pool = pool;
    this.#config = JSON.stringify(config);
    this.#fullScore = fullScore;
    this.grader = { name: "reasoning_gym", grade: (context) => this.#grade(context) };
  }

  /**
   * Starts the sandboxes of a data set.
   *
   * @throws {RangeError} if the data set is unknown or cannot be played; the message has the reason.
   * @throws {Deno.errors.NotFound} if the folder has no package `reasoning_gym`.
   * @throws {SandboxError} if the data set cannot be imported; the message has the reason.
   */
  static async open(options: ReasoningGymOptions): Promise<ReasoningGym> {
    requireKnownOptions("open ReasoningGym", options, OPTIONS);
    const { path, dataSet, sessions = 1, cacheDir, onBuild } = options;
    const module = moduleOf(dataSet);
    await requirePackage(path);
    const profile = gymProfile(resolve(path), { dataSet, module });
    await using started = new AsyncDisposableStack();
    const pool = started.use(
      new SandboxPool({ profile, size: sessions, resetMode: "rewind", cacheDir, onBuild }),
    );
    await (await pool.acquire())[Symbol.asyncDispose](); // reports an import that fails
    started.move();
    return new ReasoningGym(pool, options);
  }

  /**
   * Generates tasks. The same seed gives the same tasks. The field `fields` of a task names the entry.
   *
   * @throws {EnvError} if the data set fails, such as for wrong settings; the message has the reason.
   */
  async *tasks(options: ReasoningGymTasksOptions = {}): AsyncGenerator<Task> {
    requireKnownOptions("call tasks", options, TASKS_OPTIONS);
    const { seed = 0, count = Infinity, signal } = options;
    for (let index = 0; index < count; index++) {
      // an entry of a data set has the seed plus the index, so that seeds beside each other would share entries
      const entrySeed = deriveSeed(seed, index) % 2 ** 31;
      const entry = z.safeParse(entrySchema, await this.#call("entry", entrySeed, { signal }));
      if (!entry.success) {
        throw new EnvError(
          `Cannot make a task of '${this.dataSet}' as its entry must have texts: found others`,
        );
      }
      const { question, answer } = entry.data;
      yield {
        id: `reasoning-gym/${this.dataSet}:${seed}:${index}`,
        query: `${question}\n\n${ANSWER_FORM}`,
        replies: [toReply(answer)],
        fields: { data_set: this.dataSet, seed: entrySeed },
      };
    }
  }

  async #grade({ task, history, signal }: GradeContext): Promise<Score> {
    const { data_set: dataSet, seed } = task.fields ?? {};
    if (dataSet !== this.dataSet || typeof seed !== "number") {
      throw new GraderError(
        `Cannot grade as the task must be of data set '${this.dataSet}': found '${dataSet}'`,
      );
    }
    const answer = answerOf(finalReplyOf(history));
    if (answer === undefined || answer.length > MAX_ANSWER) return { score: 0, parts: { well_formed: 0 } };
    const score = await this.#call("score", seed, { args: [answer], signal });
    if (typeof score !== "number") throw new GraderError(`Cannot grade as '${this.dataSet}' gave no number`);
    const isFull = score >= 1;
    return {
      score: this.#fullScore ? Number(isFull) : score,
      parts: { well_formed: 1, ...(this.#fullScore && { own_score: score }) },
    };
  }

  async #call(
    name: string,
    seed: number,
    { args = [], signal }: { args?: readonly PythonArgument[]; signal?: AbortSignal | undefined },
  ): Promise<unknown> {
    await using lease = await this.#pool.acquire({ signal });
    const code = moduleCall(MODULE, name, [this.dataSet, seed, this.#config, ...args]);
    const result = await lease.session.exec(code, { timeoutMs: CALL_MS, signal });
    if (result.status === "ok") return result.valueJson;
    const reason = "error" in result ? result.error.message : result.status;
    throw new EnvError(`Cannot call '${name}' of data set '${this.dataSet}' as it failed: ${reason}`);
  }

  /** Ends the sandboxes. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool[Symbol.asyncDispose]();
  }
}

function moduleOf(dataSet: string): string {
  const module = Object.hasOwn(DATA_SETS, dataSet) ? DATA_SETS[dataSet] : undefined;
  if (module !== undefined) return module;
  const reason = Object.hasOwn(NOT_PLAYED, dataSet) ? NOT_PLAYED[dataSet] : undefined;
  throw new ArgumentRangeError(
    reason === undefined
      ? `Cannot open data set '${dataSet}' as it must be one of ${Object.keys(DATA_SETS).join(", ")}`
      : `Cannot open data set '${dataSet}' as ${reason}`,
  );
}

async function requirePackage(path: string): Promise<void> {
  const file = join(path, "reasoning_gym", "factory.py");
  if (await Deno.stat(file).then(({ isFile }) => isFile, () => false)) return;
  throw new Deno.errors.NotFound(
    `Cannot open reasoning-gym at '${path}' as it must have the package: there is no file 'reasoning_gym/factory.py'`,
  );
}

function gymProfile(path: string, { dataSet, module }: { dataSet: string; module: string }): Profile {
  const settings = { description: "A data set of reasoning-gym", mounts: { [FOLDER]: path } };
  const profile = parseProfile(JSON.stringify(settings), { source: `reasoning-gym ${dataSet}` });
  const source = `${dataSetSource}\nopen_package(${JSON.stringify(FOLDER)})\nopen_data_set(${
    JSON.stringify(module)
  })\n`;
  return { ...profile, preload: { module: MODULE, source } };
}

/** Names of the options. */
const OPTIONS: Readonly<Record<keyof ReasoningGymOptions, true>> = {
  path: true,
  dataSet: true,
  config: true,
  fullScore: true,
  sessions: true,
  cacheDir: true,
  onBuild: true,
};

/** Names of the options of {@linkcode ReasoningGym.tasks}. */
const TASKS_OPTIONS: Readonly<Record<keyof ReasoningGymTasksOptions, true>> = {
  seed: true,
  count: true,
  signal: true,
};
