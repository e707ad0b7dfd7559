import { WINDOW_BYTES } from "../packets.ts";
import { EgressError } from "./egress_policy.ts";
import { MAX_BODY_BYTES } from "./exchange.ts";

const PIECE_BYTES = 64 * 1024;
/** Maximum size of what waits for a program, in bytes: a few whole responses. */
const MAX_WAITING_BYTES = 2 * MAX_BODY_BYTES;

/** Options of {@linkcode OutputWindow}. */
export interface OutputWindowOptions {
  readonly onData: (piece: Uint8Array) => void;
  /** Called once, when all data before the end were sent. */
  readonly onEnd: () => void;
}

/** Data for a program, which are sent as the program gives room. */
export class OutputWindow {
  readonly #options: OutputWindowOptions;
  readonly #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #credit = WINDOW_BYTES;
  #isEnding = false;

  constructor(options: OutputWindowOptions) {
    this.#options = options;
  }

  /** True if nothing waits. */
  get isEmpty(): boolean {
    return this.#waitingBytes === 0;
  }

  /**
   * Adds data.
   *
   * @throws {EgressError} if too much waits, as the program sends requests and takes no responses.
   */
  push(bytes: Uint8Array): void {
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes > MAX_WAITING_BYTES) {
      throw new EgressError(
        "ENOBUFS",
        `more than ${MAX_WAITING_BYTES} bytes of responses wait for the program`,
      );
    }
    this.#waiting.push(bytes);
    this.#flush();
  }

  /** Gives room for so many bytes more. */
  addCredit(bytes: number): void {
    this.#credit = Math.min(this.#credit + bytes, WINDOW_BYTES);
    this.#flush();
  }

  /** Ends the data. */
  end(): void {
    this.#isEnding = true;
    this.#flush();
  }

  #flush(): void {
    for (let first = this.#waiting[0]; first && this.#credit > 0; first = this.#waiting[0]) {
      const piece = first.slice(0, Math.min(this.#credit, PIECE_BYTES));
      this.#credit -= piece.length;
      this.#waitingBytes -= piece.length;
      if (piece.length === first.length) this.#waiting.shift();
      else this.#waiting[0] = first.subarray(piece.length);
      if (piece.length > 0) this.#options.onData(piece);
    }
    if (!this.#isEnding || !this.isEmpty) return;
    this.#isEnding = false;
    this.#options.onEnd();
  }
}
