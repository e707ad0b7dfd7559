import * as z from "zod";
import { ServerError } from "../../http/http_errors.ts";
import type { LiveSession } from "../../sessions/live_session.ts";
import type { SessionService } from "../../sessions/session_service.ts";
import type { EnvResponse, EpisodeOptions, OpenEnv, OpenEnvKind, resetData } from "./env_kind.ts";
import PRELUDE from "./repl_prelude.py" with { type: "text" };
import { type BlockResult, blockResult, NOTHING, toBlockResult } from "./repl_result.ts";

/** Action: a program, or the final answer. */
const replAction = z.strictObject({
  code: z.string().default(""),
  is_final: z.boolean().default(false),
  final_answer: z.string().nullish(),
  metadata: z.record(z.string(), z.unknown()).default({}),
});

type ReplAction = z.output<typeof replAction>;

const replObservation = z.strictObject({
  result: blockResult,
  context_preview: z.string().nullable(),
  context_length: z.int(),
  available_variables: z.array(z.string()),
  iteration: z.int(),
  max_iterations: z.int(),
});

const replState = z.object({
  episode_id: z.string().nullable(),
  step_count: z.int(),
  context: z.string().nullable(),
  task_prompt: z.string().nullable(),
  iteration: z.int(),
  max_iterations: z.int(),
  namespace_keys: z.array(z.string()),
  final_answer: z.string().nullable(),
  total_execution_time: z.number(),
});

/** Parameters of a reset that this env reads. */
const replReset = z.looseObject({
  context: z.string().nullish(),
  task_prompt: z.string().nullish(),
  expected_answer: z.unknown().optional(),
});

/**
 * The namespace of an episode, as `_paddock_look` of the prelude returns the namespace. A program can change only the
 * program's own namespace.
 */
const namespaceSchema = z.object({
  names: z.array(z.string()),
  new: z.record(z.string(), z.string()),
  variable: z.string().nullable(),
  ready: z.boolean(),
  content: z.string(),
});

type Namespace = z.output<typeof namespaceSchema>;

const EMPTY: Namespace = { names: [], new: {}, variable: null, ready: false, content: "" };

/** Number of the step that ends an episode without running code, as in OpenEnv. */
const MAX_ITERATIONS = 30;
const PREVIEW_CHARACTERS = 500;
/** Longest text that episodes keep in the memory of the server, in characters. */
const MAX_TEXT_CHARACTERS = 64 * 1024;
/** File of the session that keeps the context, for the state. */
const CONTEXT_FILE = ".repl_context";

/** Rewards of a step, as in OpenEnv. */
const REWARDS = { right: 1, error: -0.05, noAnswer: -0.1 };

/** Returns the env kind of recursive language models whose client asks the model: OpenEnv's `repl_env`. */
export function replKind(sessions: SessionService): OpenEnvKind<ReplAction> {
  return {
    name: "paddock_repl_env",
    description: "Runs Python over a long context in a sandbox until FINAL, FINAL_VAR or answer['ready']",
    action: replAction,
    observation: replObservation,
    state: replState,
    examples: {
      action: { code: "print(len(context))", is_final: false, final_answer: null },
      observation: {
        result: { ...NOTHING, stdout: "11\n", execution_time: 0.001 },
        context_preview: "Hello World",
        context_length: 11,
        available_variables: ["FINAL", "FINAL_VAR", "SHOW_VARS", "answer", "context"],
        iteration: 1,
        max_iterations: MAX_ITERATIONS,
      },
      state: new ReplEpisode().state(null),
    },
    open: (options) => new ReplEnv(sessions, options),
  };
}

/** The record of an episode. */
class ReplEpisode {
  episodeId: string | null = null;
  taskPrompt: string | null = null;
  expected: string | undefined;
  contextLength = 0;
  preview: string | null = null;
  iteration = 0;
  finalAnswer: string | null = null;
  seconds = 0;
  names: readonly string[] = [];

  state(context: string | null): z.output<typeof replState> {
    return {
      episode_id: this.episodeId,
      step_count: this.iteration,
      context,
      task_prompt: this.taskPrompt,
      iteration: this.iteration,
      max_iterations: MAX_ITERATIONS,
      namespace_keys: [...this.names],
      final_answer: this.finalAnswer,
      total_execution_time: this.seconds,
    };
  }

  /** Returns an observation: of the end of an episode without a block, OpenEnv leaves the context out. */
  response(
    result: BlockResult,
    { done, hasContext = true }: { done: boolean; hasContext?: boolean },
  ): EnvResponse {
    return {
      observation: {
        result,
        context_preview: hasContext ? this.preview : null,
        context_length: hasContext ? this.contextLength : 0,
        available_variables: hasContext ? [...this.names] : [],
        iteration: this.iteration,
        max_iterations: MAX_ITERATIONS,
      },
      reward: this.#reward(result, done),
      done,
    };
  }

  #reward({ success }: BlockResult, done: boolean): number {
    if (!done) return success ? 0 : REWARDS.error;
    if (this.finalAnswer === null) return REWARDS.noAnswer;
    if (this.expected === undefined) return 0;
    const plain = (text: string) => text.trim().toLowerCase();
    return plain(this.finalAnswer) === plain(this.expected) ? REWARDS.right : 0;
  }
}

/** An env that runs programs over a context until a program gives the final answer. */
class ReplEnv implements OpenEnv<ReplAction> {
  readonly #sessions: SessionService;
  readonly #owner: string;
  readonly #signal: AbortSignal;
  readonly #end = new AbortController();
  #session: LiveSession | undefined;
  #episode = new ReplEpisode();

  constructor(sessions: SessionService, { owner, signal }: EpisodeOptions) {
    this.#sessions = sessions;
    this.#owner = owner;
    this.#signal = AbortSignal.any([signal, this.#end.signal]);
  }

  async reset(data: z.output<typeof resetData> = {}): Promise<EnvResponse> {
    const { context, task_prompt: taskPrompt, expected_answer: expected } = replReset.parse(data);
    await this.#close();
    this.#session = await this.#sessions.create({
      owner: this.#owner,
      seed: data.seed ?? undefined,
      signal: this.#signal,
      endsWithServer: true,
    });
    const inputs = context ? { context } : {};
    const files = { [CONTEXT_FILE]: context ?? "" };
    const { status } = await this.#session.exec(PRELUDE, { inputs, files, signal: this.#signal });
    if (status !== "ok") throw new ServerError("unavailable", `The episode could not be started: ${status}`);
    const episode = this.#episode = new ReplEpisode();
    episode.episodeId = data.episode_id ?? crypto.randomUUID();
    episode.taskPrompt = shorten(taskPrompt ?? "");
    episode.expected = expected === undefined || expected === null ? undefined : shorten(String(expected));
    episode.contextLength = characters(context ?? "");
    episode.preview = context
      ? [...context.slice(0, 2 * PREVIEW_CHARACTERS)].slice(0, PREVIEW_CHARACTERS).join("")
      : null;
    episode.names = (await this.#look(this.#session, [])).names;
    return { ...episode.response({ ...NOTHING, stdout: startText(episode) }, { done: false }), reward: 0 };
  }

  async step(
    { code, is_final: isFinal, final_answer: given }: ReplAction,
    seconds?: number,
  ): Promise<EnvResponse> {
    const [session, episode] = [this.#session, this.#episode];
    if (session === undefined) {
      throw new ServerError("invalid", "Environment not initialized. Call reset() first.");
    }
    episode.iteration++;
    if (isFinal) {
      return this.#endWithout(episode, given ?? "", { stdout: "Final answer submitted.", success: true });
    }
    if (episode.iteration >= MAX_ITERATIONS) {
      const { content } = await this.#look(session, episode.names);
      const stdout = `Maximum iterations (${MAX_ITERATIONS}) reached.`;
      return this.#endWithout(episode, content === "" ? null : content, { stdout, success: false });
    }
    const timeoutMs = seconds === undefined ? undefined : seconds * 1000;
    const exec = await session.exec(code, { timeoutMs, signal: this.#signal });
    const result = toBlockResult(exec);
    const variable = /FINAL_VAR\((\w+)\)/.exec(result.stdout)?.[1];
    const namespace = await this.#look(session, episode.names, variable);
    episode.seconds += result.execution_time;
    episode.names = namespace.names;
    const final = finalAnswerOf(result.stdout, namespace);
    if (final !== undefined) episode.finalAnswer = shorten(final);
    return episode.response({ ...result, locals_snapshot: namespace.new }, { done: final !== undefined });
  }

  async state(): Promise<z.output<typeof replState>> {
    if (this.#session === undefined) return this.#episode.state(null);
    const contents = await this.#session.readFile(CONTEXT_FILE).catch(() => new Uint8Array()); // the program has removed the value
    return this.#episode.state(new TextDecoder().decode(contents));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(new DOMException("The env was closed", "AbortError"));
    await this.#close();
  }

  /** Ends an episode without a block. */
  #endWithout(
    episode: ReplEpisode,
    answer: string | null,
    result: Pick<BlockResult, "stdout" | "success">,
  ): EnvResponse {
    episode.finalAnswer = answer === null ? null : shorten(answer);
    return episode.response({ ...NOTHING, ...result }, { done: true, hasContext: false });
  }

  /** Returns the namespace, with the new names. A program that has broken the namespace gets an empty namespace. */
  async #look(session: LiveSession, before: readonly string[], variable = ""): Promise<Namespace> {
    const code = `_paddock_look(${JSON.stringify(before)}, ${JSON.stringify(variable)})`;
    const result = await session.exec(code, { signal: this.#signal });
    const { data } = namespaceSchema.safeParse(result.status === "ok" ? result.valueJson : undefined);
    return data ?? EMPTY;
  }

  async #close(): Promise<void> {
    await this.#session?.[Symbol.asyncDispose]();
    this.#session = undefined;
  }
}

/** Finds the final answer as OpenEnv does: in the output up to the first `)`, by the name of a variable, in `answer`. */
function finalAnswerOf(stdout: string, { variable, ready, content }: Namespace): string | undefined {
  const [, text] = /FINAL\((.*?)\)/s.exec(stdout) ?? [];
  if (text !== undefined) return text.trim();
  return variable ?? (ready ? content : undefined);
}

function startText({ contextLength, taskPrompt }: ReplEpisode): string {
  return [
    "REPL environment initialized.",
    ...(contextLength > 0
      ? [`Context loaded (${contextLength} chars). Use 'context' variable to access it.`]
      : []),
    ...(taskPrompt ? [`Task: ${taskPrompt}`] : []),
    "Use answer['content'] to store your answer, and set answer['ready'] = True when done.",
  ].join("\n");
}

/** Returns the number of characters as Python counts them. */
function characters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function shorten(text: string): string {
  return text.slice(0, MAX_TEXT_CHARACTERS);
}
