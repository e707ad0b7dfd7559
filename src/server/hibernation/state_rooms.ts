import type { Budget, BudgetLease } from "../budget.ts";

/** Memory of a session that hibernates, beside its state: the session and its timers. */
const ENTRY_BYTES = 4096;

/** A state whose room is taken. */
export interface RoomedState {
  readonly owner: string;
  /** Id of its checkpoint. */
  readonly id: string;
  /** Size of its checkpoint. */
  readonly bytes: number;
}

/** Room that is taken until it is disposed. */
export interface Room extends Disposable {
  /** Frees the room until {@linkcode Room.retake}. */
  free(): void;
  /** Takes the room again. @throws {ServerError} `busy` if there is none. */
  retake(): void;
}

/** Room of the state of one session. */
export interface StateRoom<Value> extends Room {
  /** What was kept for the first session in the state. */
  readonly value: Value;
}

/**
 * Takes room in two budgets.
 *
 * @throws {ServerError} `busy` or `too_large` if there is none in one of them.
 */
export function takeRoom(owner: string, parts: readonly { budget: Budget; amount: number }[]): Room {
  const leases = parts.map(({ budget, amount }) => ({ amount, lease: budget.take(owner, 0) }));
  const free = () => leases.forEach(({ lease }) => lease.resize(0));
  const retake = () => {
    try {
      for (const { lease, amount } of leases) lease.resize(amount);
    } catch (error) {
      free();
      throw error;
    }
  };
  retake();
  return { free, retake, [Symbol.dispose]: free };
}

interface Group<Value> {
  readonly value: Value;
  readonly lease: BudgetLease;
  sessions: number;
}

/** Room of the states of sessions. Sessions of one owner in equal states share the room of its bytes. */
export class StateRooms<Value> {
  readonly #budget: Budget;
  readonly #isShared: boolean;
  readonly #groups = new Map<string, Group<Value>>();

  /** @param options.isShared false if equal states are kept for each session; default: true */
  constructor(budget: Budget, { isShared = true }: { isShared?: boolean } = {}) {
    this.#budget = budget;
    this.#isShared = isShared;
  }

  /** Returns the bytes that so many more sessions in a state take. */
  needed(state: RoomedState, sessions = 1): number {
    if (!this.#isShared) return sizeOf(1, state) * sessions;
    return sessions * ENTRY_BYTES + (this.#groups.has(keyOf(state)) ? 0 : state.bytes);
  }

  /**
   * Takes the room of one more session in a state.
   *
   * @throws {ServerError} `busy` or `too_large` if there is none.
   */
  take(state: RoomedState, value: Value): StateRoom<Value> {
    let group: Group<Value> | undefined;
    const free = () => {
      if (group) this.#leave(group, state);
      group = undefined;
    };
    const retake = () => group ??= this.#join(state, value);
    return { value: retake().value, free, retake, [Symbol.dispose]: free };
  }

  #join(state: RoomedState, value: Value): Group<Value> {
    const found = this.#isShared ? this.#groups.get(keyOf(state)) : undefined;
    const group = found ?? { value, lease: this.#budget.take(state.owner, 0), sessions: 0 };
    group.lease.resize(sizeOf(group.sessions + 1, state));
    group.sessions++;
    if (this.#isShared) this.#groups.set(keyOf(state), group);
    return group;
  }

  #leave(group: Group<Value>, state: RoomedState): void {
    group.sessions--;
    group.lease.resize(sizeOf(group.sessions, state));
    if (group.sessions === 0) this.#groups.delete(keyOf(state));
  }
}

function sizeOf(sessions: number, { bytes }: RoomedState): number {
  return sessions === 0 ? 0 : sessions * ENTRY_BYTES + bytes;
}

function keyOf({ owner, id }: RoomedState): string {
  return JSON.stringify([owner, id]);
}
