import { z } from "zod";
import type { ExecOptions, ExecResult, PythonSession } from "../exec.ts";
import { isPlainData, type PlainData } from "./plain_data.ts";

/** What came of a call, as data. */
export type CalleeReply =
  | { readonly value: PlainData }
  /** The name of the exception's class, of the built-in one that it is or is derived from, and its text. */
  | { readonly raised: string; readonly base: string; readonly message: string };

/** What a {@linkcode Callee} needs beside its session. */
export interface CalleeOptions {
  /** What it is called in messages, such as `candidate`. */
  readonly name: string;
  /** Milliseconds that it may take in all. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

const exceptionSchema = z.object({ raised: z.string(), base: z.string(), message: z.string() });

/** A program in a session of its own, to be called. Nothing that it does or says is believed beyond being data. */
export class Callee {
  readonly #session: PythonSession;
  readonly #options: CalleeOptions;
  #leftMs: number;
  #calls = 0;
  #loss: string | undefined;

  constructor(session: PythonSession, options: CalleeOptions) {
    this.#session = session;
    this.#options = options;
    this.#leftMs = options.timeoutMs;
  }

  /** How often it was called. */
  get calls(): number {
    return this.#calls;
  }

  /** Why it can answer no more: it has ended, or broken, an interpreter that it should have answered from. */
  get loss(): string | undefined {
    return this.#loss;
  }

  /** Runs code whose value is `loaded`; afterwards it can be called, unless it is lost. */
  async load(code: string, files: Readonly<Record<string, Uint8Array>> = {}): Promise<void> {
    const result = await this.#exec(code, { files });
    if (result.status !== "ok" || result.value !== "loaded") this.#loss = this.#endOf(result);
  }

  /** Runs code whose value is an answer of `callee.py`; large arguments are quickest as its `stdin`. */
  async call(code: string, stdin?: string): Promise<CalleeReply> {
    this.#calls++;
    if (this.#loss === undefined && this.#leftMs <= 0) {
      this.#loss = `the ${this.#options.name} has used up its time`;
    }
    if (this.#loss !== undefined) return noAnswer(this.#loss);
    const result = await this.#exec(code, { stdin });
    const reply = result.status === "ok" && result.value !== undefined ? parseReply(result.value) : undefined;
    if (reply !== undefined) return reply;
    const message = this.#endOf(result);
    if (!result.truncated || result.status !== "ok") this.#loss = message;
    return noAnswer(message);
  }

  async #exec(code: string, given: Pick<ExecOptions, "files" | "stdin">): Promise<ExecResult> {
    const { signal } = this.#options;
    const result = await this.#session.exec(code, { ...given, timeoutMs: this.#leftMs, signal });
    this.#leftMs -= result.durationMs;
    return result;
  }

  #endOf({ status, truncated }: ExecResult): string {
    const { name } = this.#options;
    if (status !== "ok") return `the ${name}'s program ended as '${status}'`;
    return truncated ? `the ${name} answered with too much` : `the ${name} did not answer`;
  }
}

function noAnswer(message: string): CalleeReply {
  return { raised: "NoAnswer", base: "Exception", message };
}

function parseReply(text: string): CalleeReply | undefined {
  try {
    const reply: unknown = JSON.parse(text);
    if (typeof reply !== "object" || reply === null) return undefined;
    if ("value" in reply && isPlainData(reply.value)) return { value: reply.value };
    const { data } = exceptionSchema.safeParse(reply);
    return data;
  } catch {
    return undefined; // it answered with what is no JSON
  }
}
