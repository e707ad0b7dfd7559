import { Deadline, requireTimeout } from "../async/abort.ts";
import { attributeErrors, SandboxError } from "../errors.ts";
import { checkpointSession } from "../envs/branching_env.ts";
import type { Observation, Step } from "../envs/env.ts";
import { appendToolMessages, replyOfStep } from "../envs/tool_step.ts";
import {
  type EpisodeCheckpoint,
  type EpisodeCheckpointOptions,
  refuseCheckpoint,
  seedOfCopy,
} from "../episode_checkpoint.ts";
import type { History } from "../history.ts";
import { messageText } from "../message.ts";
import { requireKnownOptions } from "../options.ts";
import type { ExecOptions, ExecResult } from "../sandbox/contract/exec.ts";
import type { AcquireOptions, PythonSession, SessionLease, SessionPool } from "../sandbox/contract/pool.ts";
import { CODE_TOOL_LIMITS, type CodeToolLimits } from "../tools/code_mode/call_limits.ts";
import { EpisodeTools, type ToolSource } from "../tools/code_mode/episode_tools.ts";
import { describeCodeTools } from "../tools/code_mode/describe.ts";
import type { CodeToolNames, CodeToolSpec } from "../tools/code_mode/python_names.ts";
import type { Tool } from "../tools/tool.ts";
import { findPrograms, type RunnableBlocks } from "../tools/python_blocks.ts";
import { resultRecord, resultText } from "../tools/result_text.ts";
import type { ToolResult } from "../tools/tool_result.ts";
import type { Transform, TransformContext } from "./transform.ts";

/** Options of {@linkcode PythonInterpreter}. */
export interface PythonInterpreterOptions extends RunnableBlocks {
  /** Pool of interpreters. The caller disposes the pool. */
  pool: SessionPool;
  /**
   * Role of the messages with results.
   * @default "tool"
   */
  toolName?: string | undefined;
  /**
   * Maximum run time of a block, in milliseconds.
   * @default the limit of the profile
   */
  timeoutMs?: number | undefined;
  /**
   * If true, globals persist from block to block until the episode ends (upstream's default is false). If
   * false, each block gets a new namespace.
   * @default true
   */
  persistent?: boolean | undefined;
  /**
   * Format of results: `compat` is the wording of TorchRL, `json` gives records.
   * @default "compat"
   */
  format?: "compat" | "json" | undefined;
  /**
   * Maximum time to wait for an interpreter before the step fails, in milliseconds.
   * @default 300_000
   */
  acquireTimeoutMs?: number | undefined;
  /**
   * Limits of all blocks of a reply together. When a limit is reached, the remaining blocks do not run, and a message
   * about them follows.
   */
  replyLimits?: Partial<ReplyLimits> | undefined;
  /**
   * Tools that the code of a block may call as `paddock.tools.<name>`, beside those that earlier transforms share: the
   * tools of `ToolTransform` and `MCPToolTransform` whose `allowedCallers` has `"code"`. They run in the host process. The
   * profile of the pool must have `hostTools`, as `tools` has; `hostToolCalls` of the profile bounds the
   * calls of a block. The caller disposes them.
   *
   * @default none
   */
  tools?: Iterable<Tool> | undefined;
  /**
   * Clients of MCP servers whose tools code may call. The caller disposes them.
   *
   * @default none
   */
  mcp?: ToolSource | undefined;
  /**
   * Where code finds `tools`: `tools` as `paddock.tools.<name>`, `functions` also as global functions, `modules` also as
   * `paddock.<server>.<name>` where a tool is named `server.name`, as tools of MCP servers are.
   *
   * @default "tools"
   */
  toolNames?: CodeToolNames | undefined;
  /** Limits of the calls of `tools`. The time of a call is time of the block, too. */
  toolLimits?: CodeToolLimits | undefined;
  /**
   * Returns the text about `tools` that is added to the system message of an episode. `false` adds none.
   *
   * @default `describeCodeTools`: how code calls them, and a stub with types for each
   */
  describeTools?: ((specs: readonly CodeToolSpec[]) => string) | false | undefined;
}

/** Limits of all code blocks of a reply. Agents that work on a task do not reach the defaults. */
export interface ReplyLimits {
  /**
   * Maximum number of blocks that run.
   * @default 64
   */
  readonly blocks: number;
  /**
   * Total run time in milliseconds. The last block has the rest, if less than `timeoutMs`; without `timeoutMs`, a
   * block has the limit of the profile.
   * @default six times `timeoutMs`; 60_000 without `timeoutMs`
   */
  readonly runMs: number;
  /**
   * Total output in characters after which no further block starts.
   * @default 4_194_304
   */
  readonly outputCharacters: number;
}

const REPLY_LIMITS: ReplyLimits = { blocks: 64, runMs: 60_000, outputCharacters: 4 * 1024 * 1024 };
/** Blocks of a reply that may use their whole time limit. */
const LONG_BLOCKS = 6;
const ACQUIRE_TIMEOUT_MS = 300_000;

/**
 * Runs the Python blocks of the assistant's newest message in order and appends a message for each block.
 *
 * Only blocks of the assistant run; a block in a query or in a tool's output does not. {@linkcode findPrograms} says
 * which blocks of a reply are programs. The step's `toolResults` contain the results as data, and `blocksNotRun` the
 * blocks that are no programs.
 *
 * An episode acquires an interpreter at the first block and releases the interpreter when the episode ends, at the next
 * reset, or on dispose. Globals cannot move to another interpreter, so the pool must have an interpreter for each
 * running episode that has executed code: 64 envs that step together need a pool of 64 (a profile with
 * `sessionsPerProcess` makes that cheap). With fewer, the others wait. If all episodes wait for each other,
 * the step rejects with a `SandboxError` after `acquireTimeoutMs`. With `persistent: false` an interpreter
 * is held only for the blocks of a message, and a pool of any size serves any number of envs. A grader
 * that runs Python needs a separate pool, because the grader runs before the episode ends.
 *
 * @example
 * ```ts
 * import { assertStringIncludes } from "@std/assert";
 * import { ChatEnv, loadProfile, PythonInterpreter, replyAction } from "@paddock/paddock";
 * import { SandboxPool, TransformedEnv } from "@paddock/paddock";
 *
 * await using pool = new SandboxPool({ profile: await loadProfile("python"), size: 1 });
 * await using env = new TransformedEnv(new ChatEnv(), [new PythonInterpreter({ pool })]);
 * await env.reset({ id: "1", query: "What is 2 ** 10?" });
 * const { toolResults } = await env.step(replyAction("~~~python\nprint(2 ** 10)\n~~~"));
 * assertStringIncludes(toolResults[0]?.text ?? "", "1024");
 * ```
 */
export class PythonInterpreter implements Transform {
  readonly #options: PythonInterpreterOptions;
  #tools: EpisodeTools;
  readonly #limits: ReplyLimits;
  #lease: SessionLease | undefined;
  #seed: number | undefined;

  /**
   * @throws {RangeError} if a limit is out of range.
   * @throws {TypeError} if an option is unknown, two tools have the same name, or a tool cannot be described.
   */
  constructor(options: PythonInterpreterOptions) {
    requireKnownOptions("create PythonInterpreter", options, OPTIONS);
    const { timeoutMs, acquireTimeoutMs = 1 } = options;
    requireTimeout(timeoutMs ?? 1, "run Python");
    requireTimeout(acquireTimeoutMs, "wait for an interpreter");
    const { toolLimits: limits = {}, toolNames: names } = options;
    requireKnownOptions("create PythonInterpreter with 'toolLimits'", limits, CODE_TOOL_LIMITS);
    this.#tools = new EpisodeTools({ tools: options.tools, source: options.mcp, limits, names });
    this.#options = { ...options, tools: [...options.tools ?? []] };
    const runMs = timeoutMs === undefined ? REPLY_LIMITS.runMs : LONG_BLOCKS * timeoutMs;
    this.#limits = { ...REPLY_LIMITS, runMs, ...options.replyLimits };
    requireReplyLimits(this.#limits);
  }

  async reset(observation: Observation, context: TransformContext): Promise<Observation> {
    await this[Symbol.asyncDispose]();
    this.#seed = context.seed;
    const { describeTools = describeCodeTools } = this.#options;
    const specs = await this.#tools.reset(context.sharedTools, context.signal);
    if (specs.length === 0) return observation;
    const recorded = { ...observation, info: { ...observation.info, codeTools: specs } };
    if (describeTools === false) return recorded;
    const { prompt } = observation.history;
    return { ...recorded, history: { prompt: withSystemText(prompt, describeTools(specs)) } };
  }

  async step(step: Step, context: TransformContext): Promise<Step> {
    const reply = replyOfStep(step, context);
    if (reply === undefined) return step;
    const { toolName: role = "tool", persistent = true, runUnlabeled, runThoughts } = this.#options;
    const skipUnclosed = reply.is_complete === false;
    const { programs, notRun } = findPrograms(messageText(reply), {
      runUnlabeled,
      runThoughts,
      skipUnclosed,
    });
    const recorded = notRun.length === 0
      ? step
      : { ...step, blocksNotRun: [...step.blocksNotRun ?? [], ...notRun] };
    if (programs.length === 0) return recorded;
    try {
      const toolResults = await this.#run(programs, context);
      const messages = toolResults.map(({ text }) => ({ role, content: text }));
      return appendToolMessages(recorded, { messages, toolResults, endsEpisode: false });
    } finally {
      if (!persistent) await this[Symbol.asyncDispose]();
    }
  }

  /** Releases the interpreter, whose globals are not needed any more. */
  async end(): Promise<void> {
    await this[Symbol.asyncDispose]();
  }

  /**
   * Copies have the state of the interpreter. Each copy takes a further interpreter of the pool, once the episode has run
   * code.
   *
   * @throws {CheckpointError} if the session has no checkpoints, or refuses a checkpoint.
   */
  async checkpoint({ signal }: EpisodeCheckpointOptions): Promise<EpisodeCheckpoint<PythonInterpreter>> {
    const seed = this.#seed;
    const acquire = (signal: AbortSignal | undefined) => this.#acquire({ signal });
    if (this.#options.mcp !== undefined) {
      refuseCheckpoint("its tools must not be of MCP servers: their state cannot be copied");
    }
    const copyTools = this.#tools.checkpoint();
    const state = this.#lease && await checkpointSession(this.#lease.session, { acquire, signal });
    return {
      copy: async (options) => {
        const copy = new PythonInterpreter(this.#options);
        copy.#seed = seedOfCopy(seed, options);
        copy.#tools = copyTools();
        copy.#lease = await state?.copy(options);
        return copy;
      },
    };
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
      const reached = reachedLimit(results, this.#limits);
      if (reached !== undefined) {
        const reason = `${describeBlocks(results.length + 1, blocks.length)} not run: ${reached}`;
        results.push(this.#refusal(results.length + 1, reason, context.turn));
        break;
      }
      if (!persistent && results.length > 0) await this.#wipe(session, context.signal);
      const leftMs = this.#limits.runMs - runTimeOf(results);
      const idPrefix = `python-${context.turn}-${results.length + 1}`;
      const granted = this.#tools.forBlock(idPrefix, context.sharedTools);
      const { tools } = granted;
      const exec = await this.#exec(session, code, { leftMs, tools, signal: context.signal });
      const calls = granted.endCalls();
      const result = this.#result(results.length + 1, code, { exec, turn: context.turn });
      results.push(calls.length === 0 ? result : { ...result, calls });
    }
    return results;
  }

  async #session(signal: AbortSignal | undefined): Promise<PythonSession> {
    this.#lease ??= await this.#acquire({ seed: this.#seed, signal });
    return this.#lease.session;
  }

  async #acquire({ seed, signal }: Pick<AcquireOptions, "seed" | "signal">): Promise<SessionLease> {
    const { pool, acquireTimeoutMs = ACQUIRE_TIMEOUT_MS } = this.#options;
    using deadline = new Deadline(acquireTimeoutMs, {
      signal,
      reason: () =>
        new SandboxError(
          `Cannot acquire session as none was free within ${acquireTimeoutMs} ms: ` +
            "the pool needs one for each running episode that has run code",
        ),
    });
    return await attributeErrors(
      () => pool.acquire({ seed, signal: deadline.signal }),
      { error: SandboxError, failure: "Cannot acquire session", signal },
    );
  }

  /** Resets the namespace. A rewind is sufficient because both blocks belong to the same message. */
  async #wipe(session: PythonSession, signal: AbortSignal | undefined): Promise<void> {
    await attributeErrors(() => session.reset({ mode: "rewind", seed: this.#seed, signal }), {
      error: SandboxError,
      failure: "Cannot reset session",
      signal,
    });
  }

  async #exec(
    session: PythonSession,
    code: string,
    { leftMs, tools, signal }: Pick<ExecOptions, "tools" | "signal"> & { leftMs: number },
  ): Promise<ExecResult> {
    const blockMs = this.#options.timeoutMs;
    const timeoutMs = blockMs === undefined ? undefined : Math.min(blockMs, Math.ceil(leftMs));
    return await attributeErrors(() => session.exec(code, { timeoutMs, tools, signal }), {
      error: SandboxError,
      failure: "Cannot run code",
      signal,
    });
  }

  #result(call: number, code: string, run: { exec: ExecResult; turn: number }): ToolResult {
    const { exec, turn } = run;
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

  /** Returns the result that stands for all blocks that were not run. */
  #refusal(call: number, reason: string, turn: number): ToolResult {
    const record = { block: call, status: "refused", reason };
    return {
      tool: "python",
      call,
      callId: `python-${turn}-${call}`,
      status: "refused",
      durationMs: 0,
      truncated: false,
      text: this.#options.format === "json" ? JSON.stringify(record) : reason,
    };
  }

  #text(call: number, exec: ExecResult): string {
    const { persistent = true, format = "compat" } = this.#options;
    // Without persistent state, there is no loss of state to report to the model.
    const reported = persistent ? exec : { ...exec, stateKept: true };
    return format === "json" ? resultRecord(call, reported) : resultText(call, reported);
  }
}

/** Names of the options. */
const OPTIONS: Readonly<Record<keyof PythonInterpreterOptions, true>> = {
  pool: true,
  toolName: true,
  timeoutMs: true,
  persistent: true,
  format: true,
  acquireTimeoutMs: true,
  replyLimits: true,
  tools: true,
  mcp: true,
  toolNames: true,
  toolLimits: true,
  describeTools: true,
  runUnlabeled: true,
  runThoughts: true,
};

/** Returns a prompt with a text at the end of the system message, or with a system message of this text. */
function withSystemText(prompt: History, text: string): History {
  const [first] = prompt;
  if (first?.role !== "system") {
    return prompt.slice(0, 0).append({ role: "system", content: text }).extend(prompt);
  }
  const content = typeof first.content === "string"
    ? `${first.content}\n\n${text}`
    : [...first.content, { type: "text" as const, text: `\n\n${text}` }];
  return prompt.slice(0, 0).append({ ...first, content }).extend(prompt.slice(1));
}

function requireReplyLimits(limits: ReplyLimits): void {
  for (const [name, value] of Object.entries(limits)) {
    if (value > 0) continue;
    throw new RangeError(`Cannot run Python as 'replyLimits.${name}' must be > 0: current value is ${value}`);
  }
}

/** Returns the limit that the results of a reply have reached; `undefined` if none. */
function reachedLimit(results: readonly ToolResult[], limits: ReplyLimits): string | undefined {
  if (results.length >= limits.blocks) return `a reply may run ${limits.blocks} blocks`;
  if (runTimeOf(results) >= limits.runMs) {
    return `the blocks of a reply may run for ${limits.runMs / 1000} seconds together`;
  }
  const characters = results.reduce((sum, { text }) => sum + text.length, 0);
  if (characters < limits.outputCharacters) return undefined;
  return `the blocks of a reply may print ${limits.outputCharacters} characters together`;
}

/** Returns the run time of the blocks of a reply, in milliseconds. */
function runTimeOf(results: readonly ToolResult[]): number {
  return results.reduce((sum, { durationMs }) => sum + durationMs, 0);
}

function describeBlocks(first: number, last: number): string {
  return first === last ? `Code block ${first} was` : `Code blocks ${first} to ${last} were`;
}
