import type { Budget, BudgetLease, Room } from "../admission/budget.ts";

/** Bytes of a session that hibernates, beside its state: the session and its timers, or its record. */
export const ENTRY_BYTES = 4096;

/** A state whose room is taken. */
export interface RoomedState {
  readonly owner: string;
  /** Id of the checkpoint. */
  readonly id: string;
  /** Size of the checkpoint. */
  readonly bytes: number;
}

/** Room of the state of a session. */
export interface StateRoom<Value> extends Room {
  /** Value that was kept for the first session in the state. */
  readonly value: Value;
}

/** Equal states of an owner. */
interface Group<Value> {
  readonly value: Value;
  /** Room of the bytes. */
  readonly lease: BudgetLease;
  sessions: number;
}

/** A session in a group. */
interface Member<Value> {
  readonly group: Group<Value>;
  /** Room of the session. */
  readonly lease: BudgetLease;
}

/** Room of the states of sessions. Sessions of an owner in equal states share the room of the bytes. */
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
    if (!this.#isShared) return sessions * (ENTRY_BYTES + state.bytes);
    return sessions * ENTRY_BYTES + (this.#groups.has(keyOf(state)) ? 0 : state.bytes);
  }

  /**
   * Takes the room of another session in a state.
   *
   * @throws {ServerError} `busy` or `too_large` if there is no room.
   */
  take(state: RoomedState, value: Value): StateRoom<Value> {
    return this.#roomOf(state, this.#join(state, value));
  }

  /** Takes the room of another session in a state that the owner has already, also without free room. */
  hold(state: RoomedState, value: Value): StateRoom<Value> {
    const lease = this.#budget.hold(state.owner, ENTRY_BYTES);
    return this.#roomOf(state, { lease, group: this.#enter(state, value) });
  }

  #roomOf(state: RoomedState, joined: Member<Value>): StateRoom<Value> {
    const { value } = joined.group;
    let member: Member<Value> | undefined = joined;
    const free = () => {
      if (member) this.#leave(member, state);
      member = undefined;
    };
    const retake = () => void (member ??= this.#join(state, value));
    return { value, free, retake, [Symbol.dispose]: free };
  }

  #join(state: RoomedState, value: Value): Member<Value> {
    const lease = this.#budget.take(state.owner, this.needed(state));
    lease.resize(ENTRY_BYTES); // the rest belongs to the group
    return { lease, group: this.#enter(state, value) };
  }

  /** Adds a session to the group of the session's state. The caller has the room for a new group. */
  #enter(state: RoomedState, value: Value): Group<Value> {
    const found = this.#isShared ? this.#groups.get(keyOf(state)) : undefined;
    const group = found ?? { value, lease: this.#budget.hold(state.owner, state.bytes), sessions: 0 };
    group.sessions++;
    if (this.#isShared) this.#groups.set(keyOf(state), group);
    return group;
  }

  #leave({ group, lease }: Member<Value>, state: RoomedState): void {
    lease[Symbol.dispose]();
    if (--group.sessions > 0) return;
    group.lease[Symbol.dispose]();
    if (this.#isShared) this.#groups.delete(keyOf(state));
  }
}

/** The size is a part of the key, as the file of an equal state may be damaged. */
function keyOf({ owner, id, bytes }: RoomedState): string {
  return JSON.stringify([owner, id, bytes]);
}
