import { ServerError } from "../http/http_errors.ts";
import { BUFFER_BYTES } from "../limits.ts";

/** Options of {@linkcode Budget}. */
export interface BudgetOptions {
  /** Amount that all owners share. */
  readonly total: number;
  /**
   * Number of owners.
   *
   * @default 1
   */
  readonly owners?: number | undefined;
  /** Unit of the amount, for messages: "bytes of waiting data", "envs". */
  readonly unit: string;
  /** Advice for an owner without room, for messages: "send fewer at once". */
  readonly advice: string;
  /**
   * Seconds after which an owner without room may try again.
   *
   * @default 1
   */
  readonly retryAfter?: number | undefined;
  /**
   * Returns the amount that others than the owners hold.
   *
   * @default none
   */
  readonly heldByOthers?: (() => number) | undefined;
}

/** Room that is taken until disposed. */
export interface Room extends Disposable {
  /** Frees the room until {@linkcode Room.retake}. */
  free(): void;
  /**
   * Takes the room again.
   *
   * @throws {ServerError} `busy` if there is none. Nothing is taken then.
   */
  retake(): void;
}

/** Room in a budget. */
export interface BudgetLease extends Room {
  /**
   * Changes the amount that is taken. Has no effect after the disposal.
   *
   * @throws {ServerError} `busy` if there is no room now; `too_large` if there never is. Nothing changes then.
   */
  resize(amount: number): void;
  /** Takes `amount` more, as {@linkcode BudgetLease.resize} does. */
  grow(amount: number): void;
}

/** The budget of an owner. */
export interface Account {
  /**
   * Takes an amount.
   *
   * @throws {ServerError} `busy` if there is no room now; `too_large` if there never is.
   */
  take(amount: number): BudgetLease;
}

/**
 * An amount that the owners of a server share: bytes of waiting data, envs, sockets. Half of the amount is divided
 * equally among the owners and reserved for them; the other half goes to the first who takes from that half. No owner
 * can use all, and nothing that an owner holds is evicted in favour of another.
 */
export class Budget {
  readonly #options: BudgetOptions;
  readonly #owners: number;
  /** Amount that is reserved for each owner. */
  readonly share: number;
  readonly #held = new Map<string, number>();
  #used = 0;
  /** Amount that is reserved and not held. */
  #reserved: number;

  constructor(options: BudgetOptions) {
    const { total, owners = 1 } = options;
    this.#options = options;
    this.#owners = Math.max(1, owners);
    this.share = Math.max(1, Math.floor(total / (2 * this.#owners)));
    this.#reserved = this.share * this.#owners;
  }

  /** Largest amount that an owner can ever hold. */
  get most(): number {
    const { total } = this.#options;
    return total - Math.min(this.share * (this.#owners - 1), Math.floor(total / 2));
  }

  /** Returns the amount that an owner holds, or all together. */
  used(owner?: string): number {
    if (owner !== undefined) return this.#held.get(owner) ?? 0;
    return this.#used + (this.#options.heldByOthers?.() ?? 0);
  }

  /** Returns the amount that an owner can take now. */
  available(owner: string): number {
    const { total } = this.#options;
    const free = total - this.used();
    const ownShare = Math.max(0, this.share - this.used(owner));
    const ofOthers = Math.max(0, Math.min(this.#reserved - ownShare, Math.floor(total / 2)));
    return Math.max(free - ofOthers, Math.min(free, ownShare), 0);
  }

  /** Returns the budget of an owner. */
  account(owner: string): Account {
    return { take: (amount) => this.take(owner, amount) };
  }

  /**
   * Takes an amount for an owner.
   *
   * @throws {ServerError} `busy` if there is no room now; `too_large` if there never is.
   */
  take(owner: string, amount: number): BudgetLease {
    const lease = this.#lease(owner, amount, 0);
    lease.retake();
    return lease;
  }

  /**
   * Takes amounts of several budgets for an owner, or none.
   *
   * @throws {ServerError} `busy` or `too_large` as {@linkcode Budget.take} does.
   */
  static takeAll(owner: string, parts: readonly BudgetPart[]): Room {
    const room = joinRooms(parts.map(([budget, amount]) => budget.#lease(owner, amount, 0)));
    room.retake();
    return room;
  }

  /** Takes amounts of several budgets as {@linkcode Budget.hold} does. */
  static holdAll(owner: string, parts: readonly BudgetPart[]): Room {
    return joinRooms(parts.map(([budget, amount]) => budget.hold(owner, amount)));
  }

  /** Takes an amount that an owner has already, also without room. */
  hold(owner: string, amount: number): BudgetLease {
    this.#add(owner, amount);
    return this.#lease(owner, amount, amount);
  }

  /** @param now part of the amount that is taken now */
  #lease(owner: string, amount: number, now: number): BudgetLease {
    let whole = amount;
    let taken = now;
    let isDisposed = false;
    const set = (next: number) => {
      if (isDisposed) return;
      if (next > taken) this.#requireRoom(owner, { more: next - taken, whole: next });
      this.#add(owner, next - taken);
      taken = next;
    };
    const resize = (next: number) => {
      set(next);
      whole = next;
    };
    return {
      resize,
      grow: (more) => resize(whole + more),
      free: () => set(0),
      retake: () => set(whole),
      [Symbol.dispose]: () => {
        set(0);
        isDisposed = true;
      },
    };
  }

  #requireRoom(owner: string, { more, whole }: { more: number; whole: number }): void {
    const available = this.available(owner);
    if (more <= available) return;
    const { unit, advice, retryAfter = 1 } = this.#options;
    if (whole > this.most) {
      throw new ServerError(
        "too_large",
        `Cannot take ${whole} ${unit} as at most ${this.most} are possible at once: ${advice}`,
      );
    }
    const own = this.used(owner);
    throw new ServerError(
      "busy",
      `Cannot take ${more} more ${unit} as you may hold ${own + available} now and hold ${own}: ${advice}`,
      { retryAfter },
    );
  }

  #add(owner: string, amount: number): void {
    const before = this.used(owner);
    const after = before + amount;
    if (after === 0) this.#held.delete(owner);
    else this.#held.set(owner, after);
    this.#used += amount;
    this.#reserved -= Math.min(after, this.share) - Math.min(before, this.share);
  }
}

/** An amount of a budget. */
export type BudgetPart = readonly [budget: Budget, amount: number];

/** Returns rooms that are taken and freed together. */
function joinRooms(rooms: readonly Room[]): Room {
  const free = () => rooms.forEach((room) => room.free());
  const retake = () => {
    try {
      for (const room of rooms) room.retake();
    } catch (error) {
      free();
      throw error;
    }
  };
  return { free, retake, [Symbol.dispose]: () => rooms.forEach((room) => room[Symbol.dispose]()) };
}

/** Options of {@linkcode Budgets}. */
export interface BudgetsOptions {
  /**
   * Memory of data that waits or is kept, in bytes.
   *
   * @default 512 MiB
   */
  readonly bytes?: number | undefined;
  /**
   * Number of owners, which is the number of tokens.
   *
   * @default 1
   */
  readonly owners?: number | undefined;
}

/** The budgets of a server. */
export class Budgets {
  /** Bytes of data that waits: requests, messages and output that is not read yet. */
  readonly waiting: Budget;
  /** Bytes of data that is kept: envs, and responses to requests with an id. */
  readonly kept: Budget;
  readonly #owners: number;

  constructor({ bytes = BUFFER_BYTES, owners = 1 }: BudgetsOptions = {}) {
    const half = { total: Math.floor(bytes / 2), owners, advice: "start the server with more buffer memory" };
    this.waiting = new Budget({ ...half, unit: "bytes of waiting data" });
    this.kept = new Budget({ ...half, unit: "bytes of kept data" });
    this.#owners = owners;
  }

  /** Returns a budget of things that are counted, not measured. */
  counting(options: Omit<BudgetOptions, "owners">): Budget {
    return new Budget({ ...options, owners: this.#owners });
  }
}
