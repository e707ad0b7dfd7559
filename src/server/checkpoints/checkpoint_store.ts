import { MAX_TIMER_MS } from "../../async/abort.ts";
import { CheckpointError } from "../../errors.ts";
import type { CheckpointMemory, StateMemory } from "../../sandbox/checkpoint/state_memory.ts";
import type { Checkpoint } from "../../sandbox/contract/checkpoint.ts";
import { Budget, type Room } from "../admission/budget.ts";
import { ServerError } from "../http/http_errors.ts";
import { CHECKPOINT_BYTES, CHECKPOINT_LIFE_MS, MAX_CHECKPOINTS } from "../limits.ts";

/** Options of {@linkcode CheckpointStore}. */
export interface CheckpointStoreOptions {
  /**
   * Size of all checkpoints together, in bytes.
   *
   * @default 1 GiB
   */
  readonly bytes?: number | undefined;
  /**
   * Number of all checkpoints.
   *
   * @default 10_000
   */
  readonly count?: number | undefined;
  /**
   * Number of owners. Half of the bytes and of the number is divided among them and reserved.
   *
   * @default 1
   */
  readonly owners?: number | undefined;
  /**
   * Milliseconds without use after which a checkpoint is deleted; `Infinity` keeps the checkpoint.
   *
   * @default 86_400_000
   */
  readonly lifeMs?: number | undefined;
  /**
   * Advice for an owner without room, for messages.
   *
   * @default deletes checkpoints, or starts the server with more checkpoint memory
   */
  readonly advice?: string | undefined;
}

const ADVICE = "delete checkpoints that you do not need, or start the server with more checkpoint memory";

/** A checkpoint of an owner, as the store lists it. */
export interface StoredCheckpoint {
  /** SHA-256 of the contents. */
  readonly id: string;
  readonly bytes: number;
  readonly tools: readonly string[];
  readonly createdAt: Date;
  /** Time of the last use. */
  readonly usedAt: Date;
  /** Time at which the checkpoint is deleted unless a use comes before. */
  readonly expiresAt: Date;
}

/**
 * A checkpoint that is used. The use takes a part of the owner's room until disposed, also if the checkpoint is
 * deleted before.
 */
export interface HeldCheckpoint extends Disposable {
  readonly checkpoint: Checkpoint;
}

interface Entry {
  readonly owner: string;
  readonly checkpoint: Checkpoint;
  readonly room: Room;
  readonly createdAt: Date;
  /** For display only: the clock of the host may jump. */
  usedAt: Date;
  usedMs: number;
  /** Number of current uses, and 1 more while listed. The room is free at 0. */
  holders: number;
}

/** Memory of an entry beside the bytes. */
const ENTRY_BYTES = 2048;

/**
 * Checkpoints of the owners of a server, by owner and id. Their bytes and their number are limited, and each owner has
 * a reserved share. A checkpoint is deleted by the owner, or when unused for its life, and never evicted: without
 * room, a further checkpoint is refused.
 */
export class CheckpointStore implements Disposable {
  readonly #lifeMs: number;
  readonly #bytes: Budget;
  readonly #count: Budget;
  /** Entries by owner and id, least recently used first. */
  readonly #entries = new Map<string, Entry>();
  #expiry: ReturnType<typeof setTimeout> | undefined;

  constructor(options: CheckpointStoreOptions = {}) {
    const { bytes = CHECKPOINT_BYTES, count = MAX_CHECKPOINTS, owners } = options;
    const { lifeMs = CHECKPOINT_LIFE_MS, advice = ADVICE } = options;
    this.#bytes = new Budget({ total: bytes, owners, unit: "bytes of checkpoints", advice });
    this.#count = new Budget({ total: count, owners, unit: "checkpoints", advice });
    this.#lifeMs = lifeMs;
  }

  /** Returns the number of checkpoints of an owner, or of all. */
  count(owner?: string): number {
    return this.#count.used(owner);
  }

  /** Returns the bytes of the checkpoints of an owner, or of all. */
  bytes(owner?: string): number {
    return this.#bytes.used(owner);
  }

  /**
   * Returns the room of the checkpoints that a session of an owner takes by itself. Their bytes count as bytes of the
   * owner's other checkpoints.
   *
   * @param states memory of states while they are captured
   */
  recoveryMemory(owner: string, states: StateMemory): CheckpointMemory {
    const budget = this.#bytes;
    const lease = budget.take(owner, 0);
    let taken = 0;
    return {
      get availableBytes() {
        return taken + budget.available(owner);
      },
      resize(bytes) {
        lease.resize(bytes);
        taken = bytes;
      },
      states: { reserve: (bytes, signal) => states.reserve(bytes, signal).catch(refuseCapture) },
    };
  }

  /**
   * Checks that an owner may have a further checkpoint, so that no checkpoint is made in vain.
   *
   * @throws {ServerError} `conflict` if there is no room.
   */
  requireRoom(owner: string): void {
    using _room = this.#take(owner, 0);
  }

  /**
   * Keeps a checkpoint of an owner. Equal ones are kept once.
   *
   * @throws {ServerError} `conflict` if there is no room, `too_large` if there never is.
   */
  put(owner: string, checkpoint: Checkpoint): StoredCheckpoint {
    const found = this.#entries.get(entryKey(owner, checkpoint.id));
    const entry = found ?? {
      owner,
      checkpoint,
      room: this.#take(owner, checkpoint.storedBytes),
      createdAt: new Date(),
      usedAt: new Date(),
      usedMs: performance.now(),
      holders: 1,
    };
    this.#touch(entry);
    return this.#describe(entry);
  }

  /**
   * Takes the room of a checkpoint that the store does not have, until the returned object is disposed.
   *
   * @throws {ServerError} `conflict` if there is no room, `too_large` if there never is.
   */
  reserve(owner: string, { storedBytes }: Checkpoint): Disposable {
    return this.#take(owner, storedBytes);
  }

  /**
   * Returns a checkpoint for a use, which becomes the last use. Checkpoints of other owners are reported as not found.
   *
   * @throws {ServerError} `not_found`.
   */
  hold(owner: string, id: string): HeldCheckpoint {
    const entry = this.#entries.get(entryKey(owner, id));
    if (!entry) throw notFound();
    this.#touch(entry);
    entry.holders++;
    let isHeld = true;
    return {
      checkpoint: entry.checkpoint,
      [Symbol.dispose]: () => {
        if (isHeld) this.#release(entry);
        isHeld = false;
      },
    };
  }

  /** Returns the checkpoints of an owner, least recently used first. */
  list(owner: string): StoredCheckpoint[] {
    return this.#entries.values().filter((entry) => entry.owner === owner)
      .map((entry) => this.#describe(entry)).toArray();
  }

  /**
   * Deletes a checkpoint.
   *
   * @throws {ServerError} `not_found`.
   */
  delete(owner: string, id: string): void {
    const entry = this.#entries.get(entryKey(owner, id));
    if (!entry) throw notFound();
    this.#drop(entry);
  }

  /** Deletes all checkpoints. */
  [Symbol.dispose](): void {
    clearTimeout(this.#expiry);
    for (const entry of [...this.#entries.values()]) this.#drop(entry);
  }

  /** Takes the room of a checkpoint. A full budget is a conflict: waiting gives no room, as nothing is evicted. */
  #take(owner: string, bytes: number): Room {
    try {
      return Budget.takeAll(owner, [[this.#count, 1], [this.#bytes, ENTRY_BYTES + bytes]]);
    } catch (error) {
      if (!(error instanceof ServerError) || error.code !== "busy") throw error;
      throw new ServerError("conflict", error.message, { cause: error });
    }
  }

  /** Makes an entry the last used entry. */
  #touch(entry: Entry): void {
    const key = entryKey(entry.owner, entry.checkpoint.id);
    entry.usedAt = new Date();
    entry.usedMs = performance.now();
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    this.#expiry ??= this.#awaitExpiry();
  }

  /** Deletes the entries whose life is over, when the life of the oldest entry is. */
  #awaitExpiry(): ReturnType<typeof setTimeout> | undefined {
    const [oldest] = this.#entries.values();
    if (!oldest) return undefined;
    const waitMs = oldest.usedMs + this.#lifeMs - performance.now();
    const timer = setTimeout(() => {
      const now = performance.now();
      for (const entry of this.#entries.values()) {
        if (entry.usedMs + this.#lifeMs > now) break;
        this.#drop(entry);
      }
      this.#expiry = this.#awaitExpiry();
    }, Math.min(Math.max(0, waitMs), MAX_TIMER_MS));
    Deno.unrefTimer(timer);
    return timer;
  }

  #drop(entry: Entry): void {
    this.#entries.delete(entryKey(entry.owner, entry.checkpoint.id));
    this.#release(entry);
  }

  #release(entry: Entry): void {
    if (--entry.holders === 0) entry.room[Symbol.dispose]();
  }

  #describe({ checkpoint, createdAt, usedAt }: Entry): StoredCheckpoint {
    const { id, storedBytes: bytes, tools } = checkpoint;
    const expiresAt = new Date(usedAt.getTime() + this.#lifeMs);
    return { id, bytes, tools, createdAt, usedAt, expiresAt };
  }
}

/** Throws the error of a state for which there is no room, so that a session keeps the earlier checkpoint. */
function refuseCapture(error: unknown): never {
  if (!(error instanceof ServerError)) throw error;
  throw new CheckpointError(error.message, { code: "checkpoint_refused", cause: error });
}

function entryKey(owner: string, id: string): string {
  return JSON.stringify([owner, id]);
}

function notFound(): ServerError {
  return new ServerError("not_found", "There is no such checkpoint");
}
