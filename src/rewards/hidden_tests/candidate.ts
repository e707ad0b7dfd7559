import { Callee, type CalleeReply, moduleCall, moduleDefinitions } from "../../sandbox/isolated/callee.ts";
import type { PythonSession } from "../../sandbox/exec.ts";
import candidateSource from "./candidate.py" with { type: "text" };
import prompt from "./prompt.py" with { type: "text" };

const CANDIDATE_MODULE = "paddock_candidate";

/** A candidate's program in its own session. */
export class Candidate {
  readonly #callee: Callee;

  constructor(session: PythonSession, options: { timeoutMs: number; signal: AbortSignal | undefined }) {
    this.#callee = new Callee(session, { ...options, name: "candidate" });
  }

  /** Number of calls. */
  get calls(): number {
    return this.#callee.calls;
  }

  /** True if the program has ended or broken its interpreter. */
  get isLost(): boolean {
    return this.#callee.loss !== undefined;
  }

  /** Runs the program. Afterwards it can be called, unless it is lost. */
  async load(beginning: string, program: string): Promise<void> {
    const defining = moduleDefinitions({ paddock_prompt: prompt, [CANDIDATE_MODULE]: candidateSource });
    await this.#callee.load(`${defining}\n${moduleCall(CANDIDATE_MODULE, "load", [beginning, program])}`);
  }

  /** Calls a function of the program. `args` are plain data as JSON. */
  async call(name: string, args: string): Promise<CalleeReply> {
    return await this.#callee.call(moduleCall(CANDIDATE_MODULE, "call", [name, args]));
  }
}
