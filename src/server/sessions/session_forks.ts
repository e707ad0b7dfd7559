import { checkForkSeed, reseedingOf } from "../../sandbox/checkpoint/fork.ts";
import type { Checkpoint } from "../../sandbox/contract/checkpoint.ts";
import type { SessionLease } from "../../sandbox/contract/pool.ts";
import type { HeldSlots } from "../admission/admission_queue.ts";
import type { CheckpointTransfers, ForkCopyOptions } from "../checkpoints/transfers.ts";
import type { HibernationStore, PlaceCopy } from "../hibernation/hibernation_store.ts";
import type { Clock } from "../../async/clock.ts";
import { ServerError, toPublicError } from "../http/http_errors.ts";
import type { LiveSession, LiveSessionOptions } from "./live_session.ts";
import type { SessionFactory } from "./session_factory.ts";
import type { SessionSlots } from "./session_slots.ts";
import type { SharedSessions } from "./shared_sessions.ts";

/** Settings of a copy, which come from its parent. */
export interface CopySettings extends
  Pick<
    LiveSessionOptions,
    "owner" | "limits" | "metadata" | "tools" | "reseeding" | "ttlMs" | "hasMemory"
  > {
  readonly signal: AbortSignal;
}

/** Parts of {@linkcode SessionForks}. */
export interface SessionForksParts {
  readonly transfers: CheckpointTransfers;
  readonly slots: SessionSlots;
  readonly shared: SharedSessions;
  /** The states of sessions that hibernate, if sessions do. */
  readonly store: HibernationStore | undefined;
  readonly clock: Clock;
  /** Makes the copies. */
  readonly factory: SessionFactory;
}

/** A fork of a session. */
interface Fork {
  readonly parent: LiveSession;
  readonly count: number;
  readonly seed: number | undefined;
  readonly settings: CopySettings;
}

/** Copies of a server's sessions. */
export class SessionForks {
  readonly #parts: SessionForksParts;

  constructor(parts: SessionForksParts) {
    this.#parts = parts;
  }

  /**
   * Opens copies of a session. If fewer interpreters are free, all copies hibernate until they are used. Without
   * hibernation, or room for it, they wait until interpreters for all of them are free. A paused session stays paused;
   * its copies hibernate.
   *
   * @throws {ServerError} `invalid` if so many are never free; `busy` or `timeout` if they do not become free; `conflict`
   * if the session has what no checkpoint has.
   */
  async fork(parent: LiveSession, count: number, { seed, signal }: ForkCopyOptions): Promise<LiveSession[]> {
    const { owner, limits, metadata, tools, life: { expiresAt } } = parent;
    const ttlMs = expiresAt && Math.max(0, expiresAt.getTime() - this.#parts.clock.now());
    const fork = { parent, count, seed, settings: { owner, limits, metadata, ttlMs, tools, signal } };
    const paused = await parent.life.pause.read(signal);
    if (paused === undefined) return await parent.use(() => this.#open(fork, () => this.#forkUsed(fork)));
    const { checkpoint, hasMemory } = paused;
    const settings = { ...fork.settings, hasMemory };
    try {
      return await this.#open(fork, () => this.#place({ ...fork, settings }, checkpoint));
    } catch (error) {
      throw toPublicError(error);
    }
  }

  async #open(
    { count, seed, settings: { signal } }: Fork,
    make: () => Promise<LiveSession[]>,
  ): Promise<LiveSession[]> {
    checkForkSeed(seed, count);
    const copies = await make();
    if (!signal.aborted) return copies;
    await Promise.all(copies.map((copy) => copy[Symbol.asyncDispose]())); // the client never receives them
    throw signal.reason;
  }

  async #forkUsed(fork: Fork): Promise<LiveSession[]> {
    return await this.#forkFree(fork) ?? await this.#forkHibernating(fork) ?? await this.#forkWaiting(fork);
  }

  /** Opens copies in interpreters that are free; returns `undefined` if there are not enough. */
  async #forkFree(fork: Fork): Promise<LiveSession[] | undefined> {
    const { count, settings: { owner } } = fork;
    const admitted = await this.#parts.slots.admitFree(() => this.#lease(fork), { owner, count });
    return admitted && this.#addAwake(fork, admitted);
  }

  /** Opens copies that hibernate; returns `undefined` if sessions do not, or there is no room for so many. */
  async #forkHibernating(fork: Fork): Promise<LiveSession[] | undefined> {
    if (!this.#parts.store) return undefined;
    const { parent, settings: { signal } } = fork;
    const checkpoint = await this.#parts.transfers.checkpoint(parent, { signal });
    return await ignoreFull(this.#place(fork, checkpoint));
  }

  /** Opens copies that hibernate in a state. @throws {ServerError} `busy` or `too_large` if there is no room. */
  async #place(fork: Fork, checkpoint: Checkpoint): Promise<LiveSession[]> {
    const { parent, count, seed, settings } = fork;
    const { store, factory } = this.#parts;
    if (!store) throw new TypeError("Cannot open copies that hibernate as there is no store of their states");
    const places = await store.putCopies(checkpoint, count, parent.describe());
    return places.map((place: PlaceCopy, index) => {
      const start = place(() => copy.describe());
      const { reseed: _, ...reseeding } = reseedingOf(seed, index);
      const copy = factory.add(start, { ...settings, tools: settings.tools?.copy(), reseeding });
      return copy;
    });
  }

  /** Waits for interpreters, and opens copies in them. */
  async #forkWaiting(fork: Fork): Promise<LiveSession[]> {
    const { slots, store } = this.#parts;
    const { count, settings: { owner, signal } } = fork;
    const most = slots.slotsPerOwner - 1;
    if (count > most) {
      const reason = store ? " as there is no room for copies that hibernate" : "";
      throw new ServerError("invalid", `count must be at most ${most}${reason}: current value is ${count}`);
    }
    const admitted = await slots.admit(() => this.#lease(fork), { owner, slots: count, signal });
    return this.#addAwake(fork, admitted);
  }

  async #lease({ parent, count, seed, settings }: Fork): Promise<SessionLease[]> {
    const { transfers, shared } = this.#parts;
    const leases = await transfers.fork(parent, count, { seed, signal: settings.signal });
    if (!shared.has(parent)) return leases;
    return await Promise.all(leases.map((lease) => shared.share(lease, settings)));
  }

  #addAwake(
    { settings }: Fork,
    { result, slot }: { result: readonly SessionLease[]; slot: HeldSlots },
  ): LiveSession[] {
    const slots = slot.split();
    return result.map((lease, index) =>
      this.#parts.factory.add({ lease, slot: slots[index] }, { ...settings, tools: settings.tools?.copy() })
    );
  }
}

/** Returns the result, or `undefined` if there is no room. */
async function ignoreFull<T>(taken: Promise<T>): Promise<T | undefined> {
  try {
    return await taken;
  } catch (error) {
    if (error instanceof ServerError && (error.code === "busy" || error.code === "too_large")) {
      return undefined;
    }
    throw error;
  }
}
