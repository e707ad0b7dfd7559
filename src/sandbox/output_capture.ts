import type { MimeBundle } from "./exec.ts";
import { parseDisplay } from "./guest_frames.ts";
import { DISPLAY_COST_BYTES, MAX_DISPLAY_BYTES, MAX_DISPLAYS, OUTPUT_PIECE_BYTES } from "./protocol.ts";

/** Collects what a program shows. It enforces the limits again, as the guest is not trusted to. */
export class DisplayCapture {
  readonly #onBundle: (bundle: MimeBundle) => void;
  #bundles: MimeBundle[] = [];
  #bytes = 0;
  #invalid = 0;

  constructor(onBundle: (bundle: MimeBundle) => void) {
    this.#onBundle = onBundle;
  }

  /** The bundles that the program has not removed. */
  get bundles(): readonly MimeBundle[] {
    return this.#bundles;
  }

  /** Number of bundles that were dropped since they are invalid. */
  get invalid(): number {
    return this.#invalid;
  }

  /**
   * Adds the payload of a frame. An empty one removes all bundles.
   *
   * @throws {RangeError} if the guest sent more than the limits, which its own side must enforce.
   */
  push(payload: Uint8Array): void {
    this.#bytes += payload.length + DISPLAY_COST_BYTES;
    if (payload.length === 0) this.#bundles = [];
    if (this.#bytes > MAX_DISPLAY_BYTES || this.#bundles.length === MAX_DISPLAYS) {
      throw new RangeError("more data to show than the limit");
    }
    if (payload.length === 0) return;
    const bundle = parseDisplay(payload);
    if (bundle) {
      this.#bundles.push(bundle);
      this.#onBundle(bundle);
    } else {
      this.#invalid++;
    }
  }
}

/**
 * Collects the output of one exec for each stream. It enforces the output limit again, as the guest is not trusted
 * to.
 */
export class OutputCapture {
  readonly stdout: StreamText;
  readonly stderr: StreamText;
  #remainingBytes: number;
  #last: "stdout" | "stderr" | undefined;

  constructor(options: {
    outputBytes: number;
    onOutput?: ((stream: "stdout" | "stderr", text: string) => void) | undefined;
  }) {
    this.#remainingBytes = options.outputBytes;
    const { onOutput } = options;
    this.stdout = new StreamText(onOutput && ((text) => onOutput("stdout", text)));
    this.stderr = new StreamText(onOutput && ((text) => onOutput("stderr", text)));
  }

  /**
   * Adds the payload of a frame.
   *
   * @throws {RangeError} if the guest sent more than the limit, which its own side must enforce.
   */
  push(stream: "stdout" | "stderr", bytes: Uint8Array): void {
    if (this.#last !== undefined && this.#last !== stream) this.#remainingBytes -= OUTPUT_PIECE_BYTES;
    this.#last = stream;
    this.#remainingBytes -= bytes.length;
    if (this.#remainingBytes < 0) throw new RangeError("more output than the limit");
    this[stream].push(bytes);
  }
}

/** So many pieces are kept before they are joined: each takes memory beside its text. */
const MAX_PIECES = 1000;

/** Text of one stream. It joins characters that are split over two frames. */
class StreamText {
  #decoder: TextDecoder | undefined;
  readonly #onText: ((text: string) => void) | undefined;
  #pieces: string[] = [];

  constructor(onText: ((text: string) => void) | undefined) {
    this.#onText = onText;
  }

  push(bytes: Uint8Array): void {
    this.#decoder ??= new TextDecoder();
    this.#add(this.#decoder.decode(bytes, { stream: true }));
  }

  /** The text until now, without a character that is not whole. */
  get text(): string {
    if (this.#pieces.length > 1) this.#pieces = [this.#pieces.join("")];
    return this.#pieces[0] ?? "";
  }

  /** Ends the stream and returns its text. */
  end(): string {
    if (this.#decoder) this.#add(this.#decoder.decode());
    return this.text;
  }

  #add(text: string): void {
    if (text === "") return;
    this.#pieces.push(text);
    if (this.#pieces.length > MAX_PIECES) this.#pieces = [this.#pieces.join("")];
    this.#onText?.(text);
  }
}
