import type { Env, Observation, Step } from "../envs/env.ts";
import { History } from "../history.ts";
import { type Message, messageText } from "../message.ts";
import { Slots } from "../policy/slots.ts";
import type { Task } from "../task.ts";
import { pythonBlocks } from "../tools/python_blocks.ts";
import type { EnvConfig } from "./env_config.ts";
import { envError } from "./env_error.ts";
import type { EnvSessions } from "./env_sessions.ts";
import { Idle } from "./idle.ts";
import { ServerError } from "./server_error.ts";

/** What a {@linkcode LiveEnv} is made of. */
export interface LiveEnvOptions {
  readonly env: Env;
  readonly config: EnvConfig;
  /** Where its Python runs; disposed with it. */
  readonly sessions: EnvSessions;
  /** Who may use it. */
  readonly owner: string;
  /** Milliseconds without use after which it ends. */
  readonly idleMs: number;
  /** Called before it takes anything more to keep; throws when there is no room for it. */
  readonly requireRoom: () => void;
  /** Told of what the env throws. */
  readonly onFault: (thrown: unknown) => void;
  /** Called once, when it ends. */
  readonly onEnd: () => void;
}

/** How far the episode of an env has come. */
export interface EpisodeState {
  readonly taskId: string;
  readonly turns: number;
  /** The sum of its rewards; `null` when none was given. */
  readonly reward: number | null;
  readonly terminated: boolean;
  readonly truncated: boolean;
  /** Why it cannot go on, where a step failed. */
  readonly failed?: string;
}

/** What a reset may bring. */
export interface LiveResetOptions {
  /** The next of the config's unless given. */
  task?: Task | undefined;
  seed?: number | undefined;
  signal: AbortSignal;
}

/** More requests than this may not wait for one env. */
const MAX_WAITING = 16;
/** No honest reply is longer, or has more blocks; each block may print as much as the profile lets it. */
const MAX_REPLY_CHARACTERS = 1024 * 1024;
const MAX_BLOCKS = 64;
const MAX_EPISODE_CHARACTERS = 32 * 1024 * 1024;

/** An env that somebody drives from afar. It ends when it is disposed, or is used no more. */
export class LiveEnv implements AsyncDisposable {
  /** Names it, and cannot be guessed. */
  readonly id: string = crypto.getRandomValues(new Uint8Array(24)).toBase64({ alphabet: "base64url" });
  readonly owner: string;
  readonly config: EnvConfig;
  readonly createdAt: Date = new Date();
  readonly #options: LiveEnvOptions;
  readonly #idle: Idle;
  readonly #turn = new Slots(1);
  readonly #end = new AbortController();
  readonly #configCharacters: number;
  #historyCharacters = 0;
  #next = 0;
  #seed: number | undefined;
  #observation: Observation | undefined;
  #episode: EpisodeState | undefined;
  #disposal: Promise<void> | undefined;

  constructor(options: LiveEnvOptions) {
    this.owner = options.owner;
    this.config = options.config;
    this.#options = options;
    this.#configCharacters = JSON.stringify(options.config).length;
    this.#idle = new Idle(options.idleMs, () => this[Symbol.asyncDispose]());
  }

  get usedAt(): Date {
    return this.#idle.usedAt;
  }

  /** How much it keeps. */
  get characters(): number {
    return this.#configCharacters + this.#historyCharacters;
  }

  /** What the policy is to answer; `undefined` when no episode goes on. */
  get observation(): Observation | undefined {
    return this.#observation;
  }

  /** The newest episode; `undefined` before the first reset. */
  get episode(): EpisodeState | undefined {
    return this.#episode;
  }

  /** Starts an episode. Everything here throws a {@linkcode ServerError} only. */
  async reset({ task, seed, signal }: LiveResetOptions): Promise<Observation> {
    return await this.#use(signal, async (signal) => {
      const asked = task ?? this.#nextTask();
      this.#observation = undefined;
      this.#seed = seed;
      const observation = await this.#options.env.reset(asked, { seed, signal });
      this.#episode = { taskId: asked.id, turns: 0, reward: null, terminated: false, truncated: false };
      return this.#stand(observation);
    });
  }

  /** Takes the policy's reply. A step that fails ends the episode, unless it found no interpreter. */
  async step(reply: Omit<Message, "role">, signal: AbortSignal): Promise<Step> {
    return await this.#use(signal, async (signal) => {
      const before = this.#episode;
      if (this.#observation === undefined || before === undefined) {
        throw new ServerError("conflict", "No episode goes on: reset the env first");
      }
      const response = History.fromChats([{ ...reply, role: "assistant" }]);
      await this.#prepare(response, signal);
      this.#observation = undefined;
      try {
        const step = await this.#options.env.step({ history: { response } }, { signal });
        this.#episode = after(before, step);
        this.#stand(step);
        return step;
      } catch (error) {
        this.#episode = { ...before, truncated: true, failed: envError(error).message };
        await this.#options.sessions[Symbol.asyncDispose](); // nobody can ask for its globals any more
        throw error;
      }
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#disposal ??= this.#dispose();
  }

  async #dispose(): Promise<void> {
    this.#idle[Symbol.dispose]();
    this.#end.abort(new ServerError("conflict", "The env has ended"));
    this.#options.onEnd();
    await using stack = new AsyncDisposableStack();
    stack.use(this.#options.sessions);
    stack.use(this.#options.env);
  }

  async #use<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.#end.signal.throwIfAborted();
    if (this.#idle.users >= MAX_WAITING) {
      throw new ServerError("busy", `${MAX_WAITING} requests wait for the env`, { retryAfter: 1 });
    }
    this.#options.requireRoom();
    using _use = this.#idle.use();
    const either = AbortSignal.any([signal, this.#end.signal]);
    try {
      using _turn = await this.#turn.take(either);
      return await work(either);
    } catch (error) {
      const told = envError(this.#end.signal.aborted ? this.#end.signal.reason : error);
      this.#options.onFault(told);
      throw told;
    }
  }

  #nextTask(): Task {
    const { tasks } = this.config;
    const task = tasks[this.#next % tasks.length];
    if (task === undefined) throw new ServerError("invalid", "task: it must be given, as the env has none");
    this.#next++;
    return task;
  }

  /** Refuses a reply that is too large, and has the interpreter ready that it needs. */
  async #prepare(response: History, signal: AbortSignal): Promise<void> {
    const said = [...response].map(messageText).join("");
    if (said.length > MAX_REPLY_CHARACTERS) {
      throw tooLarge(`A reply may have ${MAX_REPLY_CHARACTERS} characters`);
    }
    if (this.#historyCharacters > MAX_EPISODE_CHARACTERS) {
      throw tooLarge(`An episode may have ${MAX_EPISODE_CHARACTERS} characters`);
    }
    const blocks = this.config.env === "python" ? pythonBlocks(said).length : 0;
    if (blocks > MAX_BLOCKS) throw tooLarge(`A reply may have ${MAX_BLOCKS} blocks of Python`);
    if (blocks > 0) await this.#options.sessions.prepare({ seed: this.#seed, signal });
  }

  #stand(observation: Observation): Observation {
    const messages = [...observation.history.prompt];
    this.#historyCharacters = messages.reduce((sum, message) => sum + messageText(message).length, 0);
    const goesOn = !this.#episode?.terminated && !this.#episode?.truncated;
    this.#observation = goesOn ? observation : undefined;
    return observation;
  }
}

function tooLarge(message: string): ServerError {
  return new ServerError("too_large", message);
}

function after(before: EpisodeState, { reward, terminated, truncated }: Step): EpisodeState {
  const sum = reward === null ? before.reward : (before.reward ?? 0) + reward;
  return { taskId: before.taskId, turns: before.turns + 1, reward: sum, terminated, truncated };
}
