import { z } from "zod";
import type { LiveSession } from "../../live_session.ts";
import { scriptOutcome } from "../../script_outcome.ts";
import type { SessionService } from "../../session_service.ts";

const MAX_SECONDS = 3_600;

/** What a reset may be given. What an env of another kind would be given is passed over. */
export const resetData = z.looseObject({
  seed: z.int().nonnegative().nullish(),
  episode_id: z.string().max(255).nullish(),
});

/** An action: a program. */
export const codeAction = z.strictObject({
  code: z.string(),
  metadata: z.record(z.string(), z.unknown()).default({}),
});

/** What is seen of a program. */
export const codeObservation = z.strictObject({
  stdout: z.string(),
  stderr: z.string(),
  exit_code: z.int(),
});

/** What is known of an episode. */
export const codeState = z.object({
  episode_id: z.string().nullable(),
  step_count: z.int(),
  last_exit_code: z.int(),
});

/** What comes of a reset or a step. */
export interface EnvAnswer {
  readonly observation: z.output<typeof codeObservation>;
  readonly reward: number | null;
  readonly done: boolean;
}

/** The exit code of a program whose time was over, as the command `timeout` gives it. */
const LATE = 124;

/** How long a step may take, in seconds. */
export const stepSeconds: z.ZodType<number> = z.number().positive().max(MAX_SECONDS);

/** An env whose actions are programs, in an interpreter that lives as long as the episode. */
export class CodingEnv implements AsyncDisposable {
  readonly #sessions: SessionService;
  readonly #owner: string;
  readonly #signal: AbortSignal;
  readonly #end = new AbortController();
  #session: LiveSession | undefined;
  #episodeId: string | null = null;
  #steps = 0;
  #exitCode = 0;

  constructor(sessions: SessionService, options: { owner: string; signal: AbortSignal }) {
    this.#sessions = sessions;
    this.#owner = options.owner;
    this.#signal = AbortSignal.any([options.signal, this.#end.signal]);
  }

  /** Begins an episode in an interpreter of its own. */
  async reset({ seed, episode_id }: z.output<typeof resetData> = {}): Promise<EnvAnswer> {
    await this.#close();
    await this.#open(seed ?? undefined);
    this.#episodeId = episode_id ?? crypto.randomUUID();
    this.#steps = 0;
    this.#exitCode = 0;
    return { observation: { stdout: "", stderr: "", exit_code: 0 }, reward: null, done: false };
  }

  /** Runs a program; without a reset before, an episode begins. */
  async step({ code }: z.output<typeof codeAction>, seconds?: number): Promise<EnvAnswer> {
    const session = this.#session ?? await this.#open();
    const timeoutMs = seconds === undefined ? undefined : seconds * 1000;
    const result = await session.exec(code, { timeoutMs, signal: this.#signal });
    const { stdout, stderr, exitCode } = scriptOutcome(result);
    this.#steps++;
    this.#exitCode = exitCode ?? LATE;
    const late = exitCode === null && "error" in result ? result.error.traceback : "";
    const observation = { stdout, stderr: stderr + late, exit_code: this.#exitCode };
    return { observation, reward: null, done: false };
  }

  /** What is known of the episode. */
  state(): z.output<typeof codeState> {
    return { episode_id: this.#episodeId, step_count: this.#steps, last_exit_code: this.#exitCode };
  }

  /** Stops what runs and ends the episode. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(new DOMException("The env was closed", "AbortError"));
    await this.#close();
  }

  async #open(seed?: number): Promise<LiveSession> {
    const session = await this.#sessions.create({ owner: this.#owner, seed, signal: this.#signal });
    this.#session = session;
    return session;
  }

  async #close(): Promise<void> {
    await this.#session?.[Symbol.asyncDispose]();
    this.#session = undefined;
  }
}
