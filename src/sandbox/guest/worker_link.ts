import {
  encodeFrame,
  encodeLost,
  FRAME_HEAD_BYTES,
  FrameKind,
  payloadLength,
  writeFrameHead,
} from "../protocol.ts";
import type { Assets } from "./assets.ts";
import { KILL_SWITCH, Ring } from "./ring.ts";

const RING_BYTES = 256 * 1024;
const SIGINT = 2;
/** Longest time, in milliseconds, that a worker's constant output may delay the host's frames. */
const BUSY_MS = 5;
/** Longest time, in milliseconds, that output is buffered. */
const BUFFER_MS = 2;

/** The supervisor's end of a session: a worker and two rings. */
export class WorkerLink {
  readonly #session: number;
  readonly #sendToHost: (bytes: Uint8Array) => void;
  readonly #incoming = Ring.create(RING_BYTES);
  readonly #outgoing = Ring.create(RING_BYTES);
  readonly #interrupt = new Uint8Array(new SharedArrayBuffer(4));
  readonly #queue: Uint8Array[] = [];
  #worker: Worker | undefined;
  #isWriting = false;
  #readTimer: ReturnType<typeof setTimeout> | undefined;
  #paused: PromiseWithResolvers<void> | undefined;

  constructor(session: number, sendToHost: (bytes: Uint8Array) => void) {
    this.#session = session;
    this.#sendToHost = sendToHost;
  }

  /** Starts the worker and forwards its frames to the host. Resolves when the worker has ended. */
  async start(assets: Assets, options: { seed?: number }): Promise<void> {
    const worker = new Worker(
      assets.workerUrl,
      { type: "module", deno: { permissions: "none" } } as WorkerOptions,
    );
    this.#worker = worker;
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      this.end();
      this.#sendToHost(encodeFrame(FrameKind.lost, this.#session, encodeLost(event.message)));
    });
    worker.postMessage({
      ...await assets.forWorkers,
      ...options,
      incoming: this.#incoming.buffer,
      outgoing: this.#outgoing.buffer,
      interrupt: this.#interrupt.buffer,
    });
    await this.#forwardFrames();
  }

  /** Queues a frame for the worker. */
  send(bytes: Uint8Array): void {
    this.#queue.push(bytes);
    this.#delayRead();
    if (!this.#isWriting) this.#writeQueue();
  }

  /** Raises KeyboardInterrupt in the running code, even while it waits. */
  interrupt(): void {
    this.#interrupt[0] = SIGINT;
    this.#incoming.wake();
  }

  /** Forwards no frames until {@linkcode resume}. The worker waits once its ring is full. */
  pause(): void {
    this.#paused ??= Promise.withResolvers();
  }

  /** Forwards frames again. */
  resume(): void {
    this.#paused?.resolve();
    this.#paused = undefined;
  }

  /**
   * Ends the worker at its next wait, or at the next clock call of a bounded module. It does not stop JavaScript,
   * or code of a module without bounds: only the end of the process stops these.
   */
  kill(): void {
    this.#interrupt[KILL_SWITCH] = 1;
    this.resume();
    this.interrupt();
    this.send(encodeFrame(FrameKind.close, 0));
  }

  /** Releases the worker. Code that still runs in it is not stopped. */
  end(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#cancelDelay();
    this.resume();
    this.#incoming.wake();
    this.#outgoing.wake();
  }

  async #writeQueue(): Promise<void> {
    this.#isWriting = true;
    for (let bytes = this.#queue.shift(); bytes; bytes = this.#queue.shift()) {
      for (let done = 0; done < bytes.length && this.#worker;) {
        const seen = this.#incoming.counterOf("read");
        const count = this.#incoming.writeSome(bytes, done);
        this.#incoming.notify();
        const hasYielded = count > 0 || await this.#incoming.waitChange("read", seen);
        if (!hasYielded) await yieldThread(); // a hostile worker may change the counter all the time
        done += count;
      }
    }
    this.#isWriting = false;
  }

  async #forwardFrames(): Promise<void> {
    const merger = new FrameMerger(this.#session);
    const piece = new Uint8Array(RING_BYTES);
    let idleAt = performance.now();
    while (this.#worker) {
      await this.#paused?.promise;
      const seen = this.#outgoing.counterOf("calls");
      const count = this.#outgoing.readSome(piece);
      if (count > 0) this.#forwardPiece(merger, piece.subarray(0, count));
      const mayWait = this.#readTimer !== undefined || this.#outgoing.markAsleep();
      if (mayWait && await this.#outgoing.waitChange("calls", seen)) idleAt = performance.now();
      if (performance.now() - idleAt < BUSY_MS) continue;
      await yieldThread();
      idleAt = performance.now();
    }
  }

  #forwardPiece(merger: FrameMerger, piece: Uint8Array): void {
    const frames = merger.push(piece);
    if (frames.length > 0) this.#sendToHost(frames);
    if (merger.ended) this.end();
    else if (merger.endedInOutput) this.#delayRead();
    else this.#cancelDelay();
  }

  /** Leaves buffered output in the ring for a moment, so that more of it is read at once. */
  #delayRead(): void {
    if (!this.#worker) return;
    this.#outgoing.markAwake();
    this.#readTimer ??= setTimeout(() => {
      this.#cancelDelay();
      this.#outgoing.notify();
    }, BUFFER_MS);
  }

  #cancelDelay(): void {
    clearTimeout(this.#readTimer);
    this.#readTimer = undefined;
  }
}

/** Lets this thread run other tasks. */
async function yieldThread(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve));
}

/** From this length on, one call of `copyWithin` is faster than a loop. */
const LONG_BYTES = 48;

/** Turns a worker's bytes into whole frames for the host. Merges neighbouring output frames of one stream. */
export class FrameMerger {
  /** True once the worker has sent `closed` or `lost`. */
  ended = false;
  /** True if the last whole frame was output, so that more may follow soon. */
  endedInOutput = false;
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
    let [read, written, head] = [0, 0, -1];
    while (bytes.length - read >= FRAME_HEAD_BYTES) {
      const length = payloadLength(bytes, read);
      const end = read + FRAME_HEAD_BYTES + length;
      if (end > bytes.length) break;
      const kind = bytes[read + 6] as number;
      if (head < 0 || !isOutput(kind) || bytes[head + 6] !== kind) {
        head = written;
        written += FRAME_HEAD_BYTES;
      }
      move(bytes, { to: written, from: end - length, count: length });
      written += length;
      writeFrameHead(
        bytes,
        { payloadBytes: written - head - FRAME_HEAD_BYTES, session: this.#session, kind },
        head,
      );
      this.#track(kind);
      read = end;
    }
    const frames = bytes.subarray(0, written);
    this.#storeRest(bytes, read);
    return frames;
  }

  #track(kind: number): void {
    this.endedInOutput = isOutput(kind);
    this.ended ||= kind === FrameKind.closed || kind === FrameKind.lost;
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

function isOutput(kind: number): boolean {
  return kind === FrameKind.stdout || kind === FrameKind.stderr;
}

function move(bytes: Uint8Array, { to, from, count }: { to: number; from: number; count: number }): void {
  if (to === from) return;
  if (count >= LONG_BYTES) bytes.copyWithin(to, from, from + count);
  else for (let i = 0; i < count; i++) bytes[to + i] = bytes[from + i] as number;
}
