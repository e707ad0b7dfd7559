import * as z from "zod";
import { SerialQueue } from "../async/semaphore.ts";
import { ArgumentTypeError, SandboxLostError } from "../errors.ts";
import { type StateMemoryOptions, statesOf } from "../sandbox/checkpoint/state_memory.ts";
import type {
  CaptureOptions,
  Checkpoint,
  CheckpointEvery,
  CheckpointOptions,
  ForkOptions,
  RestoreOptions,
} from "../sandbox/contract/checkpoint.ts";
import type { ExecOptions, ExecResult } from "../sandbox/contract/exec.ts";
import type { BranchingLease, BranchingSession, ResetOptions } from "../sandbox/contract/pool.ts";
import type { ShellOptions, ShellResult } from "../sandbox/contract/shell.ts";
import { checkExec, checkShell, SHELL_FIELDS } from "../sandbox/contract/exec_fields.ts";
import { checkContents, checkPath, checkResetMode, checkSeed } from "../sandbox/exec/exec_check.ts";
import { checkOptionNames } from "../sandbox/contract/known_options.ts";
import { readCheckpoint } from "../sandbox/checkpoint/checkpoint.ts";
import { forkSession } from "../sandbox/checkpoint/fork.ts";
import { disposeUnless } from "../sandbox/lease.ts";
import { fromResultReply, NotDoneError, partAt, toExecCall } from "./call_codec.ts";
import { shellResponse } from "../client/responses.ts";
import { CallEvents, type FollowedOptions } from "./call_events.ts";
import { type Answer, type Caller, type CallOptions, type Request, unexpected } from "./caller.ts";
import { MAX_MESSAGE_BYTES } from "./nats/message.ts";
import type { NodeHome } from "./nodes_bucket.ts";
import { SessionMoves, type SessionMovesOptions } from "./session_moves.ts";
import type { SharedSessionsBucket } from "./shared_sessions.ts";

/** Options of {@linkcode NatsSession}. */
export interface NatsSessionOptions {
  readonly caller: Caller;
  readonly id: string;
  /** Owner whose memory the session's messages take on the node: a SHA-256, or nothing. */
  readonly owner: string;
  /** First node of the session. */
  readonly home: NodeHome;
  /**
   * True if the session is for one exec, and ends on the node with the exec.
   *
   * @default false
   */
  readonly once?: boolean | undefined;
  /** Seed of the session's start. */
  readonly seed?: number | undefined;
  /** When the session takes checkpoints, with which the session continues on another node. */
  readonly every?: CheckpointEvery | undefined;
  /** Place at which other callers find the session. */
  readonly shared?: SessionMovesOptions["shared"];
  /** Leases a session for a copy. */
  readonly acquire: (signal: AbortSignal | undefined) => Promise<BranchingLease>;
}

type SessionRequest = Extract<Request, { session: string }> extends infer One
  ? One extends { session: string; owner: string } ? Omit<One, "session" | "owner"> : never
  : never;

const encoder = new TextEncoder();

/** Message of an exec that is to wait at a call. */
export const NO_SUSPENSION =
  "Cannot exec as sessions of a cluster do not support 'suspendAt': a program that waits would be lost with its node, as nodes store the state of a session between programs";

/** Nodes that a call may find stopped before the call reports the loss. */
const MAX_MOVES = 16;

/**
 * A session of a node. Calls run in order, one at a time. A session throws the same errors as a local session. If the
 * node is lost and the session has checkpoints, the next call continues on another node.
 */
export class NatsSession implements BranchingSession {
  readonly #options: NatsSessionOptions;
  readonly #queue = new SerialQueue();
  readonly #moves: SessionMoves;
  /** Set if the effect of a call is unknown: the session has no known state on this node then. */
  #lost: SandboxLostError | undefined;
  #hasEnded = false;
  #ended: Promise<void> = Promise.resolve();

  constructor(options: NatsSessionOptions) {
    this.#options = options;
    this.#moves = new SessionMoves(options);
  }

  /** {@inheritDoc PythonSession.exec} */
  async exec(code: string, options: ExecOptions = {}): Promise<ExecResult> {
    const { home, once } = this.#options;
    if (options.suspendAt) throw new ArgumentTypeError(NO_SUSPENSION);
    checkExec(code, options, home.profile);
    const { head, parts } = toExecCall(code, options);
    const { onOutput, onDisplay, tools } = options;
    const { reply, parts: files } = await this.#enqueue(
      { op: "exec", ...head, ...(once && { last: true }) },
      { parts, signal: options.signal },
      { onOutput, onDisplay, tools },
    );
    if (once) this.#hasEnded = true;
    if (reply.kind !== "result") throw unexpected(reply);
    return this.#moves.report(fromResultReply(reply, files));
  }

  /** {@inheritDoc BranchingSession.resume} */
  resume(): Promise<ExecResult> {
    return Promise.reject(new ArgumentTypeError(NO_SUSPENSION));
  }

  /** {@inheritDoc BranchingSession.waitingCall} */
  waitingCall(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  /** {@inheritDoc PythonSession.shell} */
  async shell(command: string, options: ShellOptions = {}): Promise<ShellResult> {
    checkShell(command, options, this.#options.home.profile);
    const { signal, onOutput } = options;
    const fields = SHELL_FIELDS.toMessage(options);
    const follows = onOutput ? { follows: ["output" as const] } : {};
    const { reply } = await this.#enqueue({ op: "shell", command, ...fields, ...follows }, { signal }, {
      onOutput,
    });
    if (reply.kind !== "result") throw unexpected(reply);
    return this.#moves.report(z.parse(shellResponse, reply.result));
  }

  /** {@inheritDoc PythonSession.writeFile} */
  async writeFile(path: string, contents: Uint8Array | string): Promise<void> {
    checkPath(path);
    checkContents(path, contents);
    const bytes = typeof contents === "string" ? encoder.encode(contents) : contents.slice();
    await this.#enqueue({ op: "write", path }, { parts: [bytes] });
  }

  /** {@inheritDoc PythonSession.readFile} */
  async readFile(path: string): Promise<Uint8Array> {
    checkPath(path);
    const { parts } = await this.#enqueue({ op: "read", path });
    return partAt(parts, 0).slice();
  }

  /** {@inheritDoc PythonSession.reset} */
  async reset(options: ResetOptions = {}): Promise<void> {
    checkOptionNames("reset", options);
    const { mode, seed, signal } = options;
    checkResetMode(mode);
    checkSeed(seed);
    await this.#enqueue({ op: "reset", ...withoutUndefined({ mode, seed }) }, { signal });
  }

  /** {@inheritDoc BranchingSession.checkpoint} */
  async checkpoint(options: CaptureOptions = {}): Promise<Checkpoint> {
    checkOptionNames("checkpoint", options);
    const { owner = "", memory, signal } = options;
    const call = { op: "checkpoint" as const, scope: owner, ...withoutUndefined({ memory }) };
    return await this.#queue.run(async () => {
      using _room = await statesOf(options)?.reserve(MAX_MESSAGE_BYTES, signal);
      const { parts } = await this.#callOrMove(call, { signal });
      return await readCheckpoint(partAt(parts, 0));
    }, { signal });
  }

  /** {@inheritDoc BranchingSession.restore} */
  async restore(checkpoint: Checkpoint, options: RestoreOptions = {}): Promise<void> {
    checkOptionNames("restore", options);
    const { owner: scope = "", reseed, seed, signal } = options;
    checkSeed(seed);
    await this.#queue.run(async () => {
      using _room = await statesOf(options)?.reserve(checkpoint.storedBytes, signal);
      const parts = [await checkpoint.toBytes()];
      const request = { op: "restore" as const, scope, ...withoutUndefined({ reseed, seed }) };
      await this.#callOrMove(request, { parts, signal });
    }, { signal });
  }

  /** {@inheritDoc BranchingSession.fork} */
  async fork(count: number, options: ForkOptions = {}): Promise<BranchingLease[]> {
    checkOptionNames("fork", options);
    const { seed, owner, signal } = options;
    const transfer: CheckpointOptions & StateMemoryOptions = { owner, states: statesOf(options), signal };
    return await forkSession(count, {
      seed,
      capture: () => this.checkpoint(transfer),
      copy: async (from, reseeding) => {
        const lease = await this.#options.acquire(signal);
        return await disposeUnless(lease, lease.session.restore(from, { ...reseeding, ...transfer }));
      },
    });
  }

  /** Ends the session on the node. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#hasEnded) {
      this.#hasEnded = true;
      this.#ended = this.#moves.end();
    }
    await this.#ended;
  }

  /** Lets other callers find the session. See {@linkcode SessionMoves.share}. */
  async share(sessions: SharedSessionsBucket, settings: unknown): Promise<string> {
    return await this.#moves.share(sessions, settings);
  }

  /** Makes this caller the last user of the session, so that this caller may end the session. */
  async claim(): Promise<void> {
    await this.#moves.claim();
  }

  /** Stops to use the session, which goes on for other callers. */
  leave(): void {
    this.#hasEnded = true;
  }

  async #enqueue(
    request: SessionRequest,
    options: Pick<CallOptions, "parts" | "signal"> = {},
    followed: FollowedOptions = {},
  ): Promise<Answer> {
    return await this.#queue.run(() => this.#callOrMove(request, options, followed), {
      signal: options.signal,
    });
  }

  /** Continues on another node if the session's has stopped, and repeats a call that was not begun. */
  async #callOrMove(
    request: SessionRequest,
    options: Pick<CallOptions, "parts" | "signal">,
    followed: FollowedOptions = {},
  ): Promise<Answer> {
    for (let move = 0;; move++) {
      try {
        if (this.#lost) await this.#moves.move(this.#lost, options.signal);
        this.#lost = undefined;
        const answer = await this.#call(request, options, followed);
        await this.#moves.count(request);
        return answer;
      } catch (error) {
        if (error instanceof SandboxLostError) this.#lost = error;
        else if (options.signal?.aborted) await this.#moves.count(request);
        const canMove = this.#options.every !== undefined || this.#moves.isShared;
        const isRepeated = error instanceof NotDoneError && canMove;
        if (!isRepeated || move >= MAX_MOVES) throw error;
      }
    }
  }

  async #call(
    request: SessionRequest,
    { parts, signal }: Pick<CallOptions, "parts" | "signal">,
    followed: FollowedOptions,
  ): Promise<Answer> {
    const { caller, owner } = this.#options;
    const events = new CallEvents(followed, signal);
    try {
      const answer = await caller.callSession(
        { ...request, session: this.#moves.id, owner } as Extract<Request, { session: string }>,
        { parts, signal: events.signal, onEvent: events.receive.bind(events) },
      );
      await events.settle();
      return answer;
    } finally {
      events.end();
    }
  }
}

function withoutUndefined<T extends object>(value: T): { [Key in keyof T]?: NonNullable<T[Key]> } {
  return Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined)) as {
    [Key in keyof T]?: NonNullable<T[Key]>;
  };
}
