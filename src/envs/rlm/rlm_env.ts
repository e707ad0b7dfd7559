import { attributeErrors, GraderError, SandboxError } from "../../errors.ts";
import { History } from "../../history.ts";
import { messageText } from "../../message.ts";
import { toRowIntegers } from "../../numbers/exact_numbers.ts";
import { requireKnownOptions } from "../../options.ts";
import { parseTaggedReply } from "../../rewards/final_reply.ts";
import { type Grader, toScore } from "../../rewards/grader.ts";
import type { ExecResult } from "../../sandbox/contract/exec.ts";
import type { PythonSession, SessionLease, SessionPool } from "../../sandbox/contract/pool.ts";
import { type Task, type TaskInput, toTask } from "../../task.ts";
import { CodeTools } from "../../tools/code_mode/code_tools.ts";
import { findPrograms } from "../../tools/python_blocks.ts";
import { resultText } from "../../tools/result_text.ts";
import type { ToolResult } from "../../tools/tool_result.ts";
import { type Action, historyAfter, requireAction } from "../action.ts";
import type { EnvResetOptions, Observation, Step, StepOptions } from "../env.ts";
import { messagesOfQuery } from "../query_messages.ts";
import { findFinalText } from "./final_text.ts";
import { contextOf, describeContext, RLM_SYSTEM } from "./prompt.ts";
import type { AnswerSubCall, RecursiveEnv } from "./recursive_env.ts";
import PRELUDE from "./rlm_prelude.py" with { type: "text" };
import { type FinalAnswer, SubCalls } from "./sub_calls.ts";

/** Options of {@linkcode RlmEnv}. */
export interface RlmEnvOptions {
  /** Pool of interpreters, with a profile that has `hostTools`. The caller disposes the pool. */
  pool: SessionPool;
  /**
   * Field of the task with the context: a text, or another value of JSON.
   *
   * @default "context"
   */
  contextKey?: string | undefined;
  /**
   * System message. What the context is follows after the message.
   *
   * @default a text about the functions that code has
   */
  systemPrompt?: string | undefined;
  /** Scores the final answer, as the reply of an assistant. Without a grader, episodes stay unscored. */
  grader?: Grader | undefined;
  /**
   * Number of replies after which an episode is truncated.
   *
   * @default 30
   */
  maxTurns?: number | undefined;
  /**
   * Run time of a block with the questions of the block, in milliseconds.
   *
   * @default 600_000
   */
  timeoutMs?: number | undefined;
  /**
   * Length of the results of a reply in the next prompt, in characters.
   *
   * @default 8_192
   */
  outputCharacters?: number | undefined;
  /**
   * Number of questions of an episode.
   *
   * @default 1_000
   */
  maxSubCalls?: number | undefined;
  /**
   * Length of a question, in characters.
   *
   * @default 100_000
   */
  promptCharacters?: number | undefined;
  /**
   * Number of questions of an episode that are answered at the same time.
   *
   * @default 8
   */
  concurrency?: number | undefined;
}

const DEFAULTS = {
  contextKey: "context",
  systemPrompt: RLM_SYSTEM,
  maxTurns: 30,
  timeoutMs: 600_000,
  outputCharacters: 8_192,
  maxSubCalls: 1_000,
  promptCharacters: 100_000,
  concurrency: 8,
};

/**
 * A recursive language model: the context of a task is a variable of a Python session, and the code of the policy asks
 * the policy about parts of the context. `FINAL(value)` and `FINAL_VAR(name)` end the episode; so does a reply without
 * code: the text is then the answer. The final answer is `info.final_answer`, and `info.final_value` where the answer
 * is a value of JSON.
 *
 * `rolloutRecursive` lets the policy answer the questions and records them.
 */
export class RlmEnv implements RecursiveEnv {
  readonly #options: RlmEnvOptions & typeof DEFAULTS;
  #answer: AnswerSubCall | undefined;
  #lease: SessionLease | undefined;
  #calls: SubCalls | undefined;
  #observation: Observation | undefined;
  #turn = 0;

  /** @throws {TypeError} if an option is unknown. */
  constructor(options: RlmEnvOptions) {
    requireKnownOptions("RlmEnv", options, KNOWN);
    const given = Object.entries(options).filter(([, value]) => value !== undefined);
    this.#options = { ...DEFAULTS, pool: options.pool, ...Object.fromEntries(given) };
  }

  /** {@inheritDoc RecursiveEnv.answerSubCalls} */
  answerSubCalls(answer: AnswerSubCall): void {
    this.#answer = answer;
  }

  async reset(input: TaskInput, { seed, signal }: EnvResetOptions = {}): Promise<Observation> {
    await this[Symbol.asyncDispose]();
    const { pool, contextKey, systemPrompt } = this.#options;
    const task = toTask(input);
    const query = messagesOfQuery(input, { dataKey: "query", userRole: "user" });
    const context = contextOf(task, contextKey);
    this.#calls = new SubCalls(this.#answer, this.#options);
    this.#turn = 0;
    this.#lease = await inSandbox("acquire session", () => pool.acquire({ seed, signal }), signal);
    const { session } = this.#lease;
    // a profile without host tools is an error here, not in the code of a reply
    const { tools } = new CodeTools(this.#calls.tools(0)).forBlock({
      idPrefix: "start",
      stateOf: () => ({}),
    });
    const start = await inSandbox(
      "set the context",
      () => session.exec(PRELUDE, { inputs: { context }, tools, signal }),
      signal,
    );
    if (start.status !== "ok") {
      throw new SandboxError(`Cannot set the context as its program ended with '${start.status}'`);
    }
    const system = { role: "system", content: `${systemPrompt}\n\n${describeContext(context)}` };
    const prompt = History.fromChats([system]).extend(query);
    return this.#observation = { task, history: { prompt } };
  }

  async step(action: Action, { signal }: StepOptions = {}): Promise<Step> {
    const { before, session, calls } = this.#running();
    requireAction(action);
    this.#turn++;
    const prompt = historyAfter(before.history.prompt, action);
    const reply = prompt.last;
    const text = reply === undefined ? "" : parseTaggedReply(messageText(reply)).visibleText;
    const isCut = reply?.is_complete === false;
    const { programs, notRun } = findPrograms(text, { skipUnclosed: isCut });
    const written = programs.length === 0 ? findFinalText(text) : undefined;
    const code = written !== undefined && "variable" in written
      ? [`FINAL_VAR(${JSON.stringify(written.variable)})`]
      : programs;
    const toolResults = await this.#run(session, code, { calls, signal });
    const final = calls.final ?? finalOfText(text, { written, hasCode: code.length > 0, isCut });
    const messages = final === undefined ? [{ role: "tool", content: this.#shown(toolResults) }] : [];
    const step: Step = {
      task: before.task,
      history: { prompt: toolResults.length === 0 ? prompt : prompt.extend(messages) },
      reward: null,
      terminated: final !== undefined,
      truncated: final === undefined && (isCut || this.#turn >= this.#options.maxTurns),
      toolResults,
      ...(notRun.length > 0 && { blocksNotRun: notRun }),
    };
    return await this.#end(step, { final, signal });
  }

  /** {@inheritDoc Env.truncate} */
  async truncate({ history }: Observation, { signal }: StepOptions = {}): Promise<Step> {
    const { before } = this.#running();
    const step: Step = {
      ...before,
      history,
      reward: null,
      terminated: false,
      truncated: true,
      toolResults: [],
    };
    return await this.#end(step, { final: undefined, signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const lease = this.#lease;
    this.#lease = this.#observation = this.#calls = undefined;
    await lease?.[Symbol.asyncDispose]();
  }

  #running(): { before: Observation; session: PythonSession; calls: SubCalls } {
    const [before, lease, calls] = [this.#observation, this.#lease, this.#calls];
    if (before && lease && calls) return { before, session: lease.session, calls };
    throw new Error("Cannot step as no episode is running: reset the env first");
  }

  async #run(
    session: PythonSession,
    programs: readonly string[],
    { calls, signal }: { calls: SubCalls; signal: AbortSignal | undefined },
  ): Promise<ToolResult[]> {
    const { timeoutMs } = this.#options;
    const granted = new CodeTools(calls.tools(this.#turn), { limits: { timeoutMs, maxTotalMs: timeoutMs } });
    const results: ToolResult[] = [];
    for (const code of programs) {
      if (calls.final !== undefined) break;
      const call = results.length + 1;
      const callId = `python-${this.#turn}-${call}`;
      const block = granted.forBlock({ idPrefix: callId, stateOf: () => ({}) });
      const { tools } = block;
      const run = () => session.exec(code, { timeoutMs, tools, signal });
      const exec = await inSandbox("run code", run, signal);
      results.push({ ...toToolResult(exec, { call, callId, code }), calls: block.endCalls() });
    }
    return results;
  }

  /** Returns the results as the next prompt shows them. */
  #shown(results: readonly ToolResult[]): string {
    const { outputCharacters } = this.#options;
    const text = results.map(({ text }) => text).join("\n");
    if (text.length <= outputCharacters) return text;
    return `${text.slice(0, outputCharacters)}\n… (cut: ${text.length} characters)`;
  }

  /** Keeps a step, or ends the episode and scores the answer. */
  async #end(
    step: Step,
    { final, signal }: { final: FinalAnswer | undefined; signal: AbortSignal | undefined },
  ): Promise<Step> {
    if (!step.terminated && !step.truncated) {
      this.#observation = { task: step.task, history: step.history };
      return step;
    }
    const info = {
      sub_calls: this.#calls?.count ?? 0,
      ...(final && { final_answer: final.text }),
      ...(final?.value !== undefined && { final_value: toRowIntegers(final.value) }),
    };
    await this[Symbol.asyncDispose]();
    const scored = await this.#score(step.task, final?.text ?? "", signal);
    return { ...step, info, ...scored };
  }

  async #score(task: Task, answer: string, signal: AbortSignal | undefined): Promise<Partial<Step>> {
    const { grader } = this.#options;
    if (grader === undefined) return {};
    const query = messagesOfQuery(task, { dataKey: "query", userRole: "user" });
    const history = query.append({ role: "assistant", content: answer });
    const { score, parts, reason } = await attributeErrors(
      async () => toScore(await grader.grade({ task, history, signal })),
      { error: GraderError, failure: `Cannot grade with '${grader.name}'`, signal },
    );
    const rewardParts = { [grader.name]: score, ...parts };
    return {
      reward: score,
      rewardParts,
      ...(score === null && reason !== undefined && { unscored: reason }),
    };
  }
}

/** Names of the options. */
const KNOWN: Readonly<Record<keyof RlmEnvOptions, true>> = {
  pool: true,
  contextKey: true,
  systemPrompt: true,
  grader: true,
  maxTurns: true,
  timeoutMs: true,
  outputCharacters: true,
  maxSubCalls: true,
  promptCharacters: true,
  concurrency: true,
};

/** Returns the answer that the text of a reply is or has. A reply that was cut off has none. */
function finalOfText(
  text: string,
  { written, hasCode, isCut }: {
    written: ReturnType<typeof findFinalText>;
    hasCode: boolean;
    isCut: boolean;
  },
): FinalAnswer | undefined {
  if (written !== undefined && "text" in written) return { text: written.text };
  return hasCode || isCut ? undefined : { text: text.trim() };
}

function toToolResult(
  exec: ExecResult,
  { call, callId, code }: Pick<ToolResult, "call" | "callId"> & { code: string },
): ToolResult {
  const { status, durationMs, truncated } = exec;
  return {
    tool: "python",
    call,
    callId,
    code,
    exec,
    status,
    durationMs,
    truncated,
    text: resultText(call, exec),
  };
}

async function inSandbox<T>(
  what: string,
  work: () => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  return await attributeErrors(work, { error: SandboxError, failure: `Cannot ${what}`, signal });
}
