import type { SandboxLostError } from "../errors.ts";
import type { CheckpointEvery, ExecOutcome, RestoredFrom } from "../sandbox/exec.ts";
import type { Caller } from "./caller.ts";
import type { NodeProperties } from "./nodes_bucket.ts";
import { resumeSession } from "./resume.ts";

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
