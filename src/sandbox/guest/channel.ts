import { encodeFrame, FRAME_HEAD_BYTES, type FrameKind, MAX_FRAME_BYTES } from "../protocol.ts";
import { dieWhenTold } from "./kill_switch.ts";
import { Ring } from "./ring.ts";

/** The worker's end of its two rings: whole frames, blocking. */
export class Channel {
  readonly #incoming: Ring;
  readonly #outgoing: Ring;
  readonly #interrupt: Uint8Array;

  constructor(rings: { incoming: SharedArrayBuffer; outgoing: SharedArrayBuffer; interrupt: Uint8Array }) {
    this.#incoming = new Ring(rings.incoming);
    this.#outgoing = new Ring(rings.outgoing);
    this.#interrupt = rings.interrupt;
  }

  /** Waits for the next frame. */
  receive(): { kind: number; payload: Uint8Array<ArrayBuffer> } {
    const head = new Uint8Array(FRAME_HEAD_BYTES);
    this.#incoming.read(head);
    const bytes = new DataView(head.buffer).getUint32(0, true);
    if (bytes > MAX_FRAME_BYTES) throw new RangeError(`frame of ${bytes} bytes`);
    const payload = new Uint8Array(bytes);
    this.#incoming.read(payload);
    return { kind: head[6] as number, payload };
  }

  /** Waits for at most `ms` for a frame or an interrupt; says whether a frame is there. */
  wait(ms: number, now: () => number): boolean {
    const end = now() + ms;
    for (;;) {
      dieWhenTold(this.#interrupt);
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
      this.#incoming.rest(Math.min(left, 50));
    }
    dieWhenTold(this.#interrupt);
  }

  /** Sends one frame and waits while there is no room. */
  send(kind: FrameKind, payload: Uint8Array): void {
    this.#outgoing.write(encodeFrame(kind, 0, payload));
  }
}
