import { z } from "zod";
import type { ExecResult, PythonSession } from "../../sandbox/exec.ts";
import source from "./candidate.py" with { type: "text" };
import { isPlainData, type PlainData } from "./plain_data.ts";
import { definingModule, moduleCall } from "./python_code.ts";

/** What came of a call of the candidate, as data. */
export type CandidateReply =
  | { readonly value: PlainData }
  /** The name of the exception's class, of the built-in one that it is or is derived from, and its text. */
  | { readonly raised: string; readonly base: string; readonly message: string };

const MODULE = "paddock_candidate";
const exceptionSchema = z.object({ raised: z.string(), base: z.string(), message: z.string() });

/** The candidate in a session of its own. Nothing that it does or says is believed beyond being data. */
export class Candidate {
  readonly #session: PythonSession;
  readonly #signal: AbortSignal | undefined;
  #leftMs: number;
  #calls = 0;
  #lost: string | undefined;

  constructor(session: PythonSession, options: { timeoutMs: number; signal: AbortSignal | undefined }) {
    this.#session = session;
    this.#leftMs = options.timeoutMs;
    this.#signal = options.signal;
  }

  /** How often it was called. */
  get calls(): number {
    return this.#calls;
  }

  /** Whether it has ended, or broken, an interpreter that it should have answered from. */
  get isLost(): boolean {
    return this.#lost !== undefined;
  }

  /** Runs the program; afterwards it can be called, unless it is lost. */
  async load(prompt: string, program: string): Promise<void> {
    const code = `${definingModule(MODULE, source)}\n${moduleCall(MODULE, "load", [prompt, program])}`;
    const result = await this.#exec(code);
    if (result.status !== "ok" || result.value !== "loaded") this.#lost = endOf(result);
  }

  /** Calls what the program defines under a name; the arguments are plain data in JSON. */
  async call(name: string, args: string): Promise<CandidateReply> {
    this.#calls++;
    if (this.#lost === undefined && this.#leftMs <= 0) this.#lost = "the candidate has used up its time";
    if (this.#lost !== undefined) return noAnswer(this.#lost);
    const result = await this.#exec(moduleCall(MODULE, "call", [name, args]));
    const reply = result.status === "ok" && result.value !== undefined ? parseReply(result.value) : undefined;
    if (reply !== undefined) return reply;
    const message = endOf(result);
    if (!result.truncated || result.status !== "ok") this.#lost = message;
    return noAnswer(message);
  }

  async #exec(code: string): Promise<ExecResult> {
    const result = await this.#session.exec(code, { timeoutMs: this.#leftMs, signal: this.#signal });
    this.#leftMs -= result.durationMs;
    return result;
  }
}

function noAnswer(message: string): CandidateReply {
  return { raised: "CandidateError", base: "Exception", message };
}

function parseReply(text: string): CandidateReply | undefined {
  try {
    const reply: unknown = JSON.parse(text);
    if (typeof reply !== "object" || reply === null) return undefined;
    if ("value" in reply && isPlainData(reply.value)) return { value: reply.value };
    const { data } = exceptionSchema.safeParse(reply);
    return data;
  } catch {
    return undefined; // the candidate answered what is no JSON
  }
}

function endOf({ status, truncated }: ExecResult): string {
  if (status === "ok") {
    return truncated ? "the candidate answered with too much" : "the candidate did not answer";
  }
  return `the candidate's program ended as '${status}'`;
}
