import { delay } from "@std/async";
import { Deadline } from "../async/abort.ts";
import { PoolFullError, SandboxLostError } from "../errors.ts";
import type { CheckpointEvery, ExecOutcome, RestoredFrom } from "../sandbox/exec.ts";
import { NoReceiverError } from "./call_codec.ts";
import type { Reply } from "./calls.ts";
import type { Caller } from "./caller.ts";
import type { NodeProperties } from "./nodes_bucket.ts";
import { chooseNode, type SessionHome } from "./placement.ts";

/** Options of {@linkcode SessionMoves}. */
export interface SessionMovesOptions {
  readonly caller: Caller;
  readonly id: string;
  readonly owner: string;
  /** Node that has it first. */
  readonly home: NodeProperties;
  readonly seed?: number | undefined;
  /** When it takes checkpoints; without it, it cannot move. */
  readonly every?: CheckpointEvery | undefined;
}

/** Milliseconds within which a node must have a slot for a session that continues. */
const RESUME_MS = 60_000;
/** Milliseconds between two looks at the nodes, when none can have the session. */
const LOOK_MS = 100;

/** Calls that change a session. */
const CHANGES: ReadonlySet<string> = new Set(["exec", "shell", "write"]);

/** The way of a session from node to node, and what each loss of a node has taken from it. */
export class SessionMoves {
  readonly #options: SessionMovesOptions;
  #id: string;
  /** Seed of the state at the start. */
  #seed: number | undefined;
  /** Calls that have ended and may have changed the state, since the session began, was reset or was restored. */
  #calls = 0;
  #restoredFrom: RestoredFrom | undefined;
  #isFresh = false;

  constructor(options: SessionMovesOptions) {
    this.#options = options;
    this.#id = options.id;
    this.#seed = options.seed;
  }

  /** Id on its present node. */
  get id(): string {
    return this.#id;
  }

  /** Notes a call that has ended. */
  count(request: { op: string; then?: string | undefined; seed?: number | undefined }): void {
    const { op, then, seed } = request;
    if (CHANGES.has(op) && then === undefined) return void this.#calls++;
    if (op !== "reset" && op !== "restore" && then === undefined) return;
    this.#calls = 0;
    this.#seed = op === "reset" ? seed : undefined;
    this.#restoredFrom = undefined;
    this.#isFresh = false;
  }

  /**
   * Continues the session on another node.
   *
   * @throws {SandboxLostError} `lost`, if it has no checkpoints.
   * @throws {PoolFullError} if no node has room for it.
   */
  async move(lost: SandboxLostError, signal: AbortSignal | undefined): Promise<void> {
    const { caller, owner, home, every } = this.#options;
    if (every === undefined) throw lost;
    const earlier = this.#id;
    const { session, restored } = await resumeSession(caller, {
      session: earlier,
      owner,
      every,
      seed: this.#seed,
      home,
      signal,
    });
    this.#id = session;
    caller.end(earlier, owner); // its node may only have been out of reach
    this.#isFresh = restored === undefined;
    this.#restoredFrom = restored && {
      lostCalls: (this.#restoredFrom?.lostCalls ?? 0) + Math.max(0, this.#calls - restored.calls),
      ageMs: Math.max(0, Date.now() - restored.takenAt),
    };
    this.#calls = restored?.calls ?? 0;
  }

  /** Adds to a result what was lost before it, which no result has reported yet. */
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
  /** Seed of its start, if it has no checkpoint yet. */
  readonly seed?: number | undefined;
  /** Node that had it. */
  readonly home: SessionHome & { readonly profile: { readonly name: string } };
  readonly signal?: AbortSignal | undefined;
}

/**
 * Continues a session on another node, or on the same one. Waits for a slot there, before new sessions.
 *
 * @throws {PoolFullError} if no node had a slot for it in time. It can be tried again.
 * @throws the reason of `signal` if it aborts.
 */
async function resumeSession(
  caller: Caller,
  { session, owner, every, seed, home, signal }: ResumeOptions,
): Promise<Reply & { kind: "opened" }> {
  const request = { session, owner, every, ...(seed !== undefined && { seed }) };
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
