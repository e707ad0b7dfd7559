import { ArgumentTypeError } from "../errors.ts";
import type {
  CaptureOptions,
  Checkpoint,
  ForkOptions,
  RestoreOptions,
} from "../sandbox/contract/checkpoint.ts";
import type { ExecOptions, ExecResult } from "../sandbox/contract/exec.ts";
import type { BranchingLease, BranchingSession, ResetOptions } from "../sandbox/contract/pool.ts";
import type { ShellOptions, ShellResult } from "../sandbox/contract/shell.ts";
import { checkExec } from "../sandbox/contract/exec_fields.ts";
import { fromResultReply, NoReceiverError, toExecCall } from "./call_codec.ts";
import { CallEvents } from "./call_events.ts";
import { type Answer, type Caller, type CallOptions, type Request, unexpected } from "./caller.ts";
import { NO_SUSPENSION } from "./nats_session.ts";
import type { NodeHome } from "./nodes_bucket.ts";

/** A program as a message without its caller. */
export type RunRequest = Omit<Extract<Request, { op: "run" }>, "op">;

/** Options of {@linkcode OnceSession}. */
export interface OnceSessionOptions {
  readonly owner: string;
  readonly seed?: number | undefined;
  /** Profile of the nodes. */
  readonly profile: NodeHome["profile"];
  /** Sends a program to any free slot. Resolves when a node has taken it. */
  readonly run: (
    request: RunRequest,
    options: CallOptions,
  ) => Promise<Awaited<ReturnType<Caller["run"]>>>;
  /** Leases a session, for calls that are no single program. */
  readonly open: () => Promise<BranchingLease>;
}

/** Largest program that is sent with the request for a slot, in bytes: a slot takes no message in chunks. */
const MAX_RUN_BYTES = 256 * 1024;

/**
 * The session of a lease for one program. The program is sent with the request for a slot, in one message. Other calls
 * lease a session first.
 */
export class OnceSession implements BranchingSession {
  readonly #options: OnceSessionOptions;
  #isUsed = false;
  #lease: Promise<BranchingLease> | undefined;

  constructor(options: OnceSessionOptions) {
    this.#options = options;
  }

  /** {@inheritDoc PythonSession.exec} */
  async exec(code: string, options: ExecOptions = {}): Promise<ExecResult> {
    const { profile, owner, seed } = this.#options;
    if (options.suspendAt) throw new ArgumentTypeError(NO_SUSPENSION);
    checkExec(code, options, profile);
    const { head, parts } = toExecCall(code, options);
    const bytes = parts.reduce((sum, { length }) => sum + length, JSON.stringify(head).length);
    if (this.#isUsed || bytes > MAX_RUN_BYTES) return await (await this.#open()).exec(code, options);
    this.#isUsed = true;
    const { reply, parts: files } = await this.#run(
      { ...head, owner, ...(seed !== undefined && { seed }) },
      parts,
      options,
    );
    if (reply.kind !== "result") throw unexpected(reply);
    return fromResultReply(reply, files);
  }

  /** {@inheritDoc BranchingSession.resume} */
  async resume(): Promise<ExecResult> {
    return await Promise.reject(new ArgumentTypeError(NO_SUSPENSION));
  }

  /** {@inheritDoc BranchingSession.waitingCall} */
  waitingCall(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  /** {@inheritDoc PythonSession.shell} */
  async shell(command: string, options?: ShellOptions): Promise<ShellResult> {
    return await (await this.#open()).shell(command, options);
  }

  /** {@inheritDoc PythonSession.writeFile} */
  async writeFile(path: string, contents: Uint8Array | string): Promise<void> {
    await (await this.#open()).writeFile(path, contents);
  }

  /** {@inheritDoc PythonSession.readFile} */
  async readFile(path: string): Promise<Uint8Array> {
    return await (await this.#open()).readFile(path);
  }

  /** {@inheritDoc PythonSession.reset} */
  async reset(options?: ResetOptions): Promise<void> {
    await (await this.#open()).reset(options);
  }

  /** {@inheritDoc BranchingSession.checkpoint} */
  async checkpoint(options?: CaptureOptions): Promise<Checkpoint> {
    return await (await this.#open()).checkpoint(options);
  }

  /** {@inheritDoc BranchingSession.restore} */
  async restore(checkpoint: Checkpoint, options?: RestoreOptions): Promise<void> {
    await (await this.#open()).restore(checkpoint, options);
  }

  /** {@inheritDoc BranchingSession.fork} */
  async fork(count: number, options?: ForkOptions): Promise<BranchingLease[]> {
    return await (await this.#open()).fork(count, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#lease?.catch(() => undefined))?.[Symbol.asyncDispose](); // its caller has the error
  }

  async #open(): Promise<BranchingSession> {
    this.#isUsed = true;
    this.#lease ??= this.#options.open();
    return (await this.#lease).session;
  }

  /** Runs a program, in another slot if the first one has waited too long for this caller or its node drains. */
  async #place(request: RunRequest, options: CallOptions): Promise<Answer> {
    for (;;) {
      const { answer } = await this.#options.run(request, options);
      try {
        return await answer;
      } catch (error) {
        if (!(error instanceof NoReceiverError)) throw error; // otherwise it has not begun
      }
    }
  }

  async #run(request: RunRequest, parts: Uint8Array[], options: ExecOptions): Promise<Answer> {
    const { signal, onOutput, onDisplay, tools } = options;
    const events = new CallEvents({ onOutput, onDisplay, tools }, signal);
    try {
      const last = await this.#place(request, {
        parts,
        signal: events.signal,
        onEvent: events.receive.bind(events),
      });
      await events.settle();
      return last;
    } finally {
      events.end();
    }
  }
}
