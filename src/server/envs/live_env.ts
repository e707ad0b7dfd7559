import { SerialQueue } from "../../async/semaphore.ts";
import type { Env, Observation, Step } from "../../envs/env.ts";
import { isRecursiveEnv } from "../../envs/rlm/recursive_env.ts";
import { errorMessage } from "../../errors.ts";
import { jsonLength } from "../../json.ts";
import { History } from "../../history.ts";
import { type Message, messageText } from "../../message.ts";
import { randomId } from "../../random_id.ts";
import type { SessionLease, SessionPool } from "../../sandbox/contract/pool.ts";
import type { Task } from "../../task.ts";
import { findPrograms } from "../../tools/python_blocks.ts";
import type { Account, BudgetLease } from "../admission/budget.ts";
import { ServerError, toEnvError } from "../http/http_errors.ts";
import { addToolSpans, withSpan } from "../http/tracing.ts";
import {
  CHARACTERS_PER_VALUE,
  MAX_ENV_WAITING,
  MAX_EPISODE_CHARACTERS,
  MAX_REPLY_CHARACTERS,
  MEMORY_PER_CHARACTER,
} from "../limits.ts";
import { IdleTimer } from "../sessions/idle_timer.ts";
import type { LiveSession } from "../sessions/live_session.ts";
import type { CallChannel } from "../sessions/session_tools.ts";
import type { SessionService } from "../sessions/session_service.ts";
import { type EnvConfig, isFamilyKind } from "./env_config.ts";
import { EnvQuestions } from "./env_questions.ts";

/** Options of {@linkcode LiveEnv}. */
export interface LiveEnvOptions {
  readonly env: Env;
  readonly config: EnvConfig;
  /** Sessions of its Python; disposed with it. */
  readonly sessions: EnvSessions;
  /** Owner, who alone may use it. */
  readonly owner: string;
  /** Milliseconds without use after which it ends. */
  readonly idleMs: number;
  /** Memory of the owner, which its tasks and its conversation take. */
  readonly memory: Account;
  /** Called with each error of the env. */
  readonly onError: (thrown: unknown) => void;
  /** Called once, when it ends. */
  readonly onEnd: () => void;
}

/** State of an episode. */
export interface EpisodeState {
  readonly taskId: string;
  readonly turns: number;
  /** Sum of its rewards; `null` without any. */
  readonly reward: number | null;
  readonly terminated: boolean;
  readonly truncated: boolean;
  /** Error message of a failed step. */
  readonly failed?: string;
}

/** Options of {@linkcode LiveEnv.reset}. */
export interface LiveResetOptions {
  /**
   * Task of the episode.
   *
   * @default the next task of the config
   */
  task?: Task | undefined;
  seed?: number | undefined;
  signal: AbortSignal;
}

/** A remotely driven env; it ends on dispose or after its idle time. */
export class LiveEnv implements AsyncDisposable {
  /** Unguessable id. */
  readonly id: string = randomId();
  readonly owner: string;
  readonly config: EnvConfig;
  readonly createdAt: Date = new Date();
  readonly #options: LiveEnvOptions;
  readonly #idle: IdleTimer;
  readonly #queue = new SerialQueue();
  readonly #end = new AbortController();
  /** Questions of its code, if its code asks. */
  readonly #questions: EnvQuestions | undefined;
  readonly #memory: BudgetLease;
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
    this.#questions = questionsOf(options.env);
    this.#configCharacters = jsonLength(options.config, { perValue: CHARACTERS_PER_VALUE });
    this.#memory = options.memory.take(this.#bytes());
    this.#idle = new IdleTimer(options.idleMs, () => this[Symbol.asyncDispose]());
  }

  get usedAt(): Date {
    return this.#idle.usedAt;
  }

  /** Number of characters of its tasks and its conversation. */
  get characters(): number {
    return this.#configCharacters + this.#historyCharacters;
  }

  /** Current observation; `undefined` if no episode is running. */
  get observation(): Observation | undefined {
    return this.#observation;
  }

  /** Latest episode; `undefined` before the first reset. */
  get episode(): EpisodeState | undefined {
    return this.#episode;
  }

  /** Starts an episode. All methods throw only {@linkcode ServerError}. */
  async reset({ task, seed, signal }: LiveResetOptions): Promise<Observation> {
    return await this.#use(signal, async (signal) => {
      const nextTask = task ?? this.#nextTask();
      this.#observation = undefined;
      this.#seed = seed;
      const observation = await this.#options.env.reset(nextTask, { seed, signal });
      this.#episode = {
        taskId: observation.task.id,
        turns: 0,
        reward: null,
        terminated: false,
        truncated: false,
      };
      return this.#record(observation);
    });
  }

  /** Questions of its code. @throws {ServerError} `not_found` if its code asks none. */
  get questions(): EnvQuestions {
    if (this.#questions !== undefined) return this.#questions;
    throw new ServerError("not_found", `The code of an env of kind '${this.config.env}' asks nothing`);
  }

  /**
   * Steps with the policy's reply. A failed step ends the episode, unless no interpreter was free. `channel` is the way to
   * the client, which an env whose code asks needs.
   */
  async step(reply: Omit<Message, "role">, signal: AbortSignal, channel?: CallChannel): Promise<Step> {
    if (this.#questions !== undefined && channel === undefined) throw needsStream(this.config);
    return await this.#use(signal, async (signal) => {
      using _way = channel && this.#questions?.connect(channel);
      const before = this.#episode;
      if (this.#observation === undefined || before === undefined) {
        throw new ServerError("conflict", "No episode is running: reset the env first");
      }
      const response = History.fromChats([{ ...reply, role: "assistant" }]);
      await this.#prepare(response, signal);
      this.#observation = undefined;
      try {
        const step = await withSpan("paddock.step", async (span) => {
          const step = await this.#options.env.step({ history: { response } }, { signal });
          addToolSpans(span, step.toolResults);
          return step;
        });
        this.#episode = nextState(before, step);
        this.#record(step);
        return step;
      } catch (error) {
        this.#episode = { ...before, truncated: true, failed: toEnvError(error).message };
        await this.#options.sessions[Symbol.asyncDispose](); // the episode is over: its globals are not needed
        throw error;
      }
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#dispose(new ServerError("conflict", "The env has ended"));
  }

  #dispose(reason: ServerError): Promise<void> {
    return this.#disposal ??= this.#close(reason);
  }

  async #close(reason: ServerError): Promise<void> {
    this.#idle[Symbol.dispose]();
    this.#end.abort(reason);
    this.#options.onEnd();
    this.#memory[Symbol.dispose]();
    await using stack = new AsyncDisposableStack();
    stack.use(this.#options.sessions);
    stack.use(this.#options.env);
  }

  async #use<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.#end.signal.throwIfAborted();
    if (this.#idle.users >= MAX_ENV_WAITING) {
      throw new ServerError("busy", `${MAX_ENV_WAITING} requests are waiting for the env`, { retryAfter: 1 });
    }
    using _use = this.#idle.use();
    const combined = AbortSignal.any([signal, this.#end.signal]);
    try {
      return await this.#queue.run(() => work(combined), { signal: combined });
    } catch (error) {
      const publicError = toEnvError(this.#end.signal.aborted ? this.#end.signal.reason : error);
      this.#options.onError(publicError);
      throw publicError;
    }
  }

  #nextTask(): Task {
    const { tasks, env } = this.config;
    // the env of a family makes the problem
    const task = tasks[this.#next % tasks.length] ?? (isFamilyKind(env) ? { id: env, query: "" } : undefined);
    if (task === undefined) throw new ServerError("invalid", "task: required, since the env has no tasks");
    this.#next++;
    return task;
  }

  /** Refuses a reply that is too large and acquires the interpreter that it needs. */
  async #prepare(response: History, signal: AbortSignal): Promise<void> {
    const text = [...response].map(messageText).join("");
    if (text.length > MAX_REPLY_CHARACTERS) {
      throw tooLarge(`A reply must have at most ${MAX_REPLY_CHARACTERS} characters`);
    }
    if (this.#historyCharacters > MAX_EPISODE_CHARACTERS) {
      throw tooLarge(`An episode must have at most ${MAX_EPISODE_CHARACTERS} characters`);
    }
    this.#memory.resize(this.#bytes(text.length)); // refuses the reply before it changes anything
    const { runUnlabeled, runThoughts } = this.config;
    if (
      this.config.env === "python" && findPrograms(text, { runUnlabeled, runThoughts }).programs.length > 0
    ) {
      await this.#options.sessions.prepare({ seed: this.#seed, signal });
    }
  }

  #record(observation: Observation): Observation {
    const messages = [...observation.history.prompt];
    this.#historyCharacters = messages.reduce((sum, message) => sum + messageText(message).length, 0);
    const isRunning = !this.#episode?.terminated && !this.#episode?.truncated;
    this.#observation = isRunning ? observation : undefined;
    this.#takeMemory();
    return observation;
  }

  /** Takes the memory of the conversation. Without room for it, the env ends: it would be held uncounted. */
  #takeMemory(): void {
    try {
      this.#memory.resize(this.#bytes());
    } catch (cause) {
      const reason = tooLarge(`The env has ended, as its conversation is too large. ${errorMessage(cause)}`);
      this.#dispose(reason).catch(this.#options.onError);
      throw reason;
    }
  }

  #bytes(moreCharacters = 0): number {
    return MEMORY_PER_CHARACTER * (this.characters + moreCharacters);
  }
}

/** Returns the questions of an env whose code asks. */
function questionsOf(env: Env): EnvQuestions | undefined {
  if (!isRecursiveEnv(env)) return undefined;
  const questions = new EnvQuestions();
  env.answerSubCalls((call) => questions.ask(call));
  return questions;
}

function needsStream({ env }: EnvConfig): ServerError {
  return new ServerError(
    "invalid",
    `An env of kind '${env}' is stepped at /v1/envs/{id}/stream, as its code asks the client during a step`,
  );
}

function tooLarge(message: string): ServerError {
  return new ServerError("too_large", message);
}

function nextState(before: EpisodeState, { reward, terminated, truncated }: Step): EpisodeState {
  const sum = reward === null ? before.reward : (before.reward ?? 0) + reward;
  return { taskId: before.taskId, turns: before.turns + 1, reward: sum, terminated, truncated };
}

/** Options of {@linkcode EnvSessions.acquire}. */
export interface WorkspaceLeaseOptions {
  seed?: number | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Sessions of an env, one at a time. A session can be acquired before the step that needs it, so that a step is
 * refused before it has changed anything when none is free.
 */
export class EnvSessions implements SessionPool, AsyncDisposable {
  readonly #sessions: SessionService;
  readonly #owner: string;
  readonly #waitMs: number | undefined;
  #session: LiveSession | undefined;

  /** `waitMs` is the time to wait for a session; by default the server's time. */
  constructor(sessions: SessionService, owner: string, options: { waitMs?: number } = {}) {
    this.#sessions = sessions;
    this.#owner = owner;
    this.#waitMs = options.waitMs;
  }

  /**
   * Acquires a session if there is none yet.
   *
   * @throws {ServerError} `busy` or `timeout` if no session becomes free.
   */
  async prepare(options: WorkspaceLeaseOptions): Promise<void> {
    await this.#borrow(options);
  }

  async acquire(options: WorkspaceLeaseOptions = {}): Promise<SessionLease> {
    const session = await this.#borrow(options);
    return { session, [Symbol.asyncDispose]: () => this[Symbol.asyncDispose]() };
  }

  /** Returns the session. */
  async [Symbol.asyncDispose](): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.[Symbol.asyncDispose]();
  }

  async #borrow(
    { seed, signal = new AbortController().signal }: WorkspaceLeaseOptions,
  ): Promise<LiveSession> {
    return this.#session ??= await this.#sessions.borrow({
      owner: this.#owner,
      seed,
      signal,
      idleMs: Infinity, // the env has the idle time, and ends its session
      waitMs: this.#waitMs,
    });
  }
}
