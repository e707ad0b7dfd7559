import { pickKnownOptions, requireKnownOptions } from "../options.ts";
import { CHAT_FORMAT_OPTIONS, ChatFormat, type ChatFormatOptions } from "../chat/chat_format.ts";
import type { Rows } from "../datasets/read_rows.ts";
import {
  type EpisodeCheckpointOptions,
  type EpisodeForkOptions,
  forkEpisode,
} from "../episode_checkpoint.ts";
import type { History } from "../history.ts";
import type { Message } from "../message.ts";
import { type TaskInput, toTask } from "../task.ts";
import { type Action, historyAfter, requireAction } from "./action.ts";
import type { BranchingEnv, EnvCheckpoint } from "./branching_env.ts";
import { type ChatMode, chatMode } from "./chat_mode.ts";
import { DatasetBatch, type DatasetSourceOptions, type SamplingOptions } from "./dataset_batch.ts";
import type { Env, Observation, Step } from "./env.ts";
import { messagesOfQuery } from "./query_messages.ts";

/** Options of {@linkcode ChatEnv}. */
export interface ChatEnvOptions extends ChatFormatOptions {
  /**
   * Form of observations and actions in addition to the history: none (`history`), `text`, or `tokens`.
   * `tokens` needs a tokenizer; `text` needs a tokenizer or a template.
   *
   * @default "history"
   */
  inputMode?: "history" | "text" | "tokens" | undefined;
  /** System message that is put before the query. */
  systemPrompt?: string | undefined;
  /**
   * Role of the system prompt.
   *
   * @default "system"
   */
  systemRole?: string | undefined;
  /**
   * Role of a query that is text.
   *
   * @default "user"
   */
  userRole?: string | undefined;
  /**
   * Role of responses that are text or tokens.
   *
   * @default "assistant"
   */
  policyRole?: string | undefined;
  /**
   * Key of the query: `query`, or a key of the task's `fields`.
   *
   * @default "query"
   */
  dataKey?: string | undefined;
}

/**
 * A conversation: `reset` starts it with the task's query, and `step` appends the policy's messages.
 *
 * The env never ends an episode and gives no reward; transforms do both. In text and tokens mode the first prompt
 * is rendered with a generation prompt. A step appends the response unchanged, without the header of the next
 * turn; for several turns use `IncrementalTokenizer`. The history is the source of truth in every mode: a response
 * in text or tokens becomes one message, without the token that ends its turn.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { ChatEnv, replyAction } from "@paddock/paddock";
 *
 * await using env = new ChatEnv({ systemPrompt: "Answer briefly." });
 * await env.reset({ id: "sum", query: "What is 2 + 2?" });
 * const { history } = await env.step(replyAction("4"));
 * assertEquals(history.prompt.length, 3);
 * ```
 */
export class ChatEnv implements BranchingEnv {
  readonly #options: ChatEnvOptions;
  readonly #format: ChatFormat | undefined;
  readonly #mode: ChatMode;
  #observation: Observation | undefined;
  #disposed = false;

  /**
   * @throws {RangeError} if the input mode or the template family is unknown.
   * @throws {TypeError} if the mode needs a tokenizer or a template and it is missing.
   * @throws {SyntaxError} if the template is not valid Jinja.
   */
  constructor(options: ChatEnvOptions = {}) {
    requireKnownOptions("create ChatEnv", options, OPTIONS);
    const { inputMode = "history" } = options;
    this.#options = options;
    this.#format = inputMode === "text" || inputMode === "tokens"
      ? new ChatFormat(pickKnownOptions(options, CHAT_FORMAT_OPTIONS))
      : undefined;
    this.#mode = chatMode(inputMode, this.#format);
  }

  /**
   * Creates a batch of chats over rows from any loader, in the order of the loader and without end, as TorchRL's
   * `ChatEnv.from_dataloader` does.
   *
   * @example
   * ```ts
   * import { assertEquals } from "@std/assert";
   * import { ChatEnv } from "@paddock/paddock";
   *
   * const rows = [{ query: "What is 2 + 2?", answer: "4" }, { query: "What is 3 + 3?", answer: "6" }];
   * await using env = ChatEnv.fromDataloader(rows, { batchSize: 2, systemPrompt: "Answer briefly." });
   * const outcomes = await env.reset();
   * assertEquals(outcomes.map(({ observation }) => observation?.task.answer), ["4", "6"]);
   * ```
   *
   * @throws {RangeError} if `batchSize`, `samples` or `batchSizeDl` is out of range.
   * @throws {TypeError} if the loader is neither iterable nor a function.
   */
  static fromDataloader(
    dataloader: Rows | ((pass: number) => Rows),
    options: FromDataloaderOptions = {},
  ): DatasetChatEnv {
    return DatasetChatEnv.fromDataloader(dataloader, options);
  }

  // deno-lint-ignore require-await
  async reset(input: TaskInput): Promise<Observation> {
    if (this.#disposed) throw new Error("Cannot reset env as it is disposed");
    const { systemPrompt, systemRole = "system", userRole = "user", dataKey = "query" } = this.#options;
    const query = messagesOfQuery(input, { dataKey, userRole });
    const task = toTask(input);
    const prompt = systemPrompt === undefined ? query : prependMessage(query, systemRole, systemPrompt);
    return this.#observation = { task, history: { prompt }, ...this.#mode.start(prompt) };
  }

  // deno-lint-ignore require-await
  async step(action: Action): Promise<Step> {
    if (this.#disposed) throw new Error("Cannot step as the env is disposed");
    if (this.#observation === undefined) throw new Error("Cannot step before the first reset");
    requireAction(action);
    const { task, history } = this.#observation;
    const { view, response } = this.#mode.next(this.#observation, action);
    const prompt = response === undefined || action.history !== undefined
      ? historyAfter(history.prompt, action)
      : history.prompt.append(this.#replyOf(response));
    this.#observation = { task, history: { prompt }, ...view };
    return { ...this.#observation, reward: null, terminated: false, truncated: false, toolResults: [] };
  }

  /** {@inheritDoc BranchingEnv.checkpoint} */
  // deno-lint-ignore require-await
  async checkpoint(_options?: EpisodeCheckpointOptions): Promise<EnvCheckpoint> {
    if (this.#disposed) throw new Error("Cannot checkpoint env as it is disposed");
    const observation = this.#observation;
    return {
      copy: () => {
        const copy = new ChatEnv(this.#options);
        copy.#observation = observation;
        return copy;
      },
    };
  }

  /** {@inheritDoc BranchingEnv.fork} */
  async fork(count: number, options?: EpisodeForkOptions): Promise<BranchingEnv[]> {
    return await forkEpisode(count, () => this.checkpoint(options), options);
  }

  // deno-lint-ignore require-await
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    this.#observation = undefined;
  }

  #replyOf(text: string): Message {
    return { role: this.#options.policyRole ?? "assistant", content: this.#format?.cutEnd(text) ?? text };
  }
}

function prependMessage(query: History, role: string, content: string): History {
  return query.slice(0, 0).append({ role, content }).extend(query);
}

/** Options of {@linkcode DatasetChatEnv} that do not concern the dataset. */
export interface DatasetBatchOptions extends ChatEnvOptions, SamplingOptions {
  /**
   * Makes the env of an element, such as a `TransformedEnv` around a `ChatEnv` with these options.
   *
   * @default a `ChatEnv` with these options
   */
  makeEnv?: ((index: number, options: ChatEnvOptions) => Env | Promise<Env>) | undefined;
}

/** Options of {@linkcode DatasetChatEnv}. */
export interface DatasetChatEnvOptions extends DatasetBatchOptions, DatasetSourceOptions {}

/** Options of {@linkcode ChatEnv.fromDataloader}. */
export interface FromDataloaderOptions extends DatasetBatchOptions {
  /**
   * Number of elements, or the length of each axis of the batch.
   *
   * @default 1
   */
  batchSize?: number | readonly number[] | undefined;
}

/**
 * A batch of chats whose queries come from a dataset, in order and without end.
 *
 * With `groupSamples`, neighbouring elements play the same task, and `task.group` names their group for
 * `advantages()`.
 *
 * An invalid row fails only the element that takes it. That element continues when it is reset, or stepped by
 * {@linkcode DatasetChatEnv.stepAndMaybeReset}.
 *
 * @example A batch of two tasks
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { DatasetChatEnv } from "@paddock/paddock";
 *
 * const dataset = [{ query: "What is 2 + 2?", answer: "4" }, { query: "What is 3 + 3?", answer: "6" }];
 * await using env = new DatasetChatEnv({ dataset, numEnvs: 2, shuffle: false });
 * const [first] = await env.reset();
 * assertEquals(first?.observation?.task.query, "What is 2 + 2?");
 * ```
 *
 * @example Groups of two episodes of each task, and their advantages
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { advantages, ChatEnv, DatasetChatEnv, GradeEpisode, groupOf, numberMatch } from "@paddock/paddock";
 * import { EndOnFinalReply, replyAction, TransformedEnv } from "@paddock/paddock";
 *
 * await using env = new DatasetChatEnv({
 *   dataset: [{ query: "What is 2 + 2?", answer: "4" }],
 *   samples: 2,
 *   groupSamples: true,
 *   makeEnv: (_index, options) =>
 *     new TransformedEnv(new ChatEnv(options), [
 *       new EndOnFinalReply(),
 *       new GradeEpisode({ grader: numberMatch() }),
 *     ]),
 * });
 * await env.reset();
 * const outcomes = await env.step([replyAction("It is 4."), replyAction("It is 5.")]);
 * const steps = outcomes.flatMap((outcome) => outcome?.step ?? []);
 * const rewards = steps.map(({ reward }) => reward);
 * const groups = steps.map(({ task }) => groupOf(task));
 * assertEquals(rewards, [1, 0]);
 * assertEquals(groups[0], groups[1]);
 * assertEquals(advantages(rewards, { groups, method: "rloo" }), [1, -1]);
 * ```
 */
export class DatasetChatEnv extends DatasetBatch {
  /** Default system prompt; for subclasses that represent one dataset. */
  static readonly SYSTEM_PROMPT: string | undefined = undefined;

  /**
   * @throws {RangeError} if `numEnvs`, `samples` or `batchSizeDl` is out of range.
   * @throws {TypeError} if the dataset is neither a path nor rows nor a function.
   */
  constructor(options: DatasetChatEnvOptions) {
    requireKnownOptions("create DatasetChatEnv", options, DATASET_CHAT_ENV_OPTIONS);
    const { dataset, shuffle, name, split, seed, numEnvs, ...rest } = options;
    const { collate, dataKey, samples, groupSamples, batchSizeDl, makeEnv, ...chat } = rest;
    const chatOptions = { ...chat, systemPrompt: chat.systemPrompt ?? new.target.SYSTEM_PROMPT };
    const source = { dataset, shuffle, name, split, seed, numEnvs };
    const sampling = { collate, dataKey, samples, groupSamples, batchSizeDl };
    super(
      { ...source, ...sampling },
      (index) => makeEnv?.(index, chatOptions) ?? new ChatEnv(chatOptions),
    );
  }

  /** Creates a batch of chats over rows from any loader, in the order of the loader. */
  static fromDataloader(
    dataloader: Rows | ((pass: number) => Rows),
    options: FromDataloaderOptions = {},
  ): DatasetChatEnv {
    const { batchSize, ...rest } = options;
    return new this({ ...rest, dataset: dataloader, shuffle: false, numEnvs: batchSize });
  }
}

/** Names of the options. */
const OPTIONS: Readonly<Record<keyof ChatEnvOptions, true>> = {
  ...CHAT_FORMAT_OPTIONS,
  inputMode: true,
  systemPrompt: true,
  systemRole: true,
  userRole: true,
  policyRole: true,
  dataKey: true,
};

/** Names of the options of {@linkcode DatasetChatEnv}. */
const DATASET_CHAT_ENV_OPTIONS: Readonly<Record<keyof DatasetChatEnvOptions, true>> = {
  ...OPTIONS,
  makeEnv: true,
  samples: true,
  groupSamples: true,
  batchSizeDl: true,
  collate: true,
  dataset: true,
  shuffle: true,
  seed: true,
  numEnvs: true,
  name: true,
  split: true,
};
