import { errorMessage, SandboxError } from "../errors.ts";
import type { ChildEnd } from "./process/child.ts";
import type { SessionNetwork } from "./network/session_network.ts";
import { decodeLost, DoneStatus, type Frame, FrameKind } from "./protocol.ts";

/** The end of an interpreter, and its reason. */
export interface Termination {
  /**
   * `closed`: its owner disposed or reset it. `killed`: it did not stop when interrupted. `memory`, `cpu`: it
   * exceeded a limit. `protocol`: it sent an invalid frame. `damaged`: its process could not read the base image.
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
  /** True if the guest ended by itself, so that its process may still run. */
  readonly ended?: true;
  /** Exit code from 0 to 255, if the guest reports that the program ended the interpreter with a code. */
  readonly exitCode?: number;
  /** Signal that ended the process, if this host did not kill it. */
  readonly signal?: string;
}

/** Termination of the other interpreters of a process that is killed because an interpreter does not stop. */
export const COLLATERAL_KILL: Termination = {
  reason: "collateral",
  message: "another session of its process did not stop, and the process was killed",
};

/** Termination of all interpreters of a process that could not read its base image. */
export const DAMAGED_IMAGE: Termination = { reason: "damaged", message: "the base image is damaged" };

/** The error of a request that the guest refused. The message is the guest's. */
export class GuestRefusal extends Error {
  /** True if the guest reports that there is no file at the path. */
  readonly isMissingFile: boolean;

  constructor(message: string, options: { isMissingFile: boolean }) {
    super(message);
    this.isMissingFile = options.isMissingFile;
  }
}

/** Timeout of requests other than execs: a file, a rewind. */
export const REQUEST_TIMEOUT_MS = 10_000;

const MAX_REASON_BYTES = 1000;
const decoder = new TextDecoder();

/** Options of {@linkcode GuestLink}. */
export interface GuestLinkOptions {
  /** Ends the terminated interpreter. */
  kill: (termination: Termination) => void;
  /** Name of the interpreter's thread, if its process runs several interpreters. */
  thread?: string | undefined;
  /**
   * Returns the connections of the interpreter. `send` sends a packet to the guest.
   *
   * @default the profile has no network
   */
  openNetwork?: ((send: (packet: Uint8Array) => void) => SessionNetwork) | undefined;
}

/** Destination of the frames for an interpreter: a child process, or a worker of this process. */
export interface GuestPipe {
  /** Id of the process to watch; undefined if it is this process. */
  readonly pid?: number | undefined;
  /** Sends a frame. A promise resolves when the frame is written, or never will be. */
  send(kind: FrameKind, session: number, payload?: Uint8Array | string): Promise<void> | void;
}

/** Receiver of what comes from an interpreter. */
export interface GuestListener {
  /** Receives a frame. An error that it throws is a protocol violation of the guest. */
  onFrame(frame: Frame): void;
  onTermination(termination: Termination): void;
}

/**
 * The host's end of the connection to an interpreter. Sends and receives frames until the interpreter is
 * terminated.
 */
export class GuestLink {
  /** Resolves when the interpreter accepts execs. Rejects if it is terminated before. */
  readonly opened: Promise<void>;
  /** Name of the interpreter's thread, if its process runs several interpreters. */
  readonly thread: string | undefined;
  /** Connections of the interpreter's programs; undefined if the profile has no network. */
  readonly network: SessionNetwork | undefined;
  readonly #pipe: GuestPipe;
  readonly #session: number;
  readonly #open = Promise.withResolvers<void>();
  readonly #kill: (termination: Termination) => void;
  #termination: Termination | undefined;
  #isOpen = false;
  #listener: GuestListener | undefined;

  constructor(pipe: GuestPipe, session: number, options: GuestLinkOptions) {
    this.#pipe = pipe;
    this.#session = session;
    this.#kill = options.kill;
    this.thread = options.thread;
    this.network = options.openNetwork?.((packet) => this.send(FrameKind.network, packet));
    this.opened = this.#open.promise;
    this.opened.catch(() => {}); // callers that need it await the promise
  }

  /** True until the interpreter is terminated. */
  get alive(): boolean {
    return this.#termination === undefined;
  }

  /** Termination of the interpreter; undefined while it runs. */
  get termination(): Termination | undefined {
    return this.#termination;
  }

  /** Id of the process to watch; undefined if it is this process. */
  get pid(): number | undefined {
    return this.#pipe.pid;
  }

  /** Sends a frame to the interpreter. A promise resolves when the frame is written, or never will be. */
  send(kind: FrameKind, payload?: Uint8Array | string): Promise<void> | void {
    if (kind === FrameKind.rewind || kind === FrameKind.restore) this.network?.reset();
    return this.#pipe.send(kind, this.#session, payload);
  }

  /** Handles a frame of this session. An unexpected frame is a protocol violation. */
  receive(frame: Frame): void {
    if (this.#termination) return;
    if (frame.kind === FrameKind.opened && !this.#isOpen) this.#opened();
    else if (frame.kind === FrameKind.lost) this.fail(terminationOfGuest(frame.payload));
    else if (this.#listener) this.#handle(frame, this.#listener);
    else this.fail({ reason: "protocol", message: `the guest sent an unexpected frame ${frame.kind}` });
  }

  /** Passes every frame to a listener, until the next call. A terminated interpreter is reported at once. */
  listen(listener: GuestListener | undefined): void {
    this.#listener = listener;
    if (this.#termination) listener?.onTermination(this.#termination);
  }

  /**
   * Sends a request whose response is a `done` frame, and returns the contents of the response.
   *
   * @throws {GuestRefusal} with the guest's message if the guest refuses the request.
   * @throws {SandboxError} if the interpreter is terminated or does not respond within 10 seconds.
   */
  async request(kind: FrameKind, payload: Uint8Array | string): Promise<Uint8Array> {
    const response = Promise.withResolvers<Uint8Array>();
    const timer = setTimeout(
      () => this.fail({ reason: "crashed", message: `no response within ${REQUEST_TIMEOUT_MS} ms` }),
      REQUEST_TIMEOUT_MS,
    );
    this.listen({
      onFrame({ kind, payload }) {
        if (kind !== FrameKind.done) throw new SyntaxError(`frame ${kind} where 'done' was expected`);
        response.resolve(payload);
      },
      onTermination: ({ message }) => response.reject(new SandboxError(message)),
    });
    try {
      this.send(kind, payload);
      const done = await response.promise;
      if (done[0] === DoneStatus.ok) return done.subarray(1);
      const isMissingFile = done[0] === DoneStatus.notFound;
      throw new GuestRefusal(decoder.decode(done.subarray(1)), { isMissingFile });
    } finally {
      clearTimeout(timer);
      this.#listener = undefined;
    }
  }

  /** Terminates the interpreter. Further calls have no effect. */
  fail(termination: Termination): void {
    if (this.#termination) return;
    this.#termination = termination;
    this.network?.[Symbol.dispose]();
    this.#kill(termination);
    this.#open.reject(new Error(termination.message));
    this.#listener?.onTermination(termination);
  }

  #opened(): void {
    this.#isOpen = true;
    this.#open.resolve();
  }

  #handle(frame: Frame, listener: GuestListener): void {
    try {
      listener.onFrame(frame);
    } catch (error) {
      const message = errorMessage(error);
      this.fail({ reason: "protocol", message: `the guest violated the protocol: ${message}` });
    }
  }
}

/** Messages of V8 and the C library when a process runs out of memory. */
const OUT_OF_MEMORY = /out of memory|allocation failed|OOM|Cannot allocate|Failed to reserve/i;

/**
 * Returns the termination that a guest reports. The report may be false: message and exit code are shown and change
 * nothing else.
 */
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

/** The error of an interpreter that did not start, if another attempt may succeed. */
class RetryableStartError extends SandboxError {}

/** The error of a damaged base image, which must be built again before another attempt to start. */
export class DamagedImageError extends RetryableStartError {}

/** Returns true if another attempt to start may succeed. */
export function isRetryable(error: unknown): boolean {
  return error instanceof RetryableStartError;
}

/** Returns the error for an interpreter that was terminated before the start. */
export function startError(
  termination: Termination,
  options: ErrorOptions & { stderr?: string | undefined } = {},
): SandboxError {
  const { cause, stderr = "" } = options;
  const message = `Cannot start session: ${termination.message}`;
  if (termination.reason === "damaged") return new DamagedImageError(termination.message);
  // A process that this host kills has another reason, so this SIGKILL came from elsewhere.
  if (termination.reason === "collateral" || termination.signal === "SIGKILL") {
    return new RetryableStartError(message);
  }
  const shown = stderr.trim();
  return new SandboxError(shown === "" ? message : `${message}: ${shown}`, { cause });
}
