import { CheckpointError } from "../../errors.ts";
import type { CheckpointMemory } from "../../sandbox/exec.ts";
import { ServerError } from "../http/errors.ts";
import { MAX_CHECKPOINT_TRANSFERS, SESSION_WAIT_MS } from "../limits.ts";
import { AdmissionQueue } from "../sessions/admission.ts";
import type { CheckpointStore } from "./checkpoint_store.ts";

/**
 * Room for the checkpoints that sessions take by themselves. Their bytes count as those of the owner's other
 * checkpoints. Only some states are captured at once, and the owner with the fewest is next.
 */
export class RecoveryMemory {
  readonly #store: CheckpointStore;
  readonly #slots: AdmissionQueue;

  constructor(store: CheckpointStore, { owners }: { owners?: number | undefined } = {}) {
    this.#store = store;
    this.#slots = new AdmissionQueue({
      slots: MAX_CHECKPOINT_TRANSFERS,
      owners,
      waitMs: SESSION_WAIT_MS,
      name: "capture of a checkpoint",
    });
  }

  /** Returns the room of one session of an owner. */
  ofSession(owner: string): CheckpointMemory {
    const lease = this.#store.takeBytes(owner, 0);
    const store = this.#store;
    let taken = 0;
    return {
      get availableBytes() {
        return taken + store.availableBytes(owner);
      },
      resize(bytes) {
        lease.resize(bytes);
        taken = bytes;
      },
      run: (capture) => this.#run(owner, capture),
    };
  }

  async #run(owner: string, capture: () => Promise<void>): Promise<void> {
    const { signal } = new AbortController(); // a capture ends by itself
    try {
      const { slot } = await this.#slots.run(capture, { owner, signal });
      slot[Symbol.dispose]();
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      throw new CheckpointError(error.message, { code: "checkpoint_refused", cause: error });
    }
  }
}
