import type { Room } from "../admission/budget.ts";
import type { HibernatedEntry } from "./hibernated_state.ts";

/**
 * The waking states. The first state of each owner is without room, as another session of the owner may need the room to
 * give an interpreter up. Further states follow after the restore.
 */
export class WakingStates {
  readonly #byOwner = new Map<string, Set<HibernatedEntry>>();

  /** True if a state wakes. */
  has(entry: HibernatedEntry): boolean {
    return this.#byOwner.get(entry.owner)?.has(entry) === true;
  }

  /** Lets a state wake, and frees the state's room in turn. */
  begin(entry: HibernatedEntry): void {
    const { owner } = entry;
    this.#byOwner.getOrInsertComputed(owner, () => new Set()).add(entry);
    this.#freeFirst(owner);
  }

  /** Gives a state that was not restored the room again. If others have the room, the state is without room until the session
   * wakes or ends. */
  cancel(entry: HibernatedEntry): void {
    if (entry.isDisposed) return;
    try {
      for (const room of roomsOf(entry)) room.retake();
    } catch {
      for (const room of roomsOf(entry)) room.free();
      return;
    }
    entry.isFree = false;
    this.end(entry);
  }

  /** Forgets a state, and frees the room of the owner's next state. */
  end(entry: HibernatedEntry): void {
    const { owner } = entry;
    const waking = this.#byOwner.get(owner);
    waking?.delete(entry);
    if (waking?.size === 0) this.#byOwner.delete(owner);
    this.#freeFirst(owner);
  }

  #freeFirst(owner: string): void {
    const [first] = this.#byOwner.get(owner) ?? [];
    if (!first || first.isFree) return;
    first.isFree = true;
    for (const room of roomsOf(first)) room.free();
  }
}

function roomsOf({ session, memory, file }: HibernatedEntry): Room[] {
  return [session, memory, file?.room].filter((room) => room !== undefined);
}
