import { CheckpointError } from "../../errors.ts";
import type { CheckpointMemory, StateMemory } from "../../sandbox/contract/checkpoint.ts";
import { ServerError } from "../http/http_errors.ts";
import type { CheckpointStore } from "./checkpoint_store.ts";
import { TransferMemory } from "./transfer_memory.ts";

/**
 * Room for the checkpoints that sessions take by themselves. Their bytes count as those of the owner's other
 * checkpoints.
 */
export class RecoveryMemory {
  readonly #store: CheckpointStore;
  /** Memory of states while they are captured, and of all others that the server transfers. */
  readonly states: TransferMemory;

  constructor(store: CheckpointStore, { owners }: { owners?: number | undefined } = {}) {
    this.#store = store;
    this.states = new TransferMemory({ owners });
  }

  /** Returns the room of one session of an owner. */
  ofSession(owner: string): CheckpointMemory {
    const lease = this.#store.takeBytes(owner, 0);
    const store = this.#store;
    let taken = 0;
    return {
      states: this.#statesOf(owner),
      get availableBytes() {
        return taken + store.availableBytes(owner);
      },
      resize(bytes) {
        lease.resize(bytes);
        taken = bytes;
      },
    };
  }

  #statesOf(owner: string): StateMemory {
    const states = this.states.of(owner);
    return {
      async reserve(bytes, signal) {
        try {
          return await states.reserve(bytes, signal);
        } catch (error) {
          if (!(error instanceof ServerError)) throw error;
          throw new CheckpointError(error.message, { code: "checkpoint_refused", cause: error });
        }
      },
    };
  }
}
