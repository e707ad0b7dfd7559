import { errorMessage, SandboxError } from "../errors.ts";
import type { ChildEnd } from "./child.ts";
import { type Frame, FrameKind } from "./protocol.ts";

/** Why an interpreter is gone. */
export interface Loss {
  /** `closed`: its owner wants it no more; `killed`: it did not stop. */
  readonly reason: "closed" | "killed" | "memory" | "cpu" | "protocol" | "crashed";
  readonly message: string;
  /** True when the guest has ended by itself, and its process may live on. */
  readonly ended?: true;
}

/** How long the guest may take for what is no exec: a file, a rewind. */
const ANSWER_TIMEOUT_MS = 10_000;

const MAX_REASON_BYTES = 1000;
const decoder = new TextDecoder();

/** What a {@linkcode GuestLink} needs of its sandbox. */
export interface GuestLinkOptions {
  /** Ends the interpreter that is lost. */
  kill: (loss: Loss) => void;
  thread?: string | undefined;
}

/** What frames for an interpreter are sent to: a child, or a worker of this process. */
export interface GuestPipe {
  /** The process that is watched; none where it is this one. */
  readonly pid?: number | undefined;
  send(kind: FrameKind, session: number, payload?: Uint8Array | string): void;
}

/** The host's end of one interpreter: frames out, frames in, until it is lost. */
export class GuestLink {
  /** Resolves when the interpreter takes execs; rejects when it is lost before. */
  readonly opened: Promise<void>;
  /** The name of its thread, where the process has others that run guests. */
  readonly thread: string | undefined;
  readonly #pipe: GuestPipe;
  readonly #session: number;
  readonly #open = Promise.withResolvers<void>();
  readonly #onLost = new Set<(loss: Loss) => void>();
  readonly #kill: (loss: Loss) => void;
  #loss: Loss | undefined;
  #isOpen = false;
  #onFrame: ((frame: Frame) => void) | undefined;

  constructor(pipe: GuestPipe, session: number, options: GuestLinkOptions) {
    this.#pipe = pipe;
    this.#session = session;
    this.#kill = options.kill;
    this.thread = options.thread;
    this.opened = this.#open.promise;
    this.opened.catch(() => {}); // whoever waits for it hears of it
  }

  get alive(): boolean {
    return this.#loss === undefined;
  }

  get pid(): number | undefined {
    return this.#pipe.pid;
  }

  send(kind: FrameKind, payload?: Uint8Array | string): void {
    this.#pipe.send(kind, this.#session, payload);
  }

  /** Takes one frame of this session; one that nobody waits for is a breach of the protocol. */
  receive(frame: Frame): void {
    if (this.#loss) return;
    if (frame.kind === FrameKind.opened && !this.#isOpen) this.#opened();
    else if (frame.kind === FrameKind.lost) this.lose(lossOfInterpreter(frame.payload));
    else if (this.#onFrame) this.#guarded(frame, this.#onFrame);
    else {this.lose({
        reason: "protocol",
        message: `the guest sent frame ${frame.kind} that nobody asked for`,
      });}
  }

  /** Hands every frame to `onFrame` while `work` runs. */
  async listen<T>(onFrame: (frame: Frame) => void, work: () => Promise<T>): Promise<T> {
    this.#onFrame = onFrame;
    try {
      return await work();
    } finally {
      this.#onFrame = undefined;
    }
  }

  /**
   * Sends a request that is answered by one `done` frame, and gives what it carries.
   *
   * @throws {Error} with the guest's words when it refuses.
   * @throws {SandboxError} when the interpreter is lost meanwhile.
   */
  async request(kind: FrameKind, payload: Uint8Array | string): Promise<Uint8Array> {
    const answer = Promise.withResolvers<Uint8Array>();
    const timer = setTimeout(
      () => this.lose({ reason: "crashed", message: "no answer in time" }),
      ANSWER_TIMEOUT_MS,
    );
    const onFrame = (frame: Frame) => {
      if (frame.kind !== FrameKind.done) throw new SyntaxError(`frame ${frame.kind} where 'done' was due`);
      answer.resolve(frame.payload);
    };
    try {
      const { done, loss } = await this.listen(onFrame, () => {
        this.send(kind, payload);
        return this.unlessLost(answer.promise);
      });
      if (!done) throw new SandboxError(loss.message);
      if (done[0] !== 1) throw new Error(decoder.decode(done.subarray(1)));
      return done.subarray(1);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Waits for `work` or for the loss of the interpreter, whichever is first. */
  async unlessLost<T>(work: Promise<T>): Promise<{ done: T; loss?: never } | { done?: never; loss: Loss }> {
    if (this.#loss) return { loss: this.#loss };
    const lost = Promise.withResolvers<{ loss: Loss }>();
    const onLost = (loss: Loss) => lost.resolve({ loss });
    this.#onLost.add(onLost);
    try {
      return await Promise.race([work.then((done) => ({ done })), lost.promise]);
    } finally {
      this.#onLost.delete(onLost);
    }
  }

  /** Ends the interpreter, for good; only the first reason counts. */
  lose(loss: Loss): void {
    if (this.#loss) return;
    this.#loss = loss;
    this.#kill(loss);
    this.#open.reject(new Error(loss.message));
    this.#onLost.forEach((onLost) => onLost(loss));
  }

  #opened(): void {
    this.#isOpen = true;
    this.#open.resolve();
  }

  #guarded(frame: Frame, onFrame: (frame: Frame) => void): void {
    try {
      onFrame(frame);
    } catch (error) {
      const message = errorMessage(error);
      this.lose({ reason: "protocol", message: `the guest broke the protocol: ${message}` });
    }
  }
}

/** What V8 says when a process ends for want of memory. */
const OUT_OF_MEMORY = /out of memory|allocation failed|OOM|Cannot allocate|Failed to reserve/i;

/** The words are the guest's own, so that they are no reason to believe anything but that it is gone. */
function lossOfInterpreter(payload: Uint8Array): Loss {
  const message = decoder.decode(payload.subarray(0, MAX_REASON_BYTES));
  return { reason: "crashed", message, ended: true };
}

/** What the host makes of the end of a process that it did not kill itself. */
export function lossOfChild({ code, signal, stderr }: ChildEnd): Loss {
  if (signal === "SIGXCPU") return { reason: "cpu", message: "the process used up its CPU time" };
  if (OUT_OF_MEMORY.test(stderr)) return { reason: "memory", message: "the process ran out of memory" };
  return { reason: "crashed", message: `the process ended ${signal ? `by ${signal}` : `with code ${code}`}` };
}
