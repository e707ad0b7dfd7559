import { errorMessage } from "../../../errors.ts";
import type { PythonSession } from "../../../sandbox/contract/pool.ts";
import { shellText } from "../../../tools/shell_tool.ts";
import type { HarborTask } from "../task.ts";
import { type BundleEntry, FileBundleError, packFiles } from "./file_bundle.ts";
import { prepareSession } from "./prepare.ts";

/** Options of {@linkcode AgentSession.start}. */
export interface AgentSessionOptions {
  /**
   * Timeout of a block of commands, in milliseconds.
   *
   * @default 120_000
   */
  readonly timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** Time limit of a command of the image, in milliseconds. */
const BUILD_TIMEOUT_MS = 600_000;
/** Characters of output that an agent reads of a reply's commands. */
const MAX_OUTPUT = 16_000;
const NO_OUTPUT = "(The commands printed nothing.)";

/** Session in which an agent works on a task, with the time that is left for the agent's commands. */
export class AgentSession {
  readonly #session: PythonSession;
  readonly #task: HarborTask;
  readonly #timeoutMs: number;
  #remainingMs: number;
  #isLost = false;

  private constructor(
    session: PythonSession,
    task: HarborTask,
    limits: { timeoutMs: number; remainingMs: number },
  ) {
    this.#session = session;
    this.#task = task;
    this.#timeoutMs = limits.timeoutMs;
    this.#remainingMs = limits.remainingMs;
  }

  /** Brings a session to the start of a task. */
  static async start(
    session: PythonSession,
    task: HarborTask,
    { timeoutMs = 120_000, signal }: AgentSessionOptions = {},
  ): Promise<AgentSession> {
    await prepareSession(session, task.image, { timeoutMs: BUILD_TIMEOUT_MS, signal });
    return new AgentSession(session, task, { timeoutMs, remainingMs: task.agentTimeoutMs ?? Infinity });
  }

  /** Run time that is left for commands, in milliseconds. */
  get remainingMs(): number {
    return this.#remainingMs;
  }

  /** True if the interpreter has ended, and the agent's files with it. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Runs command lines, and returns their output as the agent reads it. */
  async run(
    commands: readonly string[],
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<string> {
    const outputs: string[] = [];
    for (const command of commands) {
      if (this.#isLost || this.#remainingMs <= 0) break;
      const timeoutMs = Math.ceil(Math.min(this.#timeoutMs, this.#remainingMs));
      const startedAt = performance.now();
      const result = await this.#session.shell(command, { timeoutMs, signal });
      this.#remainingMs -= performance.now() - startedAt;
      this.#isLost = !result.stateKept || Boolean(result.restarted);
      outputs.push(shellText(result));
    }
    return shorten(outputs.filter((text) => text !== "").join("\n")) || NO_OUTPUT;
  }

  /** Returns the files that the verifier may get, or the reason why there are none. */
  async work(
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<readonly BundleEntry[] | { readonly fault: string }> {
    if (this.#isLost) return { fault: "the interpreter was lost" };
    try {
      return (await packFiles(this.#session, this.#task.carried.roots, { signal })).entries;
    } catch (error) {
      if (error instanceof FileBundleError) return { fault: errorMessage(error) };
      throw error;
    }
  }

  /** Returns the same for a session that is a copy of this one. */
  copyFor(session: PythonSession): AgentSession {
    const copy = new AgentSession(session, this.#task, {
      timeoutMs: this.#timeoutMs,
      remainingMs: this.#remainingMs,
    });
    copy.#isLost = this.#isLost;
    return copy;
  }
}

/** Leaves out the middle of a text that is too long for an agent. */
function shorten(text: string): string {
  if (text.length <= MAX_OUTPUT) return text;
  const half = MAX_OUTPUT / 2;
  const left = text.length - 2 * half;
  return `${text.slice(0, half)}\n[… ${left} characters are left out …]\n${text.slice(-half)}`;
}
