import { Callee, type CalleeReply } from "../../sandbox/apart/callee.ts";
import { definingModules, moduleCall } from "../../sandbox/apart/python_code.ts";
import type { PythonSession } from "../../sandbox/exec.ts";
import source from "./candidate.py" with { type: "text" };
import prompt from "./prompt.py" with { type: "text" };

const MODULE = "paddock_candidate";

/** The candidate in a session of its own. */
export class Candidate {
  readonly #callee: Callee;

  constructor(session: PythonSession, options: { timeoutMs: number; signal: AbortSignal | undefined }) {
    this.#callee = new Callee(session, { ...options, name: "candidate" });
  }

  /** How often it was called. */
  get calls(): number {
    return this.#callee.calls;
  }

  /** Whether it has ended, or broken, an interpreter that it should have answered from. */
  get isLost(): boolean {
    return this.#callee.loss !== undefined;
  }

  /** Runs the program; afterwards it can be called, unless it is lost. */
  async load(beginning: string, program: string): Promise<void> {
    const defining = definingModules({ paddock_prompt: prompt, [MODULE]: source });
    await this.#callee.load(`${defining}\n${moduleCall(MODULE, "load", [beginning, program])}`);
  }

  /** Calls what the program defines under a name; the arguments are plain data in JSON. */
  async call(name: string, args: string): Promise<CalleeReply> {
    return await this.#callee.call(moduleCall(MODULE, "call", [name, args]));
  }
}
