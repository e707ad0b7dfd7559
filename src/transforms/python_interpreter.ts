import { requireTimeout } from "../async/abort.ts";
import { crossBoundary } from "../boundary.ts";
import type { Observation, Step } from "../envs/env.ts";
import { answeredStep, stepReply } from "../envs/tool_step.ts";
import { SandboxError } from "../errors.ts";
import { messageText } from "../message.ts";
import { acquireWithin } from "../sandbox/acquire_within.ts";
import type { ExecResult, PythonSession, SessionLease, SessionPool } from "../sandbox/exec.ts";
import { pythonBlocks } from "../tools/python_blocks.ts";
import { resultRecord } from "../tools/result_record.ts";
import { resultText } from "../tools/result_text.ts";
import type { ToolResult } from "../tools/tool_result.ts";
import type { Transform, TransformContext } from "./transform.ts";

/** What a {@linkcode PythonInterpreter} needs. */
export interface PythonInterpreterOptions {
  /** Where interpreters come from; not disposed here. */
  pool: SessionPool;
  /** The role of the messages that carry results; `tool` unless given. */
  toolName?: string | undefined;
  /** Milliseconds a block may take; the profile's limit unless given. */
  timeoutMs?: number | undefined;
  /**
   * Whether globals live from block to block until the episode ends; true unless given (upstream: false). Without,
   * each block meets a fresh namespace.
   */
  persistent?: boolean | undefined;
  /** `compat` words results like TorchRL; `json` gives records. `compat` unless given. */
  format?: "compat" | "json" | undefined;
  /** Milliseconds to wait for an interpreter before the episode fails; 300,000 unless given. */
  acquireTimeoutMs?: number | undefined;
}

const ACQUIRE_TIMEOUT_MS = 300_000;

/**
 * Runs the Python blocks of the assistant's newest message, in order, and puts one message per block behind it.
 *
 * Only the assistant's words run: a block in a query or a tool's output does not. What the code did is also in the
 * step's `toolResults`.
 *
 * An episode takes an interpreter from the pool when its first block is there, and gives it back when the episode
 * ends, at the next reset, or when it is disposed. Globals cannot be moved to another interpreter, so a pool must
 * have one for each episode that has run code and goes on: 64 envs that step together need a pool of 64 (a profile
 * with `sessionsPerProcess` makes that cheap). With fewer, the others wait; where all of them wait for one another
 * nobody would ever go on, so after `acquireTimeoutMs` the step rejects with a `SandboxError`. With
 * `persistent: false` an interpreter is only held for the blocks of one message, and a pool of any size serves
 * any number of envs. A grader that runs Python needs a pool of its own, as it runs before the episode's end.
 */
export class PythonInterpreter implements Transform {
  readonly #options: PythonInterpreterOptions;
  #lease: SessionLease | undefined;
  #seed: number | undefined;

  /** @throws {RangeError} when a limit of time is none. */
  constructor(options: PythonInterpreterOptions) {
    const { timeoutMs = 1, acquireTimeoutMs = 1 } = options;
    requireTimeout(timeoutMs, "run Python");
    requireTimeout(acquireTimeoutMs, "wait for an interpreter");
    this.#options = options;
  }

  async reset(observation: Observation, { seed }: TransformContext): Promise<Observation> {
    await this[Symbol.asyncDispose]();
    this.#seed = seed;
    return observation;
  }

  async step(step: Step, context: TransformContext): Promise<Step> {
    const reply = stepReply(step, context);
    const blocks = reply === undefined ? [] : pythonBlocks(messageText(reply));
    if (blocks.length === 0) return step;
    const { toolName: role = "tool", persistent = true } = this.#options;
    try {
      const toolResults = await this.#run(blocks, context);
      const messages = toolResults.map(({ text }) => ({ role, content: text }));
      return answeredStep(step, { messages, toolResults, ended: false });
    } finally {
      if (!persistent) await this[Symbol.asyncDispose]();
    }
  }

  /** Gives the interpreter back: nobody will ask for its globals any more. */
  async end(): Promise<void> {
    await this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const lease = this.#lease;
    this.#lease = undefined;
    await lease?.[Symbol.asyncDispose]();
  }

  async #run(blocks: readonly string[], context: TransformContext): Promise<ToolResult[]> {
    const { persistent = true } = this.#options;
    const session = await this.#session(context.signal);
    const results: ToolResult[] = [];
    for (const code of blocks) {
      if (!persistent && results.length > 0) await this.#wipe(session, context.signal);
      const exec = await this.#exec(session, code, context.signal);
      results.push(this.#result(results.length + 1, code, { exec, turn: context.turn }));
    }
    return results;
  }

  async #session(signal: AbortSignal | undefined): Promise<PythonSession> {
    const { pool, acquireTimeoutMs = ACQUIRE_TIMEOUT_MS } = this.#options;
    this.#lease ??= await crossBoundary(
      () => acquireWithin(pool, { timeoutMs: acquireTimeoutMs, seed: this.#seed, signal }),
      { error: SandboxError, failure: "Cannot acquire session", signal },
    );
    return this.#lease.session;
  }

  /** A rewind is enough: both blocks are of one message. */
  async #wipe(session: PythonSession, signal: AbortSignal | undefined): Promise<void> {
    await crossBoundary(() => session.reset({ mode: "rewind", seed: this.#seed, signal }), {
      error: SandboxError,
      failure: "Cannot reset session",
      signal,
    });
  }

  async #exec(session: PythonSession, code: string, signal: AbortSignal | undefined): Promise<ExecResult> {
    return await crossBoundary(() => session.exec(code, { timeoutMs: this.#options.timeoutMs, signal }), {
      error: SandboxError,
      failure: "Cannot run code",
      signal,
    });
  }

  #result(call: number, code: string, ran: { exec: ExecResult; turn: number }): ToolResult {
    const { exec, turn } = ran;
    const { status, durationMs, truncated } = exec;
    return {
      tool: "python",
      call,
      callId: `python-${turn}-${call}`,
      code,
      exec,
      status,
      durationMs,
      truncated,
      text: this.#text(call, exec),
    };
  }

  #text(call: number, exec: ExecResult): string {
    const { persistent = true, format = "compat" } = this.#options;
    // Where every block starts afresh, there is no state whose loss the model must be told of.
    const told = persistent ? exec : { ...exec, stateKept: true };
    return format === "json" ? resultRecord(call, told) : resultText(call, told);
  }
}
