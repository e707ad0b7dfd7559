import * as z from "zod";
import { Deadline } from "../../async/abort.ts";
import { CheckpointError } from "../../errors.ts";
import type { BranchingPool } from "../../sandbox/contract/pool.ts";
import { ServerError } from "../../server/http/http_errors.ts";
import { MAX_SESSION_WAITING, MEMORY_PER_BYTE } from "../../server/limits.ts";
import { NoSlotError, NotDoneError, SessionInUseError, toErrorReply } from "../call_codec.ts";
import { type Call, type CallOf, type CallReply, callSchema, controlSchema } from "../calls.ts";
import { Callers } from "./callers.ts";
import { NodeCall } from "./node_call.ts";
import { NodeSession } from "./node_session.ts";
import { callerBeatSchema } from "../nodes_bucket.ts";
import { DamagedObjectError } from "../nats/object_bucket.ts";
import type { NatsPeer, Received } from "../nats/nats_peer.ts";
import { performSessionCall, type SessionCall } from "./session_calls.ts";
import type { SessionStates } from "./session_states.ts";
import type { SlotLease } from "./slot_offers.ts";
import { createSessionId } from "../nats/subjects.ts";

/** Options of {@linkcode NodeSessions}. */
export interface NodeSessionsOptions {
  readonly peer: NatsPeer;
  readonly pool: Pick<BranchingPool, "readCheckpoint">;
  readonly states: SessionStates;
  /** True if the pool rewinds sessions after a lease. */
  readonly rewinds: boolean;
  /** Leases a slot to a session of another node, which goes before new sessions. */
  readonly takeSlot: (signal: AbortSignal) => Promise<SlotLease>;
  /** Called when a member of the cluster drains the node. */
  readonly onDrain: () => void;
  /** Called with errors of the node, which callers never see. */
  readonly onError: (error: unknown) => void;
}

/** Milliseconds after which the checkpoint of a lost caller's session is deleted: the caller may come back. */
const ORPHAN_MS = 600_000;
/** Milliseconds that the session of another node waits for a slot, before the session may try the next node. */
const SLOT_WAIT_MS = 1_000;
/** Sessions of other nodes that may wait for a slot. */
const MAX_RESUMING = 1024;

const CONTROL_OPS: ReadonlySet<unknown> = new Set(["abort", "go", "credit", "answer", "disown"]);

/** The sessions of a node that callers of the cluster hold, and their calls. */
export class NodeSessions implements AsyncDisposable {
  readonly #options: NodeSessionsOptions;
  readonly #peer: NatsPeer;
  readonly #sessions = new Map<string, NodeSession>();
  readonly #calls = new Map<string, NodeCall>();
  readonly #callers = new Callers();
  readonly #drain = new AbortController();
  readonly #whenEmpty = Promise.withResolvers<void>();
  #resuming = 0;
  /** Number of messages that were refused as they were invalid. */
  invalid = 0;
  /** Number of programs and commands that were run. */
  execs = 0;

  constructor(options: NodeSessionsOptions) {
    this.#options = options;
    this.#peer = options.peer;
    options.peer.onConnection(() => this.#callers.renew());
  }

  /** Number of sessions. */
  get size(): number {
    return this.#sessions.size;
  }

  /** True if no new session begins. */
  get isDraining(): boolean {
    return this.#drain.signal.aborted;
  }

  /** Takes no new sessions, and stores those with checkpoints for other nodes. Resolves when none is left. */
  async drain(): Promise<void> {
    this.#drain.abort(new NoSlotError("the node is draining"));
    for (const session of this.#sessions.values()) {
      if (session.kept) session.move().catch(this.#options.onError);
    }
    if (this.#sessions.size === 0) this.#whenEmpty.resolve();
    await this.#whenEmpty.promise;
  }

  /** Opens a session for a message of the cluster, or runs a program in a session. Returns false if the message asks for
   * neither. */
  start(lease: SlotLease, { head, sender, parts, bytes }: Received): boolean {
    const parsed = callSchema.safeParse(head);
    if (
      !parsed.success || parsed.data.caller !== sender ||
      (parsed.data.op !== "open" && parsed.data.op !== "run")
    ) {
      this.invalid++;
      return false;
    }
    const call = parsed.data;
    if (this.isDraining) {
      new NodeCall(this.#peer, call).reply(toErrorReply(this.#drain.signal.reason));
      return false;
    }
    let isTaken = false;
    this.#serve(call, bytes, async (run) => {
      await run.claim(this.#drain.signal);
      isTaken = true;
      if (call.op === "open") await this.#open(call, { lease, run });
      else await this.#runOnce(call, { lease, parts, run });
    }).finally(() => isTaken || lease[Symbol.asyncDispose]()); // the owner has no room for the message, or the caller has given the message up
    return true;
  }

  /** Takes a message to the node. */
  receive({ head, sender, parts, bytes }: Received): void {
    if (CONTROL_OPS.has(head["op"])) {
      const control = controlSchema.safeParse(head);
      if (!control.success || control.data.caller !== sender) this.invalid++;
      else if (control.data.op === "disown") this.#endUnused(control.data);
      else this.#calls.get(keyOf(control.data))?.control(control.data, parts);
      return;
    }
    const call = callSchema.safeParse(head);
    if (
      !call.success || call.data.caller !== sender || call.data.op === "open" || call.data.op === "run" ||
      this.#calls.has(keyOf(call.data))
    ) {
      this.invalid++;
      return;
    }
    const { data } = call;
    this.#serve(data, bytes, (run) => this.#perform(data, { parts, run }));
  }

  /** Takes a heartbeat of a caller. */
  noteCaller({ head, sender }: Received): void {
    const beat = z.safeParse(callerBeatSchema, head);
    if (!beat.success || beat.data.id !== sender) return void this.invalid++;
    if (this.#callers.beat(beat.data)) this.#abortCalls(beat.data.id); // the caller has given up all calls
  }

  /** Ends what lost callers hold, and abandoned sessions. */
  sweep(): void {
    if (!this.#peer.isConnected) return;
    for (const session of this.#sessions.values()) {
      if (session.isAbandoned()) this.#end(session);
    }
    for (const id of this.#callers.takeLost()) {
      this.#abortCalls(id);
      for (const session of this.#sessions.values()) {
        if (session.caller === id) this.#loseCaller(session);
      }
    }
  }

  /** Ends all sessions at once. Their checkpoints remain. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#drain.abort(new NoSlotError("the node has stopped"));
    for (const call of this.#calls.values()) call.abort();
    await Promise.all([...this.#sessions.values()].map((session) => session[Symbol.asyncDispose]()));
  }

  /** Runs a call. The message takes memory of the owner until the call has ended. */
  async #serve(call: Call, bytes: number, work: (run: NodeCall) => Promise<void>): Promise<void> {
    const run = new NodeCall(this.#peer, call);
    const key = keyOf(call);
    this.#calls.set(key, run);
    this.#callers.note(call.caller);
    try {
      using _memory = this.#peer.memory.take(call.owner, MEMORY_PER_BYTE * bytes);
      await work(run);
    } catch (error) {
      const reply = toErrorReply(error);
      if (reply.code === "internal" || reply.code === "sandbox") this.#options.onError(error);
      await run.reply(reply);
    } finally {
      this.#calls.delete(key);
    }
  }

  async #perform(
    call: Exclude<Call, { op: "open" | "run" }>,
    { parts, run }: { parts: readonly Uint8Array[]; run: NodeCall },
  ): Promise<void> {
    if (call.op === "resume") return await this.#resume(call, run);
    if (call.op === "verify") {
      const { scope: owner } = call;
      await this.#options.pool.readCheckpoint(parts[0] ?? new Uint8Array(), { owner, signal: run.signal });
    } else if (call.op === "drain") this.#options.onDrain();
    else if (call.op === "end") await this.#endOf(call);
    else if (call.op === "keep") return this.#find(call).confirm();
    else if (call.op === "share") this.#find(call).share();
    else return await this.#use(call, { parts, run });
    await run.reply({ kind: "done" });
  }

  /** Performs a call that uses the interpreter of a session. */
  async #use(call: SessionCall, { parts, run }: { parts: readonly Uint8Array[]; run: NodeCall }) {
    const session = this.#find(call);
    await session.requireHere();
    if (session.users >= MAX_SESSION_WAITING) {
      throw new ServerError("busy", `${MAX_SESSION_WAITING} calls are waiting for the session`);
    }
    using _use = session.use();
    await performSessionCall(session, { call, parts, run, rewinds: this.#options.rewinds });
    if (call.op === "exec" || call.op === "shell") this.execs++;
  }

  #find(call: { session: string; caller: string; owner: string }): NodeSession {
    const session = this.#sessions.get(call.session);
    if (!session?.isOf(call)) throw new NotDoneError("There is no such session on the node");
    session.noteCaller(call.caller);
    return session;
  }

  async #open(
    call: CallOf<"open" | "resume">,
    { lease, run }: { lease: SlotLease; run: NodeCall },
  ): Promise<void> {
    const { seed } = call;
    await using stack = new AsyncDisposableStack();
    const session = this.#add(call, lease);
    stack.defer(() => this.#end(session));
    const restored = call.op === "resume" ? await this.#restore(session, { call, run }) : undefined;
    if (!restored && seed !== undefined) {
      await lease.session.reset({ mode: "rewind", seed, signal: run.signal });
    }
    run.signal.throwIfAborted();
    await run.reply({ kind: "opened", session: session.id, ...(restored && { restored }) });
    stack.move();
  }

  /** Runs a program in a separate session. */
  async #runOnce(
    call: CallOf<"run">,
    { lease, parts, run }: { lease: SlotLease; parts: readonly Uint8Array[]; run: NodeCall },
  ): Promise<void> {
    const { seed, ...exec } = call;
    await using session = this.#add({ ...exec, op: "open" }, lease);
    using _use = session.use();
    if (seed !== undefined) await lease.session.reset({ mode: "rewind", seed, signal: run.signal });
    const { rewinds } = this.#options;
    await performSessionCall(session, {
      call: { ...exec, op: "exec", session: session.id, last: true },
      parts,
      run,
      rewinds,
    });
    this.execs++;
  }

  #add(call: Omit<CallOf<"open">, "call"> | CallOf<"resume">, lease: SlotLease): NodeSession {
    const { caller, owner, every } = call;
    const { states } = this.#options;
    const id = createSessionId(this.#peer.id);
    const { recovery } = lease;
    const session = new NodeSession({
      id,
      lease,
      caller,
      owner,
      kept: every === undefined
        ? undefined
        : recovery && states.keep({ session: id, owner, every, recovery }),
      onConfirm: () => {
        if (call.op === "resume") states.delete(call.session);
      },
      onEnd: () => {
        this.#sessions.delete(id);
        if (this.isDraining && this.#sessions.size === 0) this.#whenEmpty.resolve();
      },
    });
    if (call.op === "resume" && call.shared) session.share();
    this.#sessions.set(id, session);
    return session;
  }

  /** Continues a session that another node had. The session has a slot before the state is read. */
  async #resume(call: CallOf<"resume">, run: NodeCall): Promise<void> {
    this.#drain.signal.throwIfAborted();
    if (this.#resuming >= MAX_RESUMING) throw new ServerError("busy", "too many sessions wait for a slot");
    this.#resuming++;
    try {
      using wait = new Deadline(SLOT_WAIT_MS, {
        signal: AbortSignal.any([this.#drain.signal, run.signal]),
        reason: () => new NoSlotError(`no slot was free within ${SLOT_WAIT_MS} ms`),
      });
      const lease = await this.#options.takeSlot(wait.signal);
      await this.#open(call, { lease, run });
    } finally {
      this.#resuming--;
    }
  }

  /** Restores the last checkpoint of a session. Returns `undefined` if there is none that may be restored here. */
  async #restore(
    session: NodeSession,
    { call, run: { signal } }: { call: CallOf<"resume">; run: NodeCall },
  ): Promise<(CallReply & { kind: "opened" })["restored"]> {
    const { owner } = call;
    try {
      const state = await this.#options.states.read(call.session, { owner, signal });
      if (state === undefined) return undefined;
      await session.lease.session.restore(state.checkpoint, { owner, signal });
      await session.kept?.adopt(state);
      return { calls: state.calls, takenAt: state.takenAt };
    } catch (error) {
      if (!(error instanceof CheckpointError || error instanceof DamagedObjectError)) throw error;
      this.#options.onError(error);
      return undefined;
    }
  }

  async #endOf(call: CallOf<"end">): Promise<void> {
    const session = this.#sessions.get(call.session);
    if (!session?.isOf(call)) return;
    if (session.caller !== call.caller) throw new SessionInUseError("Another caller uses the session");
    await this.#end(session);
  }

  #endUnused({ session: id, caller }: { session: string; caller: string }): void {
    const session = this.#sessions.get(id);
    if (session?.isUnusedBy(caller)) this.#end(session).catch(this.#options.onError);
  }

  async #end(session: NodeSession): Promise<void> {
    await session[Symbol.asyncDispose]();
    if (session.kept) await this.#options.states.delete(session.id);
  }

  async #loseCaller(session: NodeSession): Promise<void> {
    if (session.isShared) return session.orphan();
    await session[Symbol.asyncDispose]();
    if (!session.kept) return;
    Deno.unrefTimer(setTimeout(() => this.#options.states.delete(session.id), ORPHAN_MS));
  }

  #abortCalls(caller: string): void {
    for (const call of this.#calls.values()) {
      if (call.caller === caller) call.abort();
    }
  }
}

function keyOf({ caller, call }: { caller: string; call: string }): string {
  return `${caller} ${call}`;
}
