import type { Tokenizer } from "../chat/tokenizer.ts";
import { requireKnownOptions } from "../options.ts";
import type { Env } from "../envs/env.ts";
import { OwningEnv } from "../envs/owning_env.ts";
import { EnvError } from "../errors.ts";
import type { Family, ToolEpisode } from "../families/family.ts";
import { FAMILIES } from "../families/registry.ts";
import {
  type FamilyTasksOptions,
  generateProblem,
  problemKeyOf,
  promptOf,
  requireFamily,
  taskMaker,
} from "../families/tasks.ts";
import { type EpisodeCheckpoint, type EpisodeCopyOptions, refuseCheckpoint } from "../episode_checkpoint.ts";
import { family as familyGrader, toScore } from "../rewards/family.ts";
import type { Grader } from "../rewards/grader.ts";
import type { SessionLease, SessionPool } from "../sandbox/contract/pool.ts";
import { SandboxPool } from "../sandbox/pool.ts";
import { loadProfile } from "../sandbox/profile/profile.ts";
import type { Task } from "../task.ts";
import type { ToolCallParser } from "../tools/parsers/tool_call_parser.ts";
import type { Tool } from "../tools/tool.ts";
import { GradeEpisode } from "../transforms/grade_episode.ts";
import { ToolTransform } from "../transforms/tool_transform.ts";
import type { Transform } from "../transforms/transform.ts";
import { makeChatEnv, type MakeChatEnvOptions } from "./make_chat_env.ts";

/** Options of {@linkcode makeEnv}. */
export interface MakeEnvOptions extends Omit<FamilyTasksOptions, "start" | "count"> {
  /**
   * Sessions for the code of answers and for shells. The caller disposes the pool. The shells of `shell-files` need a
   * profile with `shell`.
   *
   * @default a pool of one session with the profile of the family, which the env owns
   */
  pool?: SessionPool | undefined;
  /**
   * Maximum number of replies.
   *
   * @default 1 if the answer is a text, else 64
   */
  maxTurns?: number | undefined;
  systemPrompt?: string | undefined;
  /** Parser of the calls in a reply. */
  parser?: ToolCallParser | undefined;
  /** Gives each prompt as token ids too. */
  tokenizer?: Tokenizer | undefined;
  /** Transforms of files. */
  extensions?: MakeChatEnvOptions["extensions"];
  /** Scores the episodes in place of the family. */
  grader?: Grader | undefined;
}

/** Default maximum number of replies of an episode with tools. */
const TOOL_TURNS = 64;
const CALL_MS = 20_000;

/** Returns the default maximum number of replies of a family. */
export function familyTurns({ kind }: Family): number {
  return kind === "tools" ? TOOL_TURNS : 1;
}

/**
 * Makes the env of a family of procedural tasks, for one episode at a time. A reset with a task of `familyTasks` plays that
 * task. A reset with any other task plays a new problem of the given difficulty and split: the first of the seed of the
 * reset, or else the next of the seed of the env. The reward is 1 or 0.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { replyAction } from "@paddock/paddock";
 * import { familyTasks, makeEnv } from "@paddock/paddock/envs";
 *
 * await using env = await makeEnv("paddock/graph-paths", { difficulty: 3 });
 * const [task] = familyTasks("paddock/graph-paths", { difficulty: 3, seed: 7, count: 1 });
 * if (task === undefined) throw new Error("no task");
 * await env.reset(task);
 * const { reward } = await env.step(replyAction(task.replies?.[0] ?? ""));
 * assertEquals(reward, 1);
 * ```
 *
 * @throws {RangeError} if there is no such family, or an option is out of range.
 */
export async function makeEnv(name: string, options: MakeEnvOptions = {}): Promise<Env> {
  requireKnownOptions("call makeEnv", options, OPTIONS);
  const { profile } = FAMILIES[requireFamily(name)];
  if (options.pool !== undefined || profile === undefined) return familyEnv(name, options);
  taskMaker(name, tasksOptionsOf(options)); // wrong options are refused before a sandbox starts
  const pool = new SandboxPool({ profile: await loadProfile(profile), size: 1 });
  return new OwningEnv(familyEnv(name, { ...options, pool }), pool);
}

/** Makes the env of a family over the pool of the caller. */
export function familyEnv(name: string, options: MakeEnvOptions = {}): Env {
  const family = FAMILIES[requireFamily(name)];
  const { pool, parser, systemPrompt, maxTurns = familyTurns(family), tokenizer, extensions } = options;
  const episode = new FamilyEpisode(name, { ...options, pool, parser });
  return makeChatEnv({
    systemPrompt,
    maxTurns,
    tokenizer,
    extensions,
    tools: [episode],
    grading: new FamilyGrading(episode),
    grader: options.grader,
  });
}

function tasksOptionsOf({ difficulty, split, seed }: MakeEnvOptions): FamilyTasksOptions {
  return { difficulty, split, seed };
}

/** Starts the problems of the episodes, and runs the tools. */
class FamilyEpisode implements Transform {
  readonly name: string;
  readonly #options: MakeEnvOptions;
  readonly #makeTask: (index: number) => Task;
  readonly #calls: ToolTransform | undefined;
  /** Episodes of copies of the env, by the options of the copy. */
  readonly #copies = new WeakMap<EpisodeCopyOptions, FamilyEpisode>();
  #next = 0;
  #lease: SessionLease | undefined;
  #current: ToolEpisode | undefined;

  constructor(name: string, options: MakeEnvOptions) {
    this.name = name;
    this.#options = options;
    this.#makeTask = taskMaker(name, tasksOptionsOf(options));
    const tools = FAMILIES[requireFamily(name)].tools?.map((spec): Tool => ({
      ...spec,
      run: (args, { signal }) => this.current.call(spec.name, args, signal),
    }));
    this.#calls = tools && new ToolTransform({ tools, timeoutMs: CALL_MS, parser: options.parser });
  }

  /** Sessions of the env. */
  get pool(): SessionPool | undefined {
    return this.#options.pool;
  }

  /** The tools of the running episode. */
  get current(): ToolEpisode {
    if (this.#current !== undefined) return this.#current;
    throw new EnvError(`Cannot play env '${this.name}' as no episode has been started`);
  }

  async task(
    task: Task,
    options: { seed?: number | undefined; signal?: AbortSignal | undefined },
  ): Promise<Task> {
    await this[Symbol.asyncDispose]();
    const chosen = problemKeyOf(task) === undefined ? this.#newTask(options.seed) : task;
    const key = problemKeyOf(chosen);
    if (key?.family !== requireFamily(this.name)) {
      throw new EnvError(
        `Cannot start an episode of env '${this.name}' as the task is of family '${key?.family}'`,
      );
    }
    const problem = generateProblem(key);
    if (problem.kind === "tools") await this.#open(problem, options);
    return { ...chosen, query: promptOf(problem) };
  }

  #newTask(seed: number | undefined): Task {
    if (seed === undefined) return this.#makeTask(this.#next++);
    return taskMaker(this.name, { ...tasksOptionsOf(this.#options), seed })(0);
  }

  async #open(
    problem: { open(session?: SessionLease["session"]): Promise<ToolEpisode> },
    { seed, signal }: { seed?: number | undefined; signal?: AbortSignal | undefined },
  ): Promise<void> {
    const { pool } = this.#options;
    const { profile } = FAMILIES[requireFamily(this.name)];
    if (profile !== undefined) {
      if (pool === undefined) {
        throw new TypeError(`Cannot play env '${this.name}' as it needs sessions: 'pool' is missing`);
      }
      this.#lease = await pool.acquire({ seed, signal });
    }
    this.#current = await problem.open(this.#lease?.session);
  }

  reset(...args: Parameters<ToolTransform["reset"]>): ReturnType<ToolTransform["reset"]> {
    return this.#calls === undefined ? args[0] : this.#calls.reset(...args);
  }

  async step(...args: Parameters<ToolTransform["step"]>): ReturnType<ToolTransform["step"]> {
    return this.#calls === undefined ? args[0] : await this.#calls.step(...args);
  }

  async end(): Promise<void> {
    await this[Symbol.asyncDispose]();
  }

  /** Returns the transform of a copy of the env. */
  copyFor(options: EpisodeCopyOptions): FamilyEpisode {
    const copy = this.#copies.get(options) ?? new FamilyEpisode(this.name, this.#options);
    this.#copies.set(options, copy);
    return copy;
  }

  /** @throws {CheckpointError} if the tools of the episode cannot be copied. */
  checkpoint(): EpisodeCheckpoint<Transform> {
    const state = this.#current?.copy();
    if (this.#current !== undefined && state === undefined) {
      return refuseCheckpoint(`an episode of env '${this.name}' must have no session: it has one`);
    }
    return {
      copy: (options = {}) => {
        const copy = this.copyFor(options);
        copy.#current = state?.copy();
        return copy;
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const lease = this.#lease;
    this.#lease = undefined;
    this.#current = undefined;
    await lease?.[Symbol.asyncDispose]();
  }
}

/** Scores an ended episode. */
class FamilyGrading implements Transform {
  readonly #episode: FamilyEpisode;
  readonly #grading: GradeEpisode;

  constructor(episode: FamilyEpisode) {
    const answers = familyGrader({ pool: episode.pool });
    const hasTools = FAMILIES[requireFamily(episode.name)].kind === "tools";
    this.#episode = episode;
    this.#grading = new GradeEpisode({
      grader: {
        name: "family",
        grade: async (context) =>
          hasTools ? toScore(await episode.current.check(context.signal)) : await answers.grade(context),
      },
    });
  }

  async step(...args: Parameters<GradeEpisode["step"]>): ReturnType<GradeEpisode["step"]> {
    return await this.#grading.step(...args);
  }

  checkpoint(): EpisodeCheckpoint<Transform> {
    return { copy: (options = {}) => new FamilyGrading(this.#episode.copyFor(options)) };
  }
}

/** Names of the options. */
const OPTIONS: Readonly<Record<keyof MakeEnvOptions, true>> = {
  difficulty: true,
  split: true,
  seed: true,
  pool: true,
  maxTurns: true,
  systemPrompt: true,
  parser: true,
  tokenizer: true,
  extensions: true,
  grader: true,
};
