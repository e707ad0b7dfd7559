import type { HibernatedEntry } from "./hibernated_state.ts";

/**
 * States that wake. The first one of each owner is without room, as another session of the owner may need that to give
 * its interpreter up.
 */
export class WakingEntries {
  readonly #byOwner = new Map<string, Set<HibernatedEntry>>();

  /** True if a state wakes. */
  has(entry: HibernatedEntry): boolean {
    return this.#byOwner.get(entry.owner)?.has(entry) === true;
  }

  /** Frees the room of a state when no other one of its owner is without. */
  begin(entry: HibernatedEntry): void {
    this.#byOwner.getOrInsertComputed(entry.owner, () => new Set()).add(entry);
    this.#freeFirst(entry.owner);
  }

  /** Takes the room of a state again, as it was not restored. */
  cancel(entry: HibernatedEntry): void {
    const { memory, file, session } = entry;
    try {
      session.retake();
      (memory ?? file?.room)?.retake();
    } catch {
      session.free();
      return; // others have its room: it is without until it wakes or ends
    }
    entry.isFree = false;
    this.end(entry);
  }

  /** Lets the next state of the owner go without room. */
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
    (first.memory ?? first.file?.room)?.free();
    first.session.free();
  }
}
