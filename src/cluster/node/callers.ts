import type { CallerBeat } from "../nodes_bucket.ts";

/** Milliseconds without a heartbeat after which a caller is lost, and everything that the caller holds ends. */
const CALLER_LOST_MS = 10_000;

/** The callers that hold something of a node, and when each was last seen. */
export class Callers {
  readonly #seen = new Map<string, { seenAt: number; epoch: number }>();

  /** Notes that a caller has sent a call. */
  note(id: string): void {
    const caller = this.#seen.getOrInsertComputed(id, () => ({ seenAt: 0, epoch: 0 }));
    caller.seenAt = performance.now();
  }

  /**
   * Takes a heartbeat. Returns true if the caller has connected again since the last heartbeat: messages may be lost.
   */
  beat({ id, epoch }: Pick<CallerBeat, "id" | "epoch">): boolean {
    const caller = this.#seen.get(id);
    if (caller === undefined) return false;
    const hasReconnected = caller.epoch !== 0 && caller.epoch !== epoch;
    Object.assign(caller, { seenAt: performance.now(), epoch });
    return hasReconnected;
  }

  /** Gives all callers time again, after the node itself was without a connection. */
  renew(): void {
    for (const caller of this.#seen.values()) caller.seenAt = performance.now();
  }

  /** Removes the callers that are lost, and returns them. */
  takeLost(): string[] {
    const oldest = performance.now() - CALLER_LOST_MS;
    const lost = [...this.#seen].flatMap(([id, { seenAt }]) => seenAt <= oldest ? [id] : []);
    for (const id of lost) this.#seen.delete(id);
    return lost;
  }
}
