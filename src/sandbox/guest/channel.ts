import { FRAME_HEAD_BYTES, type FrameKind, payloadLength } from "../protocol.ts";
import { FrameWriter, type FrameWriterParts } from "./outbox.ts";
import { Ring, throwIfKilled } from "./ring.ts";

/** Longest time, in milliseconds, for which output is held back while the program runs Python code. */
const BUFFER_MS = 2;

/** Parts of a {@linkcode Channel}. */
export interface ChannelParts extends FrameWriterParts {
  readonly incoming: SharedArrayBuffer;
  readonly now: () => number;
}

/** The worker's end of the connection to the host. Sends and receives whole frames, and blocks. */
export class Channel {
  readonly #incoming: Ring;
  readonly #outgoing: FrameWriter;
  readonly #interrupt: Uint8Array;
  readonly #now: () => number;
  readonly #head = new Uint8Array(FRAME_HEAD_BYTES);
  #waitedMs = 0;
  /** True if output is held back. */
  #isHolding = false;
  #sentAt = 0;

  constructor(parts: ChannelParts) {
    this.#incoming = new Ring(parts.incoming);
    this.#outgoing = new FrameWriter(parts);
    this.#interrupt = parts.interrupt;
    this.#now = parts.now;
  }

  /** Time that this thread has waited for frames and in pauses, in milliseconds. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  /** Returns the next frame. Blocks until it has arrived. */
  receive(): { kind: number; payload: Uint8Array<ArrayBuffer> } {
    const start = this.#now();
    this.#incoming.fill(this.#head);
    this.#waitedMs += this.#now() - start;
    const kind = this.#head[6] as number;
    const payload = new Uint8Array(payloadLength(this.#head));
    this.#incoming.fill(payload);
    return { kind, payload };
  }

  /** Blocks until a frame or an interrupt arrives, for at most `ms`. Returns true if a frame is available. */
  wait(ms: number): boolean {
    if (this.#isHolding) this.#send();
    const start = this.#now();
    for (let now = start;; now = this.#now()) {
      throwIfKilled(this.#interrupt);
      const left = start + ms - now;
      const isAvailable = this.#incoming.available() > 0;
      if (isAvailable || left <= 0 || this.#interrupt[0] !== 0) {
        this.#waitedMs += now - start;
        return isAvailable;
      }
      this.#incoming.wait(Math.min(left, 50));
    }
  }

  /** Blocks for `ms` or until an interrupt. Frames that arrive stay in the ring. */
  pause(ms: number): void {
    if (this.#isHolding) this.#send();
    const start = this.#now();
    for (let left = ms; left > 0 && this.#interrupt[0] === 0; left = start + ms - this.#now()) {
      this.#incoming.waitNotify(Math.min(left, 50));
    }
    this.#waitedMs += this.#now() - start;
    throwIfKilled(this.#interrupt);
  }

  /** Sends a frame, and the output that was held back before it. Blocks while the host does not read. */
  send(kind: FrameKind, payload: Uint8Array): void {
    this.#outgoing.add(kind, payload);
    this.#send();
  }

  /**
   * Adds the bytes from `start` to `end` to the output. It is sent with the next frame, before the worker waits, or
   * when the last frame was sent {@linkcode BUFFER_MS} ago and Python looks for signals, writes or calls this thread.
   * It is in shared memory, so the supervisor can send it even if this worker ends or computes for a long time.
   */
  addOutput(kind: FrameKind, bytes: Uint8Array, start: number, end: number): void {
    this.#outgoing.add(kind, bytes, start, end);
    this.#isHolding = true;
    if (this.#outgoing.isFilling) this.#send();
    else this.sendIfDue();
  }

  /** Sends output that was held back for long enough. */
  sendIfDue(): void {
    if (this.#isHolding && this.#now() - this.#sentAt > BUFFER_MS) this.#send();
  }

  #send(): void {
    this.#isHolding = false;
    this.#outgoing.send();
    this.#sentAt = this.#now();
  }
}
