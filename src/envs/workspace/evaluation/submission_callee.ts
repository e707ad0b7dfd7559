import { Callee, type CalleeReply, moduleCall, moduleDefinitions } from "../../../sandbox/isolated/callee.ts";
import type { PythonSession } from "../../../sandbox/exec.ts";
import submissionSource from "./submission.py" with { type: "text" };

const SUBMISSION_MODULE = "paddock_submission";

/** Submission in a session that has its files and no file of the evaluation. */
export class SubmissionCallee {
  readonly #callee: Callee;

  constructor(session: PythonSession, options: { timeoutMs: number; signal?: AbortSignal | undefined }) {
    this.#callee = new Callee(session, { ...options, name: "submission" });
  }

  /** Reason why the session was lost; `undefined` while it runs. */
  get termination(): string | undefined {
    return this.#callee.loss;
  }

  /** Writes the submission's files to the session. */
  async load(files: Readonly<Record<string, Uint8Array>>): Promise<void> {
    const code = `${moduleDefinitions({ [SUBMISSION_MODULE]: submissionSource })}\n${
      moduleCall(SUBMISSION_MODULE, "load", [])
    }`;
    await this.#callee.load(code, files);
  }

  /** Calls `module.function` of the submission with the evaluator's marshalled arguments. */
  async call(name: string, args: string): Promise<CalleeReply> {
    return await this.#callee.call(moduleCall(SUBMISSION_MODULE, "call", [name]), args);
  }
}
