import { encodeFrame, FRAME_HEAD_BYTES, type FrameKind, payloadLength, writeFrameHead } from "../protocol.ts";
import { Ring, throwIfKilled } from "./ring.ts";

/** The worker's end of its two rings: whole frames, blocking. */
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

  /** Waits for the next frame. */
  receive(): { kind: number; payload: Uint8Array<ArrayBuffer> } {
    const head = new Uint8Array(FRAME_HEAD_BYTES);
    this.#incoming.read(head);
    const payload = new Uint8Array(payloadLength(head));
    this.#incoming.read(payload);
    return { kind: head[6] as number, payload };
  }

  /** Waits for at most `ms` for a frame or an interrupt; says whether a frame is there. */
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

  /** Waits for `ms` or an interrupt, whatever arrives. */
  pause(ms: number, now: () => number): void {
    const end = now() + ms;
    for (let left = ms; left > 0 && this.#interrupt[0] === 0; left = end - now()) {
      this.#incoming.waitNotify(Math.min(left, 50));
    }
    throwIfKilled(this.#interrupt);
  }

  /** Sends one frame and waits while there is no room. */
  send(kind: FrameKind, payload: Uint8Array): void {
    this.#outgoing.write(encodeFrame(kind, 0, payload));
    this.#outgoing.notify();
  }

  /**
   * Sends the bytes from `start` to `end` as one frame that the supervisor may leave where it is for a moment. It
   * is there for the supervisor at once all the same, whatever becomes of this worker.
   */
  sendBuffered(kind: FrameKind, bytes: Uint8Array, start: number, end: number): void {
    writeFrameHead(this.#head, { payloadBytes: end - start, session: 0, kind });
    this.#outgoing.write(this.#head);
    this.#outgoing.write(bytes, start, end);
    this.#outgoing.notifyIfDue();
  }
}
