import type { BranchingPool } from "../../sandbox/contract/pool.ts";
import type { Metrics } from "../metrics.ts";
import type { LiveSession } from "../sessions/live_session.ts";
import type { CheckpointStore, HeldCheckpoint, StoredCheckpoint } from "./checkpoint_store.ts";
import type { CaptureStateOptions, CheckpointTransfers } from "./transfers.ts";

/** Options of {@linkcode CheckpointService}. */
export interface CheckpointServiceOptions {
  /** Pool whose sessions can restore the checkpoints. */
  readonly pool: BranchingPool;
  readonly store: CheckpointStore;
  readonly transfers: CheckpointTransfers;
  readonly metrics: Metrics;
}

/** The checkpoints that clients make, restore, export and import. Each belongs to a single owner. */
export class CheckpointService {
  readonly #pool: BranchingPool;
  readonly #transfers: CheckpointTransfers;
  readonly store: CheckpointStore;

  constructor({ pool, store, transfers, metrics }: CheckpointServiceOptions) {
    this.#pool = pool;
    this.#transfers = transfers;
    this.store = store;
    metrics.addGauge("paddock_checkpoints", "Checkpoints that are kept.", (owner) => store.count(owner));
    metrics.addGauge(
      "paddock_checkpoint_bytes",
      "Bytes of the checkpoints that are kept.",
      (owner) => store.bytes(owner),
    );
  }

  /**
   * Keeps the state of a session, which goes on. A session that is paused with its memory stays paused.
   *
   * @throws {ServerError} `conflict` if there is no room, or the session has what no checkpoint has, or is paused and
   * has no memory, or should have none in the checkpoint.
   */
  async create(session: LiveSession, options: CaptureStateOptions): Promise<StoredCheckpoint> {
    const { owner, life } = session;
    this.store.requireRoom(owner);
    const paused = options.memory === false ? undefined : await life.pause.read(options.signal);
    const state = paused?.hasMemory ? paused.checkpoint : await this.#transfers.checkpoint(session, options);
    return this.store.put(owner, state);
  }

  /**
   * Returns a session to a checkpoint of its owner.
   *
   * @throws {ServerError} `not_found` if the owner has no such checkpoint.
   */
  async restore(session: LiveSession, id: string, signal: AbortSignal): Promise<void> {
    using held = this.store.hold(session.owner, id);
    await this.#transfers.restore(session, held.checkpoint, signal);
  }

  /**
   * Returns the state of a session, which goes on, as a checkpoint that no request finds by id.
   *
   * @throws {ServerError} as {@linkcode CheckpointService.create} does.
   */
  async hold(session: LiveSession, signal: AbortSignal): Promise<HeldCheckpoint> {
    const { owner } = session;
    this.store.requireRoom(owner);
    const checkpoint = await this.#transfers.checkpoint(session, { signal });
    return { checkpoint, ...this.store.reserve(owner, checkpoint) };
  }

  /**
   * Returns a session to a checkpoint of its owner.
   *
   * @throws {ServerError} if the checkpoint is not restored.
   */
  async restoreHeld(
    session: LiveSession,
    { checkpoint }: HeldCheckpoint,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#transfers.restore(session, checkpoint, signal);
  }

  /**
   * Keeps a checkpoint that was exported, after authentication.
   *
   * @throws {ServerError} if this host did not sign the checkpoint for this owner, image and profile, or if the
   * checkpoint is damaged.
   */
  async import(owner: string, bytes: Uint8Array, signal: AbortSignal): Promise<StoredCheckpoint> {
    this.store.requireRoom(owner);
    const checkpoint = await this.#transfers.run(
      { owner, signal },
      (options) => this.#pool.readCheckpoint(bytes, options),
    );
    return this.store.put(owner, checkpoint);
  }
}
