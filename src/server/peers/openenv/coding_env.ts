import * as z from "zod";
import type { ExecResult } from "../../../sandbox/contract/exec.ts";
import type { LiveSession } from "../../sessions/live_session.ts";
import type { SessionService } from "../../sessions/session_service.ts";
import { toScriptOutcome } from "../script.ts";
import type { EnvResponse, EpisodeOptions, OpenEnv, OpenEnvKind, resetData } from "./env_kind.ts";

/** Action: a program. */
const codeAction = z.strictObject({
  code: z.string(),
  metadata: z.record(z.string(), z.unknown()).default({}),
});

/** Observation: the output of a program. */
const codeObservation = z.strictObject({
  stdout: z.string(),
  stderr: z.string(),
  exit_code: z.int(),
});

/** State of an episode. */
const codeState = z.object({
  episode_id: z.string().nullable(),
  step_count: z.int(),
  last_exit_code: z.int(),
});

/** Exit code of a timeout, as for the command `timeout`. */
const TIMEOUT_EXIT_CODE = 124;

/** Returns the env kind whose actions are programs. */
export function codingKind(sessions: SessionService): OpenEnvKind<z.output<typeof codeAction>> {
  return {
    name: "paddock_coding_env",
    description: "Runs Python in a sandbox; variables live as long as the episode",
    action: codeAction,
    observation: codeObservation,
    state: codeState,
    examples: {
      action: { code: "print(6 * 7)" },
      observation: { stdout: "42\n", stderr: "", exit_code: 0 },
      state: { episode_id: null, step_count: 0, last_exit_code: 0 },
    },
    open: (options) => new CodingEnv(sessions, options),
  };
}

/** An env that runs programs in an interpreter per episode. */
class CodingEnv implements OpenEnv<z.output<typeof codeAction>> {
  readonly #sessions: SessionService;
  readonly #owner: string;
  readonly #signal: AbortSignal;
  readonly #end = new AbortController();
  #session: LiveSession | undefined;
  #episodeId: string | null = null;
  #steps = 0;
  #exitCode = 0;

  constructor(sessions: SessionService, options: EpisodeOptions) {
    this.#sessions = sessions;
    this.#owner = options.owner;
    this.#signal = AbortSignal.any([options.signal, this.#end.signal]);
  }

  async reset({ seed, episode_id }: z.output<typeof resetData> = {}): Promise<EnvResponse> {
    await this.#close();
    await this.#open(seed ?? undefined);
    this.#episodeId = episode_id ?? crypto.randomUUID();
    this.#steps = 0;
    this.#exitCode = 0;
    return { observation: { stdout: "", stderr: "", exit_code: 0 }, reward: 0, done: false };
  }

  async step({ code }: z.output<typeof codeAction>, seconds?: number): Promise<EnvResponse> {
    const session = this.#session ?? await this.#open();
    const timeoutMs = seconds === undefined ? undefined : seconds * 1000;
    const result = await session.exec(code, { timeoutMs, signal: this.#signal });
    const { stdout, stderr, exitCode } = toScriptOutcome(result);
    this.#steps++;
    this.#exitCode = exitCode ?? TIMEOUT_EXIT_CODE;
    const timeoutText = exitCode === null && "error" in result ? result.error.traceback : "";
    const observation = { stdout, stderr: stderr + timeoutText, exit_code: this.#exitCode };
    return { observation, reward: computeCodingReward(code, result), done: false };
  }

  state(): z.output<typeof codeState> {
    return { episode_id: this.#episodeId, step_count: this.#steps, last_exit_code: this.#exitCode };
  }

  /** Aborts the running program and ends the episode. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(new DOMException("The env was closed", "AbortError"));
    await this.#close();
  }

  async #open(seed?: number): Promise<LiveSession> {
    const session = await this.#sessions.create({
      owner: this.#owner,
      seed,
      signal: this.#signal,
      endsWithServer: true,
    });
    this.#session = session;
    return session;
  }

  async #close(): Promise<void> {
    await this.#session?.[Symbol.asyncDispose]();
    this.#session = undefined;
  }
}

/** Patterns that OpenEnv's coding env counts as dangerous. They only lower the reward; the sandbox isolates programs. */
const DANGEROUS = [/import\s+os/, /import\s+subprocess/, /eval\(/, /exec\(/, /__import__/, /open\(/];
const SYNTAX_ERRORS: ReadonlySet<string> = new Set(["SyntaxError", "IndentationError", "TabError"]);

const DANGER = -1;
const CONCISE = 0.1;
const CONCISE_CHARACTERS = 100;
const UNREADABLE = -0.2;

/** Returns the reward of OpenEnv's coding env, which depends on the text of a program and not on the result. */
function computeCodingReward(code: string, result: ExecResult): number {
  const isDangerous = DANGEROUS.some((pattern) => pattern.test(code));
  const isConcise = [...code.trim()].length <= CONCISE_CHARACTERS;
  const isUnreadable = result.status === "error" && SYNTAX_ERRORS.has(result.error.type);
  const quality = (isConcise ? CONCISE : 0) + (isUnreadable ? UNREADABLE : 0);
  return (isDangerous ? DANGER : 0) + quality;
}
