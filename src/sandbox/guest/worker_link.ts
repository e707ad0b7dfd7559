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
/** How long a worker that never stops writing may keep the supervisor from hearing the host. */
const BUSY_MS = 5;
/** How long output may wait for more of it, or for the end of what wrote it. */
const GATHER_MS = 2;

/** The supervisor's end of one session: a worker and two rings. */
export class WorkerLink {
  readonly #session: number;
  readonly #sendToHost: (bytes: Uint8Array) => void;
  readonly #incoming = Ring.create(RING_BYTES);
  readonly #outgoing = Ring.create(RING_BYTES);
  readonly #interrupt = new Uint8Array(new SharedArrayBuffer(4));
  readonly #waiting: Uint8Array[] = [];
  #worker: Worker | undefined;
  #feeding = false;
  #gathering: ReturnType<typeof setTimeout> | undefined;

  constructor(session: number, sendToHost: (bytes: Uint8Array) => void) {
    this.#session = session;
    this.#sendToHost = sendToHost;
  }

  /** Starts the worker and passes on what it sends; resolves when the worker has ended. */
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
      ...await assets.rest,
      ...options,
      incoming: this.#incoming.buffer,
      outgoing: this.#outgoing.buffer,
      interrupt: this.#interrupt.buffer,
    });
    await this.#passOn();
  }

  /** Queues a frame for the worker, which may be busy for long. */
  send(bytes: Uint8Array): void {
    this.#waiting.push(bytes);
    this.#gather();
    if (!this.#feeding) this.#feed();
  }

  /** Raises KeyboardInterrupt in what runs now, also when it waits. */
  interrupt(): void {
    this.#interrupt[0] = SIGINT;
    this.#incoming.wake();
  }

  /**
   * Has the worker end, whatever it does: where it waits, and where a bounded module calls its clock. Code of a
   * module without bounds, and JavaScript, goes on: only the end of the process stops that.
   */
  kill(): void {
    this.#interrupt[KILL_SWITCH] = 1;
    this.interrupt();
    this.send(encodeFrame(FrameKind.close, 0));
  }

  /** Lets go of the worker. One that still runs is not stopped by it. */
  end(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#stopGathering();
    this.#incoming.wake();
    this.#outgoing.wake();
  }

  async #feed(): Promise<void> {
    this.#feeding = true;
    for (let bytes = this.#waiting.shift(); bytes; bytes = this.#waiting.shift()) {
      for (let done = 0; done < bytes.length && this.#worker;) {
        const seen = this.#incoming.seen("read");
        const count = this.#incoming.writeSome(bytes, done);
        this.#incoming.notify();
        const hasRested = count > 0 || await this.#incoming.changed("read", seen);
        if (!hasRested) await turn(); // a worker may change the counter without end
        done += count;
      }
    }
    this.#feeding = false;
  }

  async #passOn(): Promise<void> {
    const merger = new FrameMerger(this.#session);
    const piece = new Uint8Array(RING_BYTES);
    let idleAt = performance.now();
    while (this.#worker) {
      const seen = this.#outgoing.seen("calls");
      const count = this.#outgoing.readSome(piece);
      if (count > 0) this.#forward(merger, piece.subarray(0, count));
      const isRest = this.#gathering !== undefined || this.#outgoing.sleep();
      if (isRest && await this.#outgoing.changed("calls", seen)) idleAt = performance.now();
      if (performance.now() - idleAt < BUSY_MS) continue;
      await turn();
      idleAt = performance.now();
    }
  }

  #forward(merger: FrameMerger, piece: Uint8Array): void {
    const frames = merger.push(piece);
    if (frames.length > 0) this.#sendToHost(frames);
    if (merger.ended) this.end();
    else if (merger.endedInOutput) this.#gather();
    else this.#stopGathering();
  }

  /** Has what the worker writes lie for a while, if it can wait. */
  #gather(): void {
    if (!this.#worker) return;
    this.#outgoing.stayAwake();
    this.#gathering ??= setTimeout(() => {
      this.#stopGathering();
      this.#outgoing.notify();
    }, GATHER_MS);
  }

  #stopGathering(): void {
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
  }
}

/** Lets this thread do other things. */
async function turn(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve));
}

/** From here on one call that moves many bytes takes less than a loop. */
const LONG_BYTES = 48;

/** Makes of what a worker sends what the host gets: whole frames, of which neighbours that are output are one. */
export class FrameMerger {
  /** Whether the worker has said that it is over. */
  ended = false;
  /** Whether the last whole frame was output, behind which more may come soon. */
  endedInOutput = false;
  readonly #session: number;
  #rest = new Uint8Array(0);
  #restBytes = 0;

  constructor(session: number) {
    this.#session = session;
  }

  /**
   * Takes a piece, in which it works, and gives the frames that are whole now; they are good until the next call.
   *
   * @throws {RangeError} when a frame is longer than any may be.
   */
  push(piece: Uint8Array): Uint8Array {
    const bytes = this.#withRest(piece);
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
      this.#note(kind);
      read = end;
    }
    const frames = bytes.subarray(0, written);
    this.#keep(bytes, read);
    return frames;
  }

  #note(kind: number): void {
    this.endedInOutput = isOutput(kind);
    this.ended ||= kind === FrameKind.closed || kind === FrameKind.lost;
  }

  #withRest(piece: Uint8Array): Uint8Array {
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

  /** Keeps what follows the last whole frame, which may stay where it is while there was none. */
  #keep(bytes: Uint8Array, read: number): void {
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
