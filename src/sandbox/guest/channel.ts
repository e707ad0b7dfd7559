import { encodeFrame, FRAME_HEAD_BYTES, type FrameKind, payloadLength, writeFrameHead } from "../protocol.ts";
import { Ring, throwIfKilled } from "./ring.ts";

/** The worker's end of its two rings. Sends and receives whole frames, and blocks. */
export class Channel {
  readonly #incoming: Ring;
  readonly #outgoing: Ring;
  readonly #interrupt: Uint8Array;
  readonly #now: () => number;
  readonly #head = new Uint8Array(FRAME_HEAD_BYTES);
  #waitedMs = 0;

  constructor(
    rings: {
      incoming: SharedArrayBuffer;
      outgoing: SharedArrayBuffer;
      interrupt: Uint8Array;
      now: () => number;
    },
  ) {
    this.#incoming = new Ring(rings.incoming);
    this.#outgoing = new Ring(rings.outgoing);
    this.#interrupt = rings.interrupt;
    this.#now = rings.now;
  }

  /** Time that this thread has waited for frames and in pauses, in milliseconds. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  /** Returns the next frame. Blocks until it has arrived. */
  receive(): { kind: number; payload: Uint8Array<ArrayBuffer> } {
    const head = new Uint8Array(FRAME_HEAD_BYTES);
    const start = this.#now();
    this.#incoming.read(head);
    this.#waitedMs += this.#now() - start;
    const payload = new Uint8Array(payloadLength(head));
    this.#incoming.read(payload);
    return { kind: head[6] as number, payload };
  }

  /** Blocks until a frame or an interrupt arrives, for at most `ms`. Returns true if a frame is available. */
  wait(ms: number): boolean {
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
    const start = this.#now();
    for (let left = ms; left > 0 && this.#interrupt[0] === 0; left = start + ms - this.#now()) {
      this.#incoming.waitNotify(Math.min(left, 50));
    }
    this.#waitedMs += this.#now() - start;
    throwIfKilled(this.#interrupt);
  }

  /** Sends one frame. Blocks while the ring is full. */
  send(kind: FrameKind, payload: Uint8Array): void {
    this.#outgoing.write(encodeFrame(kind, 0, payload));
    this.#outgoing.notify();
  }

  /**
   * Sends the bytes from `start` to `end` as one frame that the supervisor may read a moment later. The bytes are
   * in shared memory at once, so the supervisor can read them even if this worker ends.
   */
  sendBuffered(kind: FrameKind, bytes: Uint8Array, start: number, end: number): void {
    writeFrameHead(this.#head, { payloadBytes: end - start, session: 0, kind });
    this.#outgoing.write(this.#head);
    this.#outgoing.write(bytes, start, end);
    this.#outgoing.notifyIfDue();
  }
}
