import {
  encodeFrame,
  FRAME_HEAD_BYTES,
  FrameKind,
  FrameSplitter,
  join,
  writeFrameHead,
} from "../protocol.ts";
import type { Assets } from "./assets.ts";
import { KILL_SWITCH } from "./kill_switch.ts";
import { Ring } from "./ring.ts";

const RING_BYTES = 256 * 1024;
const SIGINT = 2;
/** How long a worker that never stops writing may keep the supervisor from hearing the host. */
const BUSY_MS = 5;

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
      this.#sendToHost(encodeFrame(FrameKind.lost, this.#session, event.message));
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
    this.#incoming.wake();
    this.#outgoing.wake();
  }

  async #feed(): Promise<void> {
    this.#feeding = true;
    for (let bytes = this.#waiting.shift(); bytes; bytes = this.#waiting.shift()) {
      for (let done = 0; done < bytes.length && this.#worker;) {
        const seen = this.#incoming.seen("read");
        const count = this.#incoming.writeSome(bytes, done);
        const hasRested = count > 0 || await this.#incoming.changed("read", seen);
        if (!hasRested) await turn(); // a worker may change the counter without end
        done += count;
      }
    }
    this.#feeding = false;
  }

  async #passOn(): Promise<void> {
    const splitter = new FrameSplitter();
    const piece = new Uint8Array(RING_BYTES);
    let idleAt = performance.now();
    while (this.#worker) {
      const seen = this.#outgoing.seen("written");
      const count = this.#outgoing.readSome(piece);
      if (count > 0) this.#forward(splitter, piece.subarray(0, count));
      else if (await this.#outgoing.changed("written", seen)) idleAt = performance.now();
      if (performance.now() - idleAt < BUSY_MS) continue;
      await turn();
      idleAt = performance.now();
    }
  }

  /** Sends on whole frames under the session's number; neighbours that are output travel as one. */
  #forward(splitter: FrameSplitter, piece: Uint8Array): void {
    const groups: { kind: number; payloads: Uint8Array[] }[] = [];
    for (const { kind, payload } of splitter.push(piece)) {
      const last = groups.at(-1);
      if (last?.kind === kind && isOutput(kind)) last.payloads.push(payload);
      else groups.push({ kind, payloads: [payload] });
    }
    if (groups.some(({ kind }) => kind === FrameKind.closed || kind === FrameKind.lost)) this.end();
    if (groups.length > 0) this.#sendToHost(join(groups.flatMap((group) => this.#frameOf(group))));
  }

  /** The pieces of one frame: its head, and what it carries. */
  #frameOf({ kind, payloads }: { kind: number; payloads: Uint8Array[] }): Uint8Array[] {
    const head = new Uint8Array(FRAME_HEAD_BYTES);
    const payloadBytes = payloads.reduce((sum, { length }) => sum + length, 0);
    writeFrameHead(head, { payloadBytes, session: this.#session, kind });
    return [head, ...payloads];
  }
}

/** Lets this thread do other things. */
async function turn(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve));
}

function isOutput(kind: number): boolean {
  return kind === FrameKind.stdout || kind === FrameKind.stderr;
}
