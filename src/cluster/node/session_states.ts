import * as z from "zod";
import { SerialQueue } from "../../async/semaphore.ts";
import { SandboxError } from "../../errors.ts";
import { readCheckpoint } from "../../sandbox/checkpoint/checkpoint.ts";
import type { Checkpoint, CheckpointEvery, CheckpointMemory } from "../../sandbox/contract/checkpoint.ts";
import type { Recoverable } from "../../sandbox/lease.ts";
import { Budget, type BudgetLease } from "../../server/admission/budget.ts";
import { CHECKPOINT_BYTES, CHECKPOINT_LIFE_MS } from "../../server/limits.ts";
import { decodeMessage, encodeMessage, MAX_MESSAGE_BYTES } from "../nats/message.ts";
import { DamagedObjectError, ObjectBucket } from "../nats/object_bucket.ts";
import { type NatsPeer, OWNERS } from "../nats/nats_peer.ts";

/** When a checkpoint was taken. */
export interface StateTime {
  /** Calls that had ended before, since the session began, was reset or was restored. */
  readonly calls: number;
  /** Unix time in milliseconds. */
  readonly takenAt: number;
}

/** The last checkpoint of a session. */
export interface LastCheckpoint extends StateTime {
  readonly checkpoint: Checkpoint;
}

/** Options of {@linkcode SessionStates}. */
export interface SessionStatesOptions {
  readonly peer: NatsPeer;
  /**
   * Bytes of the checkpoints of this node, in the store and in memory.
   *
   * @default 1 GiB
   */
  readonly maxBytes?: number | undefined;
  /** Called with errors of checkpoints that were not stored. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** Size of an object: a checkpoint with the time, sealed. */
const MAX_OBJECT_BYTES = MAX_MESSAGE_BYTES + 1024;

const timeSchema: z.core.$ZodType<StateTime> = z.object({
  calls: z.int().nonnegative(),
  takenAt: z.int().nonnegative(),
});

/**
 * The checkpoints that sessions of a cluster take by themselves, in NATS' object store by the id of the session. A node
 * that restores a checkpoint checks the signature. The bytes of this node's sessions are bounded, and each owner has a
 * share.
 */
export class SessionStates {
  readonly #bucket: ObjectBucket;
  readonly #peer: NatsPeer;
  readonly #budget: Budget;
  readonly #onError: (error: unknown) => void;

  constructor({ peer, maxBytes = CHECKPOINT_BYTES, onError = () => {} }: SessionStatesOptions) {
    this.#peer = peer;
    this.#onError = onError;
    this.#budget = new Budget({
      total: maxBytes,
      owners: OWNERS,
      unit: "bytes of checkpoints",
      advice: "end sessions that you do not need, or raise --checkpoint-memory of the nodes",
    });
    const name = peer.subjects.statesBucket;
    this.#bucket = new ObjectBucket({ peer, name, maxBytes, ttlMs: CHECKPOINT_LIFE_MS });
  }

  /** Bytes of the checkpoints of this node. */
  get bytes(): number {
    return this.#budget.used();
  }

  /** Keeps the checkpoints of a session of this node. */
  keep(options: Omit<KeptStateOptions, "peer" | "bucket" | "budget" | "onError">): KeptState {
    return new KeptState({
      ...options,
      peer: this.#peer,
      bucket: this.#bucket,
      budget: this.#budget,
      onError: this.#onError,
    });
  }

  /**
   * Returns the last checkpoint of a session, or `undefined` if there is no checkpoint. The restore authenticates the
   * checkpoint.
   *
   * @throws {DamagedObjectError | CheckpointError} if the object is no checkpoint.
   * @throws {SandboxError} if NATS cannot be reached.
   */
  async read(
    session: string,
    { owner, signal }: { owner: string; signal: AbortSignal },
  ): Promise<LastCheckpoint | undefined> {
    const { subjects } = this.#peer;
    const name = subjects.entry(session);
    const found = await this.#bucket.get(name, {
      maxBytes: MAX_OBJECT_BYTES,
      reserve: (bytes) => this.#peer.memory.take(owner, bytes),
      signal,
    });
    if (found === undefined) return undefined;
    const opened = await this.#peer.openObject(subjects.statesBucket, name, found.bytes);
    if (opened === undefined) {
      throw new DamagedObjectError(
        "Cannot read checkpoint as no member of the cluster has stored it for this session",
      );
    }
    const { head, parts: [bytes] } = decodeMessage(opened);
    const time = z.safeParse(timeSchema, head);
    if (!time.success || bytes === undefined) {
      throw new DamagedObjectError("Cannot read checkpoint as its time is missing");
    }
    return { ...time.data, checkpoint: await readCheckpoint(bytes) };
  }

  /**
   * Deletes the checkpoint of a session that has ended. A checkpoint that stays disappears at the end of the bucket's
   * time.
   */
  async delete(session: string): Promise<void> {
    await this.#bucket.delete(this.#peer.subjects.entry(session)).catch(this.#onError);
  }
}

/** Options of {@linkcode KeptState}. */
export interface KeptStateOptions {
  readonly session: string;
  readonly owner: string;
  readonly every: CheckpointEvery;
  /** The session that takes the checkpoints. */
  readonly recovery: Recoverable;
  readonly peer: NatsPeer;
  readonly bucket: ObjectBucket;
  readonly budget: Budget;
  /** Called with errors of checkpoints that were not stored. */
  readonly onError: (error: unknown) => void;
}

/**
 * The checkpoints of a session of this node: the last checkpoint in the store, and in memory for a lost interpreter.
 */
export class KeptState implements AsyncDisposable {
  readonly #options: KeptStateOptions;
  readonly #stored: BudgetLease;
  readonly #inMemory: BudgetLease;
  readonly #queue = new SerialQueue();
  #memoryBytes = 0;
  /** Calls before those that the session itself counts. */
  #earlierCalls = 0;

  constructor(options: KeptStateOptions) {
    const { budget, owner, every, recovery } = options;
    this.#options = options;
    this.#stored = budget.take(owner, 0);
    this.#inMemory = budget.take(owner, 0);
    recovery.setRecovery({
      every,
      owner,
      memory: this.#memory(),
      store: async (checkpoint, { calls }) => {
        await this.#put({ checkpoint, calls: this.#earlierCalls + calls, takenAt: Date.now() });
      },
    });
  }

  /**
   * Takes the state of a session that was lost, after the restore.
   *
   * @throws {SandboxError} if the checkpoint cannot be stored.
   */
  async adopt(state: LastCheckpoint): Promise<void> {
    await this.#put(state);
    this.#earlierCalls = state.calls;
  }

  /**
   * Takes a checkpoint that the session was restored from.
   *
   * @throws {SandboxError} if the checkpoint cannot be stored.
   */
  async restart(checkpoint: Checkpoint): Promise<void> {
    this.#earlierCalls = 0;
    await this.#put({ checkpoint, calls: 0, takenAt: Date.now() });
  }

  /**
   * Deletes the checkpoint, as the session is in the state of the start.
   *
   * @throws {SandboxError} if NATS cannot be reached.
   */
  async clear(): Promise<void> {
    this.#earlierCalls = 0;
    const { bucket, session, peer } = this.#options;
    await this.#queue.run(async () => {
      await bucket.delete(peer.subjects.entry(session));
      this.#stored.resize(0);
    });
  }

  /** Stores the present state, if the state has changed. */
  async settle(): Promise<void> {
    await this.#options.recovery.takeCheckpoint();
    await this.#queue.whenIdle();
  }

  /** Releases the room of the session. What it has stored remains. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#queue.whenIdle();
    this.#stored[Symbol.dispose]();
    this.#inMemory[Symbol.dispose]();
  }

  /** Stores a checkpoint in place of the earlier one, which remains if that fails. */
  async #put({ checkpoint, calls, takenAt }: LastCheckpoint): Promise<void> {
    const { bucket, session, peer: { subjects }, peer, onError } = this.#options;
    await this.#queue.run(async () => {
      try {
        this.#takeRoom(checkpoint.storedBytes);
        const name = subjects.entry(session);
        const state = encodeMessage({ calls, takenAt }, [await checkpoint.toBytes()]);
        await bucket.put(name, await peer.sealObject(subjects.statesBucket, name, state));
      } catch (error) {
        onError(error);
        throw error;
      }
    });
  }

  #takeRoom(bytes: number): void {
    if (bytes > MAX_MESSAGE_BYTES) {
      throw new SandboxError(
        `Cannot store checkpoint as it must have at most ${MAX_MESSAGE_BYTES} bytes: it has ${bytes}`,
      );
    }
    try {
      this.#stored.resize(bytes);
    } catch (cause) {
      throw new SandboxError("Cannot store checkpoint as its owner has no room for it", { cause });
    }
  }

  #memory(): CheckpointMemory {
    const { budget, owner } = this.#options;
    const available = () => budget.available(owner) + this.#memoryBytes;
    return {
      get availableBytes() {
        return available();
      },
      resize: (bytes) => {
        this.#inMemory.resize(bytes);
        this.#memoryBytes = bytes;
      },
    };
  }
}
