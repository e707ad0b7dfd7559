import { EpisodeError, TokenError } from "../../errors.ts";
import type { InteractionResult } from "../../rollout/interaction.ts";
import type { Task } from "../../task.ts";
import { GatewayError, toGatewayError, toPromptError } from "../gateway_error.ts";
import type { ModelRequest } from "../model_request.ts";
import type { SamplerPrompt } from "../model/model_sampler.ts";
import { PauseGate } from "../model/pause_gate.ts";
import { requireChoice } from "../grammar/call_grammar.ts";
import { AnsweredRequests } from "./answered_requests.ts";
import { type ChatPath, ChatTree } from "./chat_tree.ts";
import { draftPrompt } from "./draft_prompt.ts";
import type { PromptWriter } from "./prompt_writer.ts";
import { canonicalJson, messageKey } from "./message_key.ts";
import { readAnswer, toDeliveredMessage } from "./read_answer.ts";
import { type PromptDraft, type SampledTurn, type SessionEnd, SessionRow } from "./session_row.ts";
import { MESSAGE_COPIES, sizeOf } from "./session_size.ts";
import type { GatewaySessionOptions, RecordedTurn } from "./session_options.ts";
import { SharedSample } from "./shared_sample.ts";
import { constraintOf, contextError, samplingOf } from "./turn_sampling.ts";

/**
 * A request that is sampled: the path of the request's chat, and the prompt that was written for the request.
 */
interface Attempt {
  readonly request: ModelRequest;
  readonly tree: ChatTree;
  readonly path: ChatPath;
  readonly draft: PromptDraft;
}

/**
 * A run of an agent: the agent's requests become the turns of rows.
 *
 * A request that extends the chat of a row continues the row. Any other request begins a new row, a branch. A
 * request that repeats an earlier request whose answer was not delivered gets the same answer.
 */
export class GatewaySession {
  readonly id: string;
  readonly #options: GatewaySessionOptions;
  /** Chats by the tools that they offer. */
  readonly #trees = new Map<string, ChatTree>();
  readonly #rows: SessionRow[] = [];
  readonly #turns = new Map<string, SampledTurn>();
  readonly #answered = new AnsweredRequests();
  readonly #pending = new Map<string, SharedSample<SampledTurn>>();
  #latest: SampledTurn | undefined;
  #end: SessionEnd | undefined;
  #bytes = 0;

  /**
   * @param origin Session that this session copies. A chat that continues a turn of the origin is a branch of
   * the turn's row.
   */
  constructor(options: GatewaySessionOptions, origin?: GatewaySession) {
    this.id = options.id;
    this.#options = options;
    if (origin !== undefined) this.#copy(origin);
  }

  #copy(origin: GatewaySession): void {
    for (const [tools, tree] of origin.#trees) this.#trees.set(tools, tree.copy());
    for (const [key, turn] of origin.#turns) this.#turns.set(key, turn);
    this.#latest = origin.#latest;
    this.#bytes = Math.ceil(origin.#bytes / MESSAGE_COPIES); // the texts are shared
  }

  get task(): Task {
    return this.#options.task;
  }

  /** Number of turns of all rows. */
  get turns(): number {
    return this.#answered.count;
  }

  /** Number of rows. */
  get rowCount(): number {
    return this.#rows.length;
  }

  /** How the session ended, if the session has ended. */
  get end(): SessionEnd | undefined {
    return this.#end;
  }

  /** Estimated memory of the session. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Answers a request of the agent. The caller calls {@linkcode noteLost} if the agent does not get the whole
   * answer.
   *
   * @throws {GatewayError} if there is no answer.
   */
  async answer(request: ModelRequest, { signal }: { signal: AbortSignal }): Promise<SampledTurn> {
    this.#requireOpen();
    const turn = this.#answered.find(request) ?? await this.#sampleOnce(request, signal);
    this.#answered.noteTaken(turn);
    return turn;
  }

  /**
   * Samples an answer. A request that is marked as repeated waits for the sample of the earlier request, if
   * that sample is running.
   */
  async #sampleOnce(request: ModelRequest, signal: AbortSignal): Promise<SampledTurn> {
    const running = this.#pending.get(request.identity);
    const isMarked = request.retry.count > 0 || request.retry.idempotencyKey !== undefined;
    if (isMarked && running !== undefined && !running.isCancelled) return await running.wait(signal);
    const attempt = this.#attempt(request);
    const sample = new SharedSample((signal) => this.#sample(attempt, signal));
    this.#pending.set(request.identity, sample);
    try {
      return await sample.wait(signal);
    } finally {
      if (this.#pending.get(request.identity) === sample) this.#pending.delete(request.identity);
    }
  }

  /**
   * Returns the number of tokens of a request's prompt. Nothing is recorded.
   *
   * @throws {GatewayError} if the template cannot show the chat.
   */
  countTokens(request: ModelRequest): number {
    if (this.#options.format === undefined) {
      throw new GatewayError(
        "invalid",
        "Tokens cannot be counted as the gateway has no tokenizer of the model",
      );
    }
    return this.#attempt(request).draft.writer.prompt.ids.length;
  }

  /** Records that the agent did not get the whole answer: an equal request then gets the same answer. */
  noteLost(turn: SampledTurn): void {
    this.#answered.noteLost(turn);
  }

  /**
   * Records a turn of an earlier process again. The answer counts as delivered only if a later request has
   * the answer.
   *
   * @throws {GatewayError} if the template cannot show the chat any more.
   */
  restore({ request, ...turn }: RecordedTurn): void {
    this.#record(this.#attempt(request), turn);
  }

  /** Ends the session. Later requests are refused. The first end counts. */
  finish(end: SessionEnd): void {
    this.#end ??= end;
  }

  /** Returns the rows for a trainer. The rows of a session that has not ended have the status `aborted`. */
  results(): InteractionResult[] {
    const { task, sample = 1, sampler } = this.#options;
    const end = this.#end ?? { reward: null, isComplete: false };
    const isEvaluation = this.#options.format === undefined;
    const context = { session: this.id, task, sample, policy: sampler.name, isEvaluation };
    return this.#rows.map((row) => row.toResult(context, end));
  }

  #requireOpen(): void {
    if (this.#end === undefined) return;
    const { error } = this.#end;
    throw new GatewayError("ended", `The session ${this.id} has ended${error ? `: ${error.message}` : ""}`);
  }

  #attempt(request: ModelRequest): Attempt {
    const { rewritten = "branch" } = this.#options;
    const { messages, tools } = request;
    const tree = this.#trees.getOrInsertComputed(canonicalJson(tools), () => new ChatTree());
    const path = tree.find(messages, { keepsChanged: rewritten === "keep" });
    for (const turn of path.sampled.values()) this.#answered.noteTaken(turn);
    const findTurn = (key: string) => this.#turns.get(key);
    const isOwn = (row: SessionRow) => this.#rows.includes(row);
    const chat = { messages, tools, path, findTurn, isOwn, latest: this.#latest };
    const draft = withPromptErrors(() => draftPrompt(chat, this.#options));
    const changed = draft.changes.find(({ kind }) => kind === "rewritten" || kind === "cut");
    if (rewritten === "refuse" && changed !== undefined) {
      throw new GatewayError(
        "rewritten",
        `Message ${changed.index} must be the answer that the gateway gave: its text or its calls are others`,
      );
    }
    return { request, tree, path, draft };
  }

  async #sample(attempt: Attempt, signal: AbortSignal): Promise<SampledTurn> {
    const { request, draft: { writer, history } } = attempt;
    const { sampler, gate = new PauseGate(), policyVersion } = this.#options;
    const promptTokens = writer.prompt.ids.length;
    const toolChoice = this.#options.toolChoice === undefined ? request.toolChoice : undefined;
    const sampling = samplingOf(request, { prompt: writer.prompt, toolChoice, session: this.#options });
    try {
      using _running = await gate.enter(signal);
      const version = policyVersion?.();
      const start = performance.now();
      const prompt = { history, tools: request.tools, ...this.#recordOf(writer) };
      const reply = await sampler.sample(prompt, { sampling, toolChoice, signal });
      signal.throwIfAborted();
      this.#requireOpen();
      const constraint = constraintOf(sampling);
      const facts = { policyMs: performance.now() - start, policyVersion: version, constraint };
      const { parser, format, onTurn } = this.#options;
      const answer = readAnswer(reply, request, { parser, format, promptTokens });
      if (toolChoice !== undefined) requireChoice(answer, { ...request, toolChoice });
      const turn = this.#record(attempt, { reply, answer, facts });
      onTurn?.({ request, reply: turn.reply, answer, facts });
      return turn;
    } catch (error) {
      throw error instanceof EpisodeError ? this.#toAnswerError(error, promptTokens) : error;
    }
  }

  /** Returns the recorded prompt; nothing for a model server that gets messages. */
  #recordOf(writer: PromptWriter): Pick<SamplerPrompt, "tokens" | "text" | "recordedChat"> {
    const recordedChat = writer.recordedChat?.bind(writer);
    const { text, ids: tokens } = writer.prompt;
    return recordedChat === undefined ? {} : { tokens, text, recordedChat };
  }

  #toAnswerError(error: EpisodeError, prompt: number): GatewayError {
    const failure = toGatewayError(error);
    if (failure.fault !== "context_length") return failure;
    return contextError({ prompt, limit: this.#options.contextTokens ?? prompt - 1 }, error);
  }

  #record(
    { request, tree, path, draft }: Attempt,
    { reply, answer, facts }: Omit<RecordedTurn, "request">,
  ): SampledTurn {
    const key = messageKey(toDeliveredMessage(answer));
    const row = this.#rowFor(draft);
    const turn = row.add(draft, { reply, answer, key, facts });
    if (!this.#rows.includes(row)) this.#rows.push(row);
    tree.add(path, turn);
    this.#turns.set(key, turn);
    this.#latest = turn;
    this.#answered.add(request, turn);
    this.#bytes += sizeOf(request.messages.slice(path.depth), { turn, base: draft.base });
    return turn;
  }

  /**
   * Returns the row that a draft continues. If another reply has continued the row since, the draft begins a
   * branch.
   */
  #rowFor(draft: PromptDraft): SessionRow {
    const { base, parent } = draft;
    if (base !== undefined && base.row.tip === base) return base.row;
    const id = this.#rows.length === 0 ? this.id : `${this.id}-${this.#rows.length + 1}`;
    if (base === undefined) return new SessionRow(id, { ...draft, parent });
    const origin = { id: base.row.id, turn: base.number + 1 };
    return new SessionRow(id, { ...draft, shared: base.number, parent: origin });
  }
}

function withPromptErrors<T>(write: () => T): T {
  try {
    return write();
  } catch (error) {
    if (error instanceof TokenError || error instanceof TypeError) {
      throw toPromptError(
        error instanceof TokenError ? error : new TokenError(error.message, { cause: error }),
      );
    }
    throw error;
  }
}
