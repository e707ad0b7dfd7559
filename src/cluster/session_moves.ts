import { delay } from "@std/async";
import { Deadline } from "../async/abort.ts";
import { PoolFullError, SandboxLostError, SessionClosedError } from "../errors.ts";
import type { CheckpointEvery, RestoredFrom } from "../sandbox/contract/checkpoint.ts";
import type { ExecOutcome } from "../sandbox/contract/exec.ts";
import { NoReceiverError } from "./call_codec.ts";
import type { CallReply } from "./calls.ts";
import type { Caller } from "./caller.ts";
import type { NodeHome } from "./nodes_bucket.ts";
import { chooseNode } from "./placement.ts";
import type { SharedEntry, SharedRecord, SharedSessionsBucket } from "./shared_sessions.ts";

/** Options of {@linkcode SessionMoves}. */
export interface SessionMovesOptions {
  readonly caller: Caller;
  readonly id: string;
  readonly owner: string;
  /** Node that has the session first. */
  readonly home: NodeHome;
  readonly seed?: number | undefined;
  /** When the session takes checkpoints; without checkpoints, the session cannot move. */
  readonly every?: CheckpointEvery | undefined;
  /** Place at which other callers find the session, and the id there. */
  readonly shared?: { readonly sessions: SharedSessionsBucket; readonly id: string } | undefined;
}

/** Milliseconds within which a node must have a slot for a session that continues. */
const RESUME_MS = 60_000;
/** Milliseconds between two looks at the nodes, when none can have the session. */
const LOOK_MS = 100;

/** Calls that change a session. */
const CHANGES: ReadonlySet<string> = new Set(["exec", "shell", "write"]);

/** The way of a session from node to node, and what each loss of a node has taken from the session. */
export class SessionMoves {
  readonly #options: SessionMovesOptions;
  #id: string;
  /** Seed of the state at the start. */
  #seed: number | undefined;
  /** Calls that have ended and may have changed the state, since the session began, was reset or was restored. */
  #calls = 0;
  #restoredFrom: RestoredFrom | undefined;
  #isFresh = false;
  #shared: { readonly sessions: SharedSessionsBucket; readonly id: string } | undefined;

  constructor(options: SessionMovesOptions) {
    this.#options = options;
    this.#id = options.id;
    this.#seed = options.seed;
    this.#shared = options.shared;
  }

  /** Id on the present node. */
  get id(): string {
    return this.#id;
  }

  /** True if other callers can use the session. */
  get isShared(): boolean {
    return this.#shared !== undefined;
  }

  /**
   * Lets other callers find the session. Returns the id, which stays the same on every node.
   *
   * @throws {SandboxError} if NATS or the node cannot be reached, or the settings are too large.
   */
  async share(sessions: SharedSessionsBucket, settings: unknown): Promise<string> {
    const { caller, owner, every, home: { profile, image, key } } = this.#options;
    const home = { profile, image, key };
    const session = this.#id;
    await caller.callSession({ op: "share", session, owner });
    await sessions.put(session, { owner, session, home, seed: this.#seed, every, settings });
    this.#shared = { sessions, id: session };
    return session;
  }

  /**
   * Makes this caller the last user of the session.
   *
   * @throws {SessionClosedError} if the session has ended.
   */
  async claim(): Promise<void> {
    const entry = await this.#readEntry();
    if (entry && entry.record.session !== this.#id) this.#follow(entry.record);
    this.#options.caller.keep(this.#id, this.#options.owner);
  }

  /** Ends the session, unless another caller has used the session since. */
  async end(): Promise<void> {
    const { caller, owner } = this.#options;
    const entry = await this.#readEntry().catch(() => undefined); // the session has ended, or NATS is away
    if (entry && entry.record.session !== this.#id) return;
    if (await caller.end(this.#id, owner)) await this.#forget();
  }

  /** Removes the session from those that other callers find. */
  async #forget(): Promise<void> {
    await this.#shared?.sessions.delete(this.#shared.id);
  }

  /** Notes a call that has ended. */
  async count(
    request: { op: string; then?: string | undefined; seed?: number | undefined },
  ): Promise<void> {
    const { op, then, seed } = request;
    if (CHANGES.has(op) && then === undefined) {
      this.#calls++;
      return;
    }
    if (op !== "reset" && op !== "restore" && then === undefined) return;
    this.#calls = 0;
    const earlierSeed = this.#seed;
    this.#seed = op === "reset" ? seed : undefined;
    this.#restoredFrom = undefined;
    this.#isFresh = false;
    if (this.#shared && this.#seed !== earlierSeed) await this.#shareSeed(this.#shared);
  }

  /**
   * Continues the session on another node, or where another caller has continued the session.
   *
   * @throws {SandboxLostError} `lost`, if the session has no checkpoints.
   * @throws {SessionClosedError} if another caller has ended the session.
   * @throws {PoolFullError} if no node has room for the session.
   */
  async move(lost: SandboxLostError, signal: AbortSignal | undefined): Promise<void> {
    const { caller, owner, home, every } = this.#options;
    const entry = await this.#readEntry();
    if (entry && entry.record.session !== this.#id) return this.#follow(entry.record);
    if (every === undefined) {
      await this.#forget();
      throw lost;
    }
    const earlier = this.#id;
    const { session, restored } = await resumeSession(caller, {
      session: earlier,
      owner,
      every,
      seed: entry ? entry.record.seed : this.#seed,
      shared: this.isShared,
      home,
      signal,
    });
    if (entry && !await this.#replace(entry, { session })) {
      caller.end(session, owner); // another caller was faster
      return this.#follow((await this.#readEntry())?.record ?? entry.record);
    }
    this.#id = session;
    caller.end(earlier, owner); // the node may only have been out of reach
    this.#isFresh = restored === undefined;
    this.#restoredFrom = restored && {
      lostCalls: (this.#restoredFrom?.lostCalls ?? 0) + Math.max(0, this.#calls - restored.calls),
      ageMs: Math.max(0, Date.now() - restored.takenAt),
    };
    this.#calls = restored?.calls ?? 0;
  }

  /** Uses the session where another caller has continued the session; that caller reports what was lost. */
  #follow({ session, seed }: SharedRecord): void {
    this.#id = session;
    this.#seed = seed;
    this.#calls = 0;
    this.#restoredFrom = undefined;
    this.#isFresh = false;
  }

  async #readEntry(): Promise<SharedEntry | undefined> {
    if (this.#shared === undefined) return undefined;
    const { sessions, id } = this.#shared;
    const entry = await sessions.read(id, this.#options.owner);
    if (entry) return entry;
    throw new SessionClosedError("Cannot use session as it has ended");
  }

  /** Returns false if another caller has changed the entry since. */
  async #replace(entry: SharedEntry, change: Partial<SharedRecord>): Promise<boolean> {
    if (this.#shared === undefined) return true;
    const { sessions, id } = this.#shared;
    return await sessions.replace(id, { ...entry, record: { ...entry.record, ...change } });
  }

  async #shareSeed({ sessions, id }: { sessions: SharedSessionsBucket; id: string }): Promise<void> {
    const entry = await sessions.read(id, this.#options.owner);
    if (entry) await this.#replace(entry, { seed: this.#seed });
  }

  /** Adds to a result what was lost before the result, and what no result has reported yet. */
  report<Result extends Pick<ExecOutcome, "restarted" | "restoredFrom">>(result: Result): Result {
    if (this.#restoredFrom) result.restoredFrom ??= this.#restoredFrom;
    if (this.#isFresh) result.restarted ??= true;
    this.#restoredFrom = undefined;
    this.#isFresh = false;
    return result;
  }
}

/** Options of {@linkcode resumeSession}. */
interface ResumeOptions {
  /** Session that was lost. */
  readonly session: string;
  readonly owner: string;
  readonly every: CheckpointEvery;
  /** Seed of the session's start, if there is no checkpoint yet. */
  readonly seed?: number | undefined;
  /** True if other callers can use the session. */
  readonly shared: boolean;
  /** Node that had the session. */
  readonly home: NodeHome;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Continues a session on another node, or on the same node. Waits for a slot there, before new sessions.
 *
 * @throws {PoolFullError} if no node had a slot in time. The caller can try again.
 * @throws the reason of `signal` if it aborts.
 */
async function resumeSession(
  caller: Caller,
  { session, owner, every, seed, shared, home, signal }: ResumeOptions,
): Promise<CallReply & { kind: "opened" }> {
  const request = { session, owner, every, ...(seed !== undefined && { seed }), ...(shared && { shared }) };
  const tried = new Set<string>();
  using deadline = new Deadline(RESUME_MS, { signal, reason: () => noNode(caller, home) });
  for (;;) {
    deadline.signal.throwIfAborted();
    const nodes = caller.directory.ofProfile(home.profile.name);
    const node = caller.peer.isConnected && chooseNode(nodes, { home, tried, random: Math.random() });
    if (!node) {
      tried.clear();
      await delay(LOOK_MS, { signal: deadline.signal });
      continue;
    }
    try {
      return await caller.resume(node.id, request, { signal: deadline.signal });
    } catch (error) {
      if (!(error instanceof SandboxLostError || error instanceof NoReceiverError)) throw error;
      tried.add(node.id);
    }
  }
}

function noNode(caller: Caller, { profile, image, key }: ResumeOptions["home"]): PoolFullError {
  const nodes = caller.directory.ofProfile(profile.name);
  const same = nodes.filter((node) =>
    node.image === image && node.key === key && node.profile.sha256 === profile.sha256
  );
  const state = same.length > 0
    ? `${same.length} nodes had no free session for ${RESUME_MS / 1000} s`
    : `none of ${nodes.length} nodes of profile '${profile.name}' has its base image and its key of checkpoints`;
  return new PoolFullError(`Cannot continue session on another node: ${state}`, { retryAfterMs: 1_000 });
}
