import { encodeFrame, FRAME_HEAD_BYTES, type FrameKind, payloadLength, writeFrameHead } from "../protocol.ts";
import { Ring, throwIfKilled } from "./ring.ts";

/** The worker's end of its two rings. Sends and receives whole frames, and blocks. */
export class Channel {
  readonly #incoming: Ring;
  readonly #outgoing: Ring;
  readonly #interrupt: Uint8Array;
  readonly #head = new Uint8Array(FRAME_HEAD_BYTES);

  constructor(rings: { incoming: SharedArrayBuffer; outgoing: SharedArrayBuffer; interrupt: Uint8Array }) {
    this.#incoming = new Ring(rings.incoming);
    this.#outgoing = new Ring(rings.outgoing);
    this.#interrupt = rings.interrupt;
  }

  /** Returns the next frame. Blocks until it has arrived. */
  receive(): { kind: number; payload: Uint8Array<ArrayBuffer> } {
    const head = new Uint8Array(FRAME_HEAD_BYTES);
    this.#incoming.read(head);
    const payload = new Uint8Array(payloadLength(head));
    this.#incoming.read(payload);
    return { kind: head[6] as number, payload };
  }

  /** Blocks until a frame or an interrupt arrives, for at most `ms`. Returns true if a frame is available. */
  wait(ms: number, now: () => number): boolean {
    const end = now() + ms;
    for (;;) {
      throwIfKilled(this.#interrupt);
      if (this.#incoming.available() > 0) return true;
      const left = end - now();
      if (left <= 0 || this.#interrupt[0] !== 0) return false;
      this.#incoming.wait(Math.min(left, 50));
    }
  }

  /** Blocks for `ms` or until an interrupt. Frames that arrive stay in the ring. */
  pause(ms: number, now: () => number): void {
    const end = now() + ms;
    for (let left = ms; left > 0 && this.#interrupt[0] === 0; left = end - now()) {
      this.#incoming.waitNotify(Math.min(left, 50));
    }
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
