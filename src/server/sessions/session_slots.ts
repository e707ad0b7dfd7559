import { ServerError, toPublicError } from "../http/http_errors.ts";
import { withSpan } from "../http/tracing.ts";
import type { Metrics } from "../metrics.ts";
import {
  type AdmissionOptions,
  AdmissionQueue,
  type AdmissionQueueOptions,
  type HeldSlots,
} from "../admission/admission_queue.ts";
import type { LiveSession } from "./live_session.ts";

/** Options of {@linkcode SessionSlots}. */
export interface SessionSlotsOptions extends Omit<AdmissionQueueOptions, "name" | "advice"> {
  /** Sessions that have an interpreter. */
  readonly awake: ReadonlySet<LiveSession>;
  /** Aborted when the server stops. */
  readonly stop: AbortSignal;
  readonly metrics: Metrics;
  /** Called with each error, before the client gets its public form. */
  readonly onError: (thrown: unknown) => void;
}

/** Options of {@linkcode SessionSlots.admit}. */
export interface SlotOptions extends Omit<AdmissionOptions, "owner" | "signal" | "isCounted"> {
  readonly owner: string;
  readonly signal: AbortSignal;
  /** See {@linkcode AdmissionOptions.isCounted}. */
  readonly isCounted?: boolean | undefined;
}

/** Idle time after which a session may give way to an owner with fewer sessions, in milliseconds. */
const OTHERS_SPARE_MS = 10_000;
/** Interval at which a waiting request looks for such a session, in milliseconds. */
const SPARE_POLL_MS = 1_000;

/** Advice in messages about a server that is busy. */
export const MORE_SESSIONS = "retry later, or start the server with more sessions";

/** The slots of a server's sessions. Requests wait for one, and idle sessions give way to those that wait. */
export class SessionSlots {
  readonly #options: SessionSlotsOptions;
  readonly #admission: AdmissionQueue;
  /** Owners of the sessions that are being opened, one entry per session. */
  readonly #opening: string[] = [];

  /** @throws {RangeError} if there are fewer than one slot. */
  constructor(options: SessionSlotsOptions) {
    const { slotsPerOwner, metrics } = options;
    const advice = slotsPerOwner === undefined ? MORE_SESSIONS : `${MORE_SESSIONS} per token`;
    this.#options = options;
    this.#admission = new AdmissionQueue({ ...options, name: "session", advice });
    metrics.addGauge("paddock_sessions", "Sessions in use.", (owner) => this.#count(owner));
    metrics.addGauge(
      "paddock_waiting",
      "Requests waiting for a session.",
      (owner) => this.#admission.waiting(owner),
    );
  }

  /** Slots that one owner may hold. */
  get slotsPerOwner(): number {
    return this.#admission.slotsPerOwner;
  }

  /**
   * Waits for a slot, and acquires what takes it.
   *
   * @throws {ServerError} `busy` or `timeout` if no slot becomes free; or the public form of the error of `acquire`.
   */
  async admit<T>(
    acquire: (signal: AbortSignal) => Promise<T>,
    { owner, signal, waitMs, slots = 1, isCounted = true }: SlotOptions,
  ): Promise<{ result: T; slot: HeldSlots }> {
    const { metrics, onError, stop } = this.#options;
    if (stop.aborted) throw new ServerError("unavailable", "The server is stopping");
    using _opening = this.#open(owner, slots);
    const makeRoom = () => {
      for (let slot = 0; slot < slots; slot++) this.makeRoom(owner);
    };
    const poll = setInterval(makeRoom, SPARE_POLL_MS);
    const queuedAt = performance.now();
    let waitedMs: number | undefined;
    try {
      return await withSpan("paddock.acquire", () => {
        const admitted = this.#admission.run((signal) => {
          waitedMs = performance.now() - queuedAt;
          return acquire(signal);
        }, { owner, waitMs, slots, isCounted, signal: AbortSignal.any([signal, stop]) });
        makeRoom();
        return admitted;
      });
    } catch (error) {
      const publicError = toPublicError(error);
      onError(publicError);
      throw publicError;
    } finally {
      clearInterval(poll);
      metrics.countWait(waitedMs ?? performance.now() - queuedAt, owner);
    }
  }

  /** Takes several slots if they are free, and acquires what takes them. Returns `undefined` if they are not. */
  async admitFree<T>(
    acquire: () => Promise<T>,
    { count, owner }: { count: number; owner: string },
  ): Promise<{ result: T; slot: HeldSlots } | undefined> {
    const slot = this.#admission.tryTake(owner, count);
    if (!slot) return undefined;
    using _opening = this.#open(owner, count);
    try {
      return { result: await acquire(), slot };
    } catch (error) {
      slot[Symbol.dispose]();
      throw error;
    }
  }

  /** Counts sessions of an owner as being opened until the returned object is disposed. */
  #open(owner: string, count: number): Disposable {
    for (let opened = 0; opened < count; opened++) this.#opening.push(owner);
    return {
      [Symbol.dispose]: () => {
        for (let opened = 0; opened < count; opened++) this.#opening.splice(this.#opening.indexOf(owner), 1);
      },
    };
  }

  /**
   * When a request of `owner` waits for a session, the longest idle session that may give way hibernates. If it cannot,
   * it ends, or another one is tried.
   */
  makeRoom(owner: string): void {
    const { awake, slots, onError } = this.#options;
    if (this.#admission.waiting(owner) === 0) return; // a reserved slot may be free on a full server
    const opening = this.#opening.filter((other) => other === owner).length;
    const own = this.#count(owner);
    const isOwnLimit = own + opening > this.slotsPerOwner;
    if (!isOwnLimit && this.#count() + this.#opening.length <= slots) return;
    const leastMs = (session: LiveSession) => session.owner === owner ? 0 : OTHERS_SPARE_MS;
    const idle = [...awake].filter((session) => {
      const mayGiveWay = session.owner === owner || !isOwnLimit && this.#count(session.owner) > own;
      return mayGiveWay &&
        (session.life.canHibernate(leastMs(session)) ||
          session.life.isSpare(leastMs(session)) && !session.life.isLeaving);
    });
    const [oldest] = idle.sort((one, other) => other.life.unusedMs - one.life.unusedMs);
    if (oldest) this.#giveWay(oldest, { owner, leastMs: leastMs(oldest) }).catch(onError);
  }

  async #giveWay(
    session: LiveSession,
    { owner, leastMs }: { owner: string; leastMs: number },
  ): Promise<void> {
    if (await session.life.hibernate()) return;
    if (session.life.isSpare(leastMs)) await session[Symbol.asyncDispose]();
    else this.makeRoom(owner);
  }

  /** Returns the number of sessions that have an interpreter and keep it. */
  #count(owner?: string): number {
    const { awake } = this.#options;
    return awake.values().filter((session) =>
      (owner === undefined || session.owner === owner) && !session.life.isLeaving
    ).toArray().length;
  }
}
