import type { StateMemory } from "../../sandbox/exec.ts";
import { SESSION_WAIT_MS, TRANSFER_BYTES } from "../limits.ts";
import { AdmissionQueue } from "../admission/admission_queue.ts";

/** Options of {@linkcode TransferMemory}. */
export interface TransferMemoryOptions {
  /**
   * Memory of all states together, in bytes.
   *
   * @default 1 GiB
   */
  readonly bytes?: number | undefined;
  /**
   * Number of owners. Half of the bytes is divided among them and reserved.
   *
   * @default 1
   */
  readonly owners?: number | undefined;
  /**
   * Milliseconds that a state waits for room.
   *
   * @default 30_000
   */
  readonly waitMs?: number | undefined;
}

/**
 * Memory of the states that are captured, read and restored, while they are not compressed. Each owner has a reserved
 * share, the states of an owner get room in their order, and the owner with the fewest bytes is next.
 */
export class TransferMemory {
  readonly #bytes: AdmissionQueue;

  constructor({ bytes = TRANSFER_BYTES, owners, waitMs = SESSION_WAIT_MS }: TransferMemoryOptions = {}) {
    this.#bytes = new AdmissionQueue({
      slots: bytes,
      owners,
      waitMs,
      name: "byte for states",
      keepsOrder: true, // a state that is restored or compressed gives its room back
    });
  }

  /** Returns the memory of one owner. A state that is larger than all of it takes all of it. */
  of(owner: string): StateMemory {
    return {
      reserve: async (bytes, signal = new AbortController().signal) => {
        const slots = Math.min(Math.max(1, bytes), this.#bytes.slotsPerOwner);
        return (await this.#bytes.run(() => Promise.resolve(), { owner, slots, signal })).slot;
      },
    };
  }
}
