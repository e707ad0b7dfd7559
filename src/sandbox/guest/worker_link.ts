import {
  encodeFrame,
  encodeLost,
  FRAME_HEAD_BYTES,
  FrameKind,
  payloadLength,
  writeFrameHead,
} from "../protocol.ts";
import type { Assets } from "./assets.ts";
import { Outbox } from "./outbox.ts";
import { KILL_SWITCH, Ring } from "./ring.ts";

const RING_BYTES = 256 * 1024;
const SIGINT = 2;
/** Longest time, in milliseconds, that a worker's constant output may delay the host's frames. */
const BUSY_MS = 5;

/** Options of {@linkcode WorkerLink}. */
export interface WorkerLinkOptions {
  readonly sendToHost: (bytes: Uint8Array) => void;
  /**
   * True if the worker sends its frames to the host itself. It must be the only session of its process.
   *
   * @default false
   */
  readonly isDirect?: boolean;
}

/** The supervisor's end of a session: a worker, a ring of the host's frames and an outbox of the worker's. */
export class WorkerLink {
  readonly #session: number;
  readonly #options: WorkerLinkOptions;
  readonly #incoming = Ring.create(RING_BYTES);
  readonly #outbox = new Outbox();
  readonly #frames: SessionFrames;
  readonly #interrupt = new Uint8Array(new SharedArrayBuffer(4));
  readonly #queue: Uint8Array[] = [];
  #worker: Worker | undefined;
  #isWriting = false;
  #paused: PromiseWithResolvers<void> | undefined;

  constructor(session: number, options: WorkerLinkOptions) {
    this.#session = session;
    this.#options = options;
    this.#frames = new SessionFrames(session);
  }

  /** True if the worker has not taken all frames of the host yet, so that this thread must not block. */
  get isBehind(): boolean {
    return this.#isWriting;
  }

  /** Starts the worker. Resolves when it has ended, or at once if it sends its frames itself. */
  async start(assets: Assets, options: { seed?: number }): Promise<void> {
    const worker = new Worker(
      assets.workerUrl,
      { type: "module", deno: { permissions: "none" } } as WorkerOptions,
    );
    this.#worker = worker;
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      this.end();
      this.#options.sendToHost(encodeFrame(FrameKind.lost, this.#session, encodeLost(event.message)));
    });
    worker.postMessage({
      ...await assets.forWorkers,
      ...options,
      incoming: this.#incoming.buffer,
      outbox: this.#outbox.buffer,
      interrupt: this.#interrupt.buffer,
      ...(this.#options.isDirect && { directSession: this.#session }),
    });
    if (!this.#options.isDirect) await this.#forwardFrames();
  }

  /** Passes a frame, or a part of a frame, to the worker. Queues a copy while the worker does not take frames. */
  send(bytes: Uint8Array): void {
    const count = this.#isWriting ? 0 : this.#incoming.writeSome(bytes, 0);
    if (count > 0) this.#incoming.notify();
    if (count === bytes.length) return;
    this.#queue.push(bytes.slice(count));
    if (!this.#isWriting) this.#writeQueue();
  }

  /** Raises KeyboardInterrupt in the running code, even while it waits, and sends its output. */
  interrupt(): void {
    this.#interrupt[0] = SIGINT;
    this.#incoming.wake();
    this.flush();
  }

  /** Sends the output that the worker holds back. */
  flush(): void {
    if (this.#paused) return;
    this.#outbox.drain((bytes) =>
      this.#options.isDirect ? this.#options.sendToHost(bytes) : this.#forward(bytes)
    );
  }

  /** Sends no frames to the host until {@linkcode resume}. The worker waits once its outbox is full. */
  pause(): void {
    this.#paused ??= Promise.withResolvers();
    this.#outbox.setPaused(true);
  }

  /** Sends frames again. */
  resume(): void {
    if (!this.#paused) return;
    this.#paused.resolve();
    this.#paused = undefined;
    this.#outbox.setPaused(false);
    this.flush();
  }

  /**
   * Ends the worker at its next wait, or at the next clock call of a bounded module. It does not stop JavaScript,
   * or code of a module without bounds: only the end of the process stops these.
   */
  kill(): void {
    this.#interrupt[KILL_SWITCH] = 1;
    this.resume();
    this.interrupt();
    this.#outbox.wake();
    this.send(encodeFrame(FrameKind.close, 0));
  }

  /** Releases the worker. Code that still runs in it is not stopped. */
  end(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    this.resume();
    this.#incoming.wake();
    this.#outbox.cancelWait();
  }

  async #writeQueue(): Promise<void> {
    this.#isWriting = true;
    for (let bytes = this.#queue.shift(); bytes; bytes = this.#queue.shift()) {
      for (let done = 0; done < bytes.length && this.#worker;) {
        const seen = this.#incoming.read;
        const count = this.#incoming.writeSome(bytes, done);
        this.#incoming.notify();
        const hasYielded = count > 0 || await this.#incoming.waitRoom(seen);
        if (!hasYielded) await yieldThread(); // a hostile worker may change the counter all the time
        done += count;
      }
    }
    this.#isWriting = false;
  }

  async #forwardFrames(): Promise<void> {
    let idleAt = performance.now();
    while (this.#worker) {
      await this.#paused?.promise;
      const seen = this.#outbox.calls;
      this.flush();
      if (this.#worker && await this.#outbox.waitCall(seen)) idleAt = performance.now();
      if (performance.now() - idleAt < BUSY_MS) continue;
      await yieldThread();
      idleAt = performance.now();
    }
  }

  #forward(bytes: Uint8Array): void {
    const frames = this.#frames.push(bytes);
    if (frames.length > 0) this.#options.sendToHost(frames);
    if (this.#frames.ended) this.end();
  }
}

/** Lets this thread run other tasks. */
async function yieldThread(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve));
}

/** Turns a worker's bytes into whole frames of its session. */
export class SessionFrames {
  /** True once the worker has sent `closed` or `lost`. */
  ended = false;
  readonly #session: number;
  #rest = new Uint8Array(0);
  #restBytes = 0;

  constructor(session: number) {
    this.#session = session;
  }

  /**
   * Adds a piece and returns the frames that are complete now. It works in place: `piece` is overwritten, and the
   * returned bytes are valid until the next call.
   *
   * @throws {RangeError} if a frame announces more than `MAX_FRAME_BYTES`.
   */
  push(piece: Uint8Array): Uint8Array {
    const bytes = this.#prependRest(piece);
    let read = 0;
    while (bytes.length - read >= FRAME_HEAD_BYTES) {
      const payloadBytes = payloadLength(bytes, read);
      const end = read + FRAME_HEAD_BYTES + payloadBytes;
      if (end > bytes.length) break;
      const kind = bytes[read + 6] as number;
      writeFrameHead(bytes, { payloadBytes, session: this.#session, kind }, read);
      this.ended ||= kind === FrameKind.closed || kind === FrameKind.lost;
      read = end;
    }
    const frames = bytes.subarray(0, read);
    this.#storeRest(bytes, read);
    return frames;
  }

  #prependRest(piece: Uint8Array): Uint8Array {
    if (this.#restBytes === 0) return piece;
    const bytes = this.#restBytes + piece.length;
    if (bytes > this.#rest.length) {
      const grown = new Uint8Array(Math.max(2 * this.#rest.length, bytes));
      grown.set(this.#rest.subarray(0, this.#restBytes));
      this.#rest = grown;
    }
    this.#rest.set(piece, this.#restBytes);
    return this.#rest.subarray(0, bytes);
  }

  /** Stores the bytes after the last whole frame. Without a whole frame they may already be in place. */
  #storeRest(bytes: Uint8Array, read: number): void {
    this.#restBytes = bytes.length - read;
    if (read > 0 || bytes.buffer !== this.#rest.buffer) this.#rest = bytes.slice(read);
  }
}
