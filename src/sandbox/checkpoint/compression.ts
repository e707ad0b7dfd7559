import { stripTypeScriptTypes } from "node:module";
import { Worker } from "node:worker_threads";
import { abortable } from "../../async/abort.ts";
import { Semaphore } from "../../async/semaphore.ts";
import { CheckpointError, SandboxError } from "../../errors.ts";
import type { StateMemory, StateRoom } from "./state_memory.ts";
import workerSource from "./compression_worker.ts" with { type: "text" };
import type { CompressionRequest, CompressionResponse } from "./compression_worker.ts";

/** Bytes of states that an owner may have in memory. Further states are captured when these are compressed. */
const OWNER_BYTES = 128 * 1024 * 1024;
/** Jobs of an owner between which the worker switches. Further jobs wait, and jobs of other owners do not. */
const OWNER_JOBS = 2;
/** Milliseconds without a job after which the worker ends. */
const IDLE_MS = 60_000;

/** Compressed bytes, in memory that the worker reads without a copy. */
export interface Compressed {
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  readonly sha256: string;
}

/** Compresses the states of checkpoints, and expands them, in a worker that starts when needed. */
export class CheckpointCompressor implements AsyncDisposable {
  readonly #shares = new Map<string, OwnerShare>();
  readonly #jobs = new Map<number, (response: CompressionResponse | SandboxError) => void>();
  #lastJob = 0;
  #worker: Worker | undefined;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  #isDisposed = false;

  /**
   * Returns the memory of an owner's states. Room waits until the states of known size have less than the owner's share.
   */
  memoryOf(owner: string): StateMemory {
    return {
      reserve: async (_bytes, signal) => {
        const share = this.#enter(owner);
        try {
          return await share.reserve(() => this.#leave(owner, share), signal);
        } catch (error) {
          this.#leave(owner, share);
          throw error;
        }
      },
    };
  }

  /**
   * Compresses a state, which is moved to the worker and empty afterwards.
   *
   * @throws {SandboxError} if the worker fails, or the compressor is disposed.
   */
  async compress(state: ArrayBuffer, { owner }: { owner: string }): Promise<Compressed> {
    const response = await this.#run(owner, (job) => ({ job, state }), [state]);
    if (!("compressed" in response)) throw failed("it responded to another request");
    const { compressed, from, sha256 } = response;
    return { bytes: new Uint8Array(compressed, from, compressed.byteLength - from), sha256 };
  }

  /**
   * Expands a state of a known size. It stops at the first byte beyond that size.
   *
   * @throws {CheckpointError} if the hash differs, or the state has another size.
   * @throws {SandboxError} if the worker fails, or the compressor is disposed.
   */
  async expand(
    { bytes: { buffer: compressed, byteOffset: from }, sha256 }: Compressed,
    { owner, stateBytes: expandedBytes }: { owner: string; stateBytes: number },
  ): Promise<Uint8Array<ArrayBuffer>> {
    const response = await this.#run(owner, (job) => ({ job, compressed, from, sha256, expandedBytes }));
    if ("state" in response) return new Uint8Array(response.state);
    if (!("damage" in response)) throw failed("it responded to another request");
    throw new CheckpointError(`Cannot restore checkpoint as ${response.damage}`, {
      code: "checkpoint_damaged",
    });
  }

  /** Ends the worker. Jobs that run reject. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    this.#rejectJobs(failed("it is disposed"));
    await this.#end();
  }

  async #run(
    owner: string,
    toRequest: (job: number) => CompressionRequest,
    moved: ArrayBuffer[] = [],
  ): Promise<CompressionResponse> {
    const share = this.#enter(owner);
    try {
      using _turn = await share.jobs.acquire();
      return await this.#post(toRequest(++this.#lastJob), moved);
    } finally {
      this.#leave(owner, share);
    }
  }

  async #post(request: CompressionRequest, moved: ArrayBuffer[]): Promise<CompressionResponse> {
    if (this.#isDisposed) throw failed("it is disposed");
    clearTimeout(this.#idleTimer);
    const worker = this.#worker ??= this.#start();
    worker.ref(); // an idle worker does not keep the process alive
    const { promise, resolve, reject } = Promise.withResolvers<CompressionResponse>();
    const { job } = request;
    this.#jobs.set(job, (response) => response instanceof Error ? reject(response) : resolve(response));
    worker.postMessage(request, moved);
    try {
      return await promise;
    } finally {
      this.#jobs.delete(job);
      if (this.#jobs.size === 0) this.#rest(worker);
    }
  }

  #start(): Worker {
    const source = stripTypeScriptTypes(workerSource);
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`));
    worker.on("message", (response: CompressionResponse) => this.#jobs.get(response.job)?.(response));
    worker.on("error", (cause) => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      this.#rejectJobs(failed("its worker failed", cause));
    });
    return worker;
  }

  #rejectJobs(error: SandboxError): void {
    for (const settle of this.#jobs.values()) settle(error);
  }

  /** Lets the process end while there is no job, and ends the worker after a while. */
  #rest(worker: Worker): void {
    worker.unref();
    if (this.#isDisposed) return;
    this.#idleTimer = setTimeout(() => this.#end(), IDLE_MS);
    Deno.unrefTimer(this.#idleTimer);
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idleTimer);
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  #enter(owner: string): OwnerShare {
    const share = this.#shares.get(owner) ?? new OwnerShare();
    this.#shares.set(owner, share);
    share.users++;
    return share;
  }

  #leave(owner: string, share: OwnerShare): void {
    if (--share.users === 0) this.#shares.delete(owner);
  }
}

/** Share of an owner in a compressor. */
class OwnerShare {
  /** Number of calls and reservations. */
  users = 0;
  readonly jobs = new Semaphore(OWNER_JOBS);
  /** Sizes of states in memory; 0 while the size is not known. */
  readonly #rooms = new Map<StateRoom, number>();
  #released = Promise.withResolvers<void>();

  async reserve(onRelease: () => void, signal: AbortSignal | undefined): Promise<StateRoom> {
    while (this.#bytes() >= OWNER_BYTES) await abortable(this.#released.promise, signal);
    const room: StateRoom = {
      shrink: (bytes) => this.#rooms.set(room, bytes),
      [Symbol.dispose]: () => {
        if (!this.#rooms.delete(room)) return;
        this.#released.resolve();
        this.#released = Promise.withResolvers();
        onRelease();
      },
    };
    this.#rooms.set(room, 0);
    return room;
  }

  #bytes(): number {
    return this.#rooms.values().reduce((sum, bytes) => sum + bytes, 0);
  }
}

function failed(reason: string, cause?: unknown): SandboxError {
  return new SandboxError(`Cannot compress or expand checkpoint as ${reason}`, { cause });
}
