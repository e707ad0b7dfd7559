import { crossBoundary } from "../boundary.ts";
import type { Observation, Step } from "../envs/env.ts";
import { SandboxError } from "../errors.ts";
import { messageText } from "../message.ts";
import type { ExecResult, SessionLease, SessionPool } from "../sandbox/exec.ts";
import { pythonBlocks } from "../tools/python_blocks.ts";
import { resultText } from "../tools/result_text.ts";
import type { ToolResult } from "../tools/tool_result.ts";
import type { Transform, TransformContext } from "./transform.ts";

/** What a {@linkcode PythonInterpreter} needs. */
export interface PythonInterpreterOptions {
  /** Where each episode gets an interpreter of its own; not disposed here. */
  pool: SessionPool;
  /** The role of the messages that carry results. */
  toolName?: string | undefined;
  /** Milliseconds a block may take; the profile's limit unless given. */
  timeoutMs?: number | undefined;
}

/**
 * Runs the Python blocks of the assistant's newest message, in order, and puts one message per block behind it.
 *
 * Globals live as long as the episode. Only the assistant's words run: a block in a query or a tool's output
 * does not. What the code did is also in the step's `toolResults`.
 */
export class PythonInterpreter implements Transform {
  readonly #pool: SessionPool;
  readonly #toolName: string;
  readonly #timeoutMs: number | undefined;
  #lease: SessionLease | undefined;

  constructor(options: PythonInterpreterOptions) {
    this.#pool = options.pool;
    this.#toolName = options.toolName ?? "tool";
    this.#timeoutMs = options.timeoutMs;
  }

  async reset(observation: Observation, context: TransformContext): Promise<Observation> {
    const { seed, signal } = context;
    await this[Symbol.asyncDispose]();
    this.#lease = await crossBoundary(() => this.#pool.acquire({ seed, signal }), {
      error: SandboxError,
      failure: "Cannot acquire session",
      signal,
    });
    return observation;
  }

  async step(step: Step, context: TransformContext): Promise<Step> {
    const { last } = step.history.prompt;
    if (last?.role !== "assistant") return step;
    const results: ToolResult[] = [];
    for (const code of pythonBlocks(messageText(last))) {
      const exec = await this.#exec(code, context.signal);
      results.push(toolResult(results.length + 1, code, { exec, turn: context.turn }));
    }
    return results.length === 0 ? step : withResults(step, results, this.#toolName);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const lease = this.#lease;
    this.#lease = undefined;
    await lease?.[Symbol.asyncDispose]();
  }

  async #exec(code: string, signal: AbortSignal | undefined): Promise<ExecResult> {
    const session = this.#lease?.session;
    if (session === undefined) throw new Error("Cannot run code as the interpreter must be reset first");
    return await crossBoundary(() => session.exec(code, { timeoutMs: this.#timeoutMs, signal }), {
      error: SandboxError,
      failure: "Cannot run code",
      signal,
    });
  }
}

function toolResult(call: number, code: string, ran: { exec: ExecResult; turn: number }): ToolResult {
  const { exec, turn } = ran;
  const { status, durationMs, truncated } = exec;
  const callId = `python-${turn}-${call}`;
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

function withResults(step: Step, results: readonly ToolResult[], role: string): Step {
  const messages = results.map(({ text }) => ({ role, content: text }));
  return {
    ...step,
    history: { prompt: step.history.prompt.extend(messages) },
    toolResults: [...step.toolResults, ...results],
  };
}
