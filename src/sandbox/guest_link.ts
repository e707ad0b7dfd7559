import { errorMessage, SandboxError } from "../errors.ts";
import type { ChildEnd } from "./process/child.ts";
import { decodeLost, DoneStatus, type Frame, FrameKind } from "./protocol.ts";

/** The end of an interpreter, and its reason. */
export interface Termination {
  /**
   * `closed`: its owner disposed or reset it. `killed`: it did not stop when interrupted. `memory`, `cpu`: it exceeded
   * a limit. `protocol`: it sent an invalid frame. `damaged`: its process could not read the base image.
   * `collateral`: its process was killed because of another interpreter. `crashed`: any other end.
   */
  readonly reason:
    | "closed"
    | "killed"
    | "memory"
    | "cpu"
    | "protocol"
    | "damaged"
    | "collateral"
    | "crashed";
  readonly message: string;
  /** True when the guest has ended by itself, and its process may live on. */
  readonly ended?: true;
  /** Exit code from 0 to 255, when the guest says that its program ended the interpreter with one. */
  readonly exitCode?: number;
  /** Signal that ended the process, when this host did not kill it. */
  readonly signal?: string;
}

/** The guest refused a request. The message is the guest's. */
export class GuestRefusal extends Error {
  /** True when the guest says that there is no file at the path. */
  readonly isMissingFile: boolean;

  constructor(message: string, options: { isMissingFile: boolean }) {
    super(message);
    this.isMissingFile = options.isMissingFile;
  }
}

/** How long the guest may take for what is no exec: a file, a rewind. */
const ANSWER_TIMEOUT_MS = 10_000;

const MAX_REASON_BYTES = 1000;
const decoder = new TextDecoder();

/** What a {@linkcode GuestLink} needs of its sandbox. */
export interface GuestLinkOptions {
  /** Ends the terminated interpreter. */
  kill: (termination: Termination) => void;
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
  readonly #onLost = new Set<(termination: Termination) => void>();
  readonly #kill: (termination: Termination) => void;
  #termination: Termination | undefined;
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
    return this.#termination === undefined;
  }

  /** The end of the interpreter; undefined while it lives. */
  get termination(): Termination | undefined {
    return this.#termination;
  }

  get pid(): number | undefined {
    return this.#pipe.pid;
  }

  send(kind: FrameKind, payload?: Uint8Array | string): void {
    this.#pipe.send(kind, this.#session, payload);
  }

  /** Takes one frame of this session; one that nobody waits for is a breach of the protocol. */
  receive(frame: Frame): void {
    if (this.#termination) return;
    if (frame.kind === FrameKind.opened && !this.#isOpen) this.#opened();
    else if (frame.kind === FrameKind.lost) this.fail(terminationOfGuest(frame.payload));
    else if (this.#onFrame) this.#guarded(frame, this.#onFrame);
    else {this.fail({
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
   * @throws {GuestRefusal} with the guest's message when it refuses.
   * @throws {SandboxError} when the interpreter is lost meanwhile.
   */
  async request(kind: FrameKind, payload: Uint8Array | string): Promise<Uint8Array> {
    const answer = Promise.withResolvers<Uint8Array>();
    const timer = setTimeout(
      () => this.fail({ reason: "crashed", message: "no answer in time" }),
      ANSWER_TIMEOUT_MS,
    );
    const onFrame = (frame: Frame) => {
      if (frame.kind !== FrameKind.done) throw new SyntaxError(`frame ${frame.kind} where 'done' was due`);
      answer.resolve(frame.payload);
    };
    try {
      const { done, termination } = await this.listen(onFrame, () => {
        this.send(kind, payload);
        return this.unlessLost(answer.promise);
      });
      if (!done) throw new SandboxError(termination.message);
      if (done[0] !== DoneStatus.ok) {
        const isMissingFile = done[0] === DoneStatus.notFound;
        throw new GuestRefusal(decoder.decode(done.subarray(1)), { isMissingFile });
      }
      return done.subarray(1);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Waits for `work` or for the loss of the interpreter, whichever is first. */
  async unlessLost<T>(
    work: Promise<T>,
  ): Promise<{ done: T; termination?: never } | { done?: never; termination: Termination }> {
    if (this.#termination) return { termination: this.#termination };
    const lost = Promise.withResolvers<{ termination: Termination }>();
    const onLost = (termination: Termination) => lost.resolve({ termination });
    this.#onLost.add(onLost);
    try {
      return await Promise.race([work.then((done) => ({ done })), lost.promise]);
    } finally {
      this.#onLost.delete(onLost);
    }
  }

  /** Ends the interpreter, for good; only the first reason counts. */
  fail(termination: Termination): void {
    if (this.#termination) return;
    this.#termination = termination;
    this.#kill(termination);
    this.#open.reject(new Error(termination.message));
    this.#onLost.forEach((onLost) => onLost(termination));
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
      this.fail({ reason: "protocol", message: `the guest broke the protocol: ${message}` });
    }
  }
}

/** What V8 says when a process ends for want of memory. */
const OUT_OF_MEMORY = /out of memory|allocation failed|OOM|Cannot allocate|Failed to reserve/i;

/** The guest may lie about its end: message and exit code are shown, and change nothing else. */
function terminationOfGuest(payload: Uint8Array): Termination {
  const { reason, exitCode } = decodeLost(payload);
  const message = decoder.decode(reason.subarray(0, MAX_REASON_BYTES));
  return { reason: "crashed", message, ended: true, ...(exitCode !== undefined && { exitCode }) };
}

/** Returns the termination of the interpreters of a process that ended without being killed by this host. */
export function terminationOf({ code, signal, stderr }: ChildEnd): Termination {
  const by = signal === null ? {} : { signal };
  if (signal === "SIGXCPU") return { ...by, reason: "cpu", message: "the process used up its CPU time" };
  if (OUT_OF_MEMORY.test(stderr)) {
    return { ...by, reason: "memory", message: "the process ran out of memory" };
  }
  const how = signal ? `by ${signal}` : `with code ${code}`;
  return { ...by, reason: "crashed", message: `the process ended ${how}` };
}
