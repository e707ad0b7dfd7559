import { abortable, Deadline } from "../async/abort.ts";
import { SandboxError, SandboxLostError } from "../errors.ts";
import {
  fromErrorReply,
  NoReceiverError,
  NotDoneError,
  SessionInUseError,
  UnansweredError,
} from "./call_codec.ts";
import { type Call, type CallReply, callReplySchema, type Control } from "./calls.ts";
import { encodeMessage } from "./nats/message.ts";
import { NodeDirectory } from "./node_directory.ts";
import type { CallerBeat } from "./nodes_bucket.ts";
import { NatsPeer, type PeerOptions, type Received } from "./nats/nats_peer.ts";
import { nodeOf } from "./nats/subjects.ts";

/** A call as the caller states the call. */
export type Request = Call extends infer One ? One extends Call ? Omit<One, "caller" | "call"> : never
  : never;

/** Last reply to a call. */
export interface Answer {
  readonly reply: CallReply;
  readonly parts: readonly Uint8Array[];
}

/** Sends a message about a call that runs. */
export type SendControl = (control: ControlOf, parts?: readonly Uint8Array[]) => Promise<void>;
type ControlOf = Exclude<Control, { op: "disown" | "go" }> extends infer One
  ? One extends Control ? Omit<One, "caller" | "call"> : never
  : never;

/** Options of {@linkcode Caller.call}. */
export interface CallOptions {
  readonly parts?: readonly Uint8Array[] | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Receives replies before the last reply. */
  readonly onEvent?: ((reply: CallReply, send: SendControl) => void) | undefined;
}

interface SendOptions extends CallOptions {
  /** Node that is called. Without a node, the call is for any free slot. */
  readonly node?: string | undefined;
  /** Called when a node has taken the call and the caller has confirmed. */
  readonly onGiven?: (() => void) | undefined;
}

interface Pending {
  /** Node that has the call; `undefined` until this caller has given the call to a node. */
  node: string | undefined;
  readonly fail: (error: Error) => void;
}

const CALLER_BEAT_MS = 1_000;
/**
 * Milliseconds within which a slot that has taken a call must have opened a session. An interpreter is started already.
 */
const OPEN_MS = 5_000;
/**
 * Milliseconds within which a node must report that it has taken a call. Otherwise the caller gives this attempt up and
 * sends the call again: the node is lost or slow, or no slot is free and NATS does not report so, because another user
 * of the account receives the calls, too.
 */
const TAKE_MS = 700;
/** Milliseconds until the end of a session is sent again, and how often. */
const END_RETRY_MS = 2_000;
const END_ATTEMPTS = 5;
const LAST_KINDS: ReadonlySet<string> = new Set(["opened", "result", "done", "bytes", "error"]);

/** A member of a cluster that calls nodes. */
export class Caller implements AsyncDisposable {
  readonly peer: NatsPeer;
  /** Returns the number of this caller's calls that wait for a free slot. Heartbeats carry the number. */
  countWaiting: () => number = () => 0;
  readonly #pending = new Set<Pending>();
  /** Sessions that were opened and not used yet. */
  readonly #unconfirmed = new Map<string, { owner: string }>();
  readonly #ending = new Set<Promise<unknown>>();
  readonly #beat: ReturnType<typeof setInterval>;
  #directory: NodeDirectory | undefined;

  private constructor(peer: NatsPeer) {
    this.peer = peer;
    peer.onConnection((isConnected) => {
      if (!isConnected) this.#fail(() => true, "the connection to NATS broke");
    });
    peer.onStray((call, received) => this.#disown(call, received));
    this.#beat = setInterval(() => this.#sendBeat(), CALLER_BEAT_MS);
    this.#sendBeat();
  }

  /**
   * Joins a cluster.
   *
   * @throws {SandboxError} if NATS cannot be reached, refuses the credentials or lacks JetStream.
   */
  static async connect(options: PeerOptions, name: string): Promise<Caller> {
    const peer = await NatsPeer.connect(options, name);
    const caller = new Caller(peer);
    try {
      caller.#directory = await NodeDirectory.open(
        peer,
        (node) => caller.#fail((pending) => pending.node === node, "its node stopped or cannot be reached"),
      );
      return caller;
    } catch (error) {
      await caller[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The nodes that are alive. */
  get directory(): NodeDirectory {
    if (this.#directory === undefined) throw new TypeError("the caller has not joined the cluster");
    return this.#directory;
  }

  /**
   * Opens a session in any free slot of a profile. Returns the id of the session.
   *
   * @throws {NoReceiverError} if no slot is free.
   */
  async open(
    profile: string,
    request: Omit<Extract<Request, { op: "open" }>, "op">,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<string> {
    const { answer } = await this.#start(profile, { op: "open", ...request }, { signal });
    using late = new Deadline(OPEN_MS, { signal });
    try {
      const { reply } = await abortable(answer, late.signal);
      if (reply.kind !== "opened") throw unexpected(reply);
      this.#unconfirmed.set(reply.session, { owner: request.owner });
      return reply.session;
    } catch (error) {
      // A session that comes too late is ended.
      answer.then(async ({ reply }) => {
        if (reply.kind === "opened") await this.end(reply.session, request.owner);
      }, () => {});
      if (late.isExpired && !signal?.aborted) {
        throw new NoReceiverError(`no node answered within ${OPEN_MS} ms`);
      }
      throw error;
    }
  }

  /**
   * Runs one program in any free slot of a profile. Resolves when a node has taken the program; `answer` is the result.
   *
   * @throws {NoReceiverError} if no slot is free.
   */
  async run(
    profile: string,
    request: Omit<Extract<Request, { op: "run" }>, "op">,
    options: CallOptions,
  ): Promise<{ readonly answer: Promise<Answer> }> {
    return await this.#start(profile, { op: "run", ...request }, options);
  }

  /**
   * Calls the node of a session.
   *
   * @throws {SandboxLostError} if the node stops or cannot be reached.
   * @throws the error of the call.
   */
  async callSession(
    request: Extract<Request, { session: string }>,
    options: CallOptions = {},
  ): Promise<Answer> {
    this.#unconfirmed.delete(request.session);
    return await this.callNode(nodeOf(request.session), request, options);
  }

  /**
   * Continues a session on a node from its last checkpoint.
   *
   * @throws {NoReceiverError} if the node is draining.
   * @throws {SandboxLostError} if the node stops or cannot be reached.
   */
  async resume(
    node: string,
    request: Omit<Extract<Request, { op: "resume" }>, "op">,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<CallReply & { kind: "opened" }> {
    const { reply } = await this.callNode(node, { op: "resume", ...request }, { signal });
    if (reply.kind !== "opened") throw unexpected(reply);
    this.#unconfirmed.set(reply.session, { owner: request.owner });
    return reply;
  }

  /**
   * Calls a node.
   *
   * @throws {NotDoneError} if the node has received nothing, as the node stopped before or cannot be reached.
   * @throws {SandboxLostError} if the node stops or cannot be reached.
   * @throws the error of the call.
   */
  async callNode(node: string, request: Request, options: CallOptions = {}): Promise<Answer> {
    options.signal?.throwIfAborted();
    if (!this.peer.isConnected || this.directory.find(node) === undefined) {
      throw new NotDoneError("Cannot use session as its node stopped or cannot be reached");
    }
    try {
      return await this.#send(this.peer.subjects.node(node), request, { ...options, node });
    } catch (error) {
      if (!(error instanceof NoReceiverError) || request.op === "resume") throw error;
      throw new NotDoneError("Cannot use session as its node has stopped", { cause: error });
    }
  }

  /**
   * Ends a session, and tries again while the node may have the session. Returns false if the session goes on, as
   * another caller has used the session since.
   */
  end(session: string, owner: string): Promise<boolean> {
    this.#unconfirmed.delete(session);
    const ending = this.#end(session, owner);
    this.#ending.add(ending);
    ending.finally(() => this.#ending.delete(ending));
    return ending;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const limit = new Promise<void>((resolve) =>
      setTimeout(resolve, this.#ending.size > 0 ? END_RETRY_MS : 0)
    );
    await Promise.race([Promise.all(this.#ending), limit]);
    clearInterval(this.#beat);
    this.#directory?.[Symbol.dispose]();
    this.#fail(() => true, "the pool is disposed");
    await this.peer[Symbol.asyncDispose]();
  }

  /** Confirms that this caller has a session, and is the last that has used it. */
  keep(session: string, owner: string): void {
    const keep = { op: "keep", session, owner, caller: this.peer.id, call: "0" } satisfies Call;
    this.peer.post(this.peer.subjects.node(nodeOf(session)), keep);
  }

  /**
   * Sends a call to any free slot. Resolves when a node has taken the call and the caller has confirmed. If the promise
   * rejects, no node was given the call, and no node begins the call.
   */
  async #start(
    profile: string,
    request: Extract<Request, { op: "open" | "run" }>,
    { parts, signal, onEvent }: CallOptions,
  ): Promise<{ readonly answer: Promise<Answer> }> {
    if (!this.peer.isConnected) throw new NoReceiverError("there is no connection to NATS");
    const given = Promise.withResolvers<void>();
    const stop = new AbortController();
    const answer = this.#send(this.peer.subjects.work(profile), request, {
      parts,
      signal: signal ? AbortSignal.any([signal, stop.signal]) : stop.signal,
      onEvent,
      onGiven: given.resolve,
    });
    answer.catch(() => {}); // the code below or the caller reports the error
    using late = new Deadline(TAKE_MS, { signal });
    try {
      await abortable(Promise.race([given.promise, answer]), late.signal);
      return { answer };
    } catch (error) {
      if (!late.isExpired || signal?.aborted) throw error;
      stop.abort(error);
      throw new UnansweredError(`no node answered within ${TAKE_MS} ms`);
    }
  }

  /**
   * Ends what a node does for a call that this caller does not wait for: the call was given up, or sent by a stranger.
   */
  #disown(call: string, { head, sender }: Received): void {
    const parsed = callReplySchema.safeParse(head);
    if (!parsed.success) return;
    const from = { caller: this.peer.id, call };
    const node = this.peer.subjects.node(sender);
    const { data } = parsed;
    if (data.kind === "taken") this.peer.post(node, { op: "abort", ...from } satisfies Control);
    else if (data.kind === "opened") {
      this.peer.post(node, { op: "disown", ...from, session: data.session } satisfies Control);
    }
  }

  async #send(
    subject: string,
    request: Request,
    { parts, signal, onEvent, onGiven, node }: SendOptions,
  ): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    promise.catch(() => {}); // a send that fails is reported first
    let hasEnded = false;
    const fail = (error: Error) => {
      hasEnded = true;
      reject(error);
    };
    const pending: Pending = { node, fail };
    using inbox = this.peer.openInbox((received) => {
      if (received === undefined) {
        if (onGiven && pending.node !== undefined) return; // a stranger has sent the notice: a node has the call
        return fail(new NoReceiverError("no member of the cluster received the call"));
      }
      // A node that takes an attempt late, or gets the attempt from a stranger, must not begin.
      const isOther = pending.node !== undefined && received.sender !== pending.node;
      if (hasEnded || signal?.aborted || isOther) return this.#disown(inbox.token, received);
      const parsed = callReplySchema.safeParse(received.head);
      if (!parsed.success) {
        return fail(new SandboxError("The node sent an invalid reply", { cause: parsed.error }));
      }
      const { data } = parsed;
      if (data.kind === "taken" && pending.node === undefined) {
        pending.node = received.sender;
        this.peer.post(subjectOf(), { op: "go", ...from } satisfies Control);
        onGiven?.();
      } else if (LAST_KINDS.has(data.kind)) {
        hasEnded = true;
        resolve({ reply: data, parts: received.parts });
      } else onEvent?.(data, send);
    });
    const from = { caller: this.peer.id, call: inbox.token };
    const subjectOf = () => pending.node === undefined ? subject : this.peer.subjects.node(pending.node);
    const send: SendControl = async (control, parts) => {
      await this.peer.send(subjectOf(), encodeMessage({ ...control, ...from }, parts), { signal });
    };
    this.#pending.add(pending);
    try {
      const reply = this.peer.subjects.inbox(this.peer.id, inbox.token);
      const message = encodeMessage({ ...request, ...from }, parts);
      await this.peer.send(subject, message, { reply, owner: request.owner, signal });
      const answer = await abortable(promise, signal);
      if (answer.reply.kind === "error") throw fromErrorReply(answer.reply);
      return answer;
    } catch (error) {
      if (signal?.aborted && pending.node !== undefined) {
        this.peer.post(subjectOf(), { op: "abort", ...from });
      }
      throw error;
    } finally {
      this.#pending.delete(pending);
    }
  }

  async #end(session: string, owner: string): Promise<boolean> {
    for (let attempt = 0; attempt < END_ATTEMPTS; attempt++) {
      try {
        const signal = AbortSignal.timeout(END_RETRY_MS);
        await this.callNode(nodeOf(session), { op: "end", session, owner }, { signal });
        return true;
      } catch (error) {
        if (error instanceof SessionInUseError) return false;
        if (error instanceof SandboxLostError && this.peer.isConnected) return true; // the node ends the session by itself
        await new Promise((resolve) => setTimeout(resolve, END_RETRY_MS));
      }
    }
    return true; // the node ends the session when the caller is missing
  }

  #fail(isConcerned: (pending: Pending) => boolean, reason: string): void {
    for (const pending of this.#pending) {
      if (isConcerned(pending)) pending.fail(new SandboxLostError(`Cannot finish call as ${reason}`));
    }
  }

  #sendBeat(): void {
    const { id, epoch, subjects } = this.peer;
    const waiting = this.countWaiting();
    this.peer.post(subjects.callerBeat(id), { id, epoch, waiting } satisfies CallerBeat);
    for (const [session, { owner }] of this.#unconfirmed) this.keep(session, owner);
    this.#unconfirmed.clear();
  }
}

/** Returns the error of a reply of another kind than the call has. */
export function unexpected({ kind }: CallReply): SandboxError {
  return new SandboxError(`The node sent an unexpected reply: '${kind}'`);
}
