import { encodeFrame, type Frame, type FrameKind, FrameSplitter } from "../protocol.ts";

const STDERR_CAP = 16 * 1024;

/** A command line with the environment of the process. */
export interface ChildProgram {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Exit of a child process, as the host observed it. */
export interface ChildEnd {
  readonly code: number;
  readonly signal: string | null;
  /** Last 16 KiB of the process's own stderr, not of the guest's stderr. */
  readonly stderr: string;
}

/**
 * A child process that exchanges frames over its stdin and stdout. A process that violates the protocol is
 * killed.
 */
export class Child {
  readonly pid: number;
  /** Resolves when the process has ended and the pipes are closed. Never rejects. */
  readonly ended: Promise<ChildEnd>;
  readonly #process: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;

  /** `onErrorText` gets what the process writes to stderr, in pieces of any length. */
  constructor(
    command: ChildProgram,
    onFrame: (frame: Frame) => void,
    onErrorText: (text: string) => void = () => {},
  ) {
    this.#process = new Deno.Command(command.program, {
      args: [...command.args],
      env: { ...command.env },
      clearEnv: true,
      // A separate process group: Ctrl-C on the terminal must reach the host only.
      detached: true,
      cwd: "/",
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.pid = this.#process.pid;
    this.#writer = this.#process.stdin.getWriter();
    this.#writer.closed.catch(() => {}); // a child that ends closes the pipe; `ended` reports it
    this.ended = this.#watch(onFrame, onErrorText);
  }

  /** Sends a frame. The frame is dropped if the process has ended, which `ended` reports. */
  send(kind: FrameKind, session: number, payload?: Uint8Array | string): Promise<void> {
    return this.#writer.write(encodeFrame(kind, session, payload)).catch(() => {});
  }

  /** Kills the process with SIGKILL: a guest can ignore every other signal. */
  kill(): void {
    try {
      this.#process.kill("SIGKILL");
    } catch {
      // the process has already ended
    }
  }

  async #watch(
    onFrame: (frame: Frame) => void,
    onErrorText: (text: string) => void,
  ): Promise<ChildEnd> {
    const [{ code, signal }, , stderr] = await Promise.all([
      this.#closeAfterEnd(),
      this.#readFrames(onFrame).catch(() => this.kill()),
      readTail(this.#process.stderr, onErrorText),
    ]);
    return { code, signal, stderr };
  }

  /**
   * Closes stdin when the process has ended. If the process was a wrapper that was killed during its start,
   * the wrapper's child is still alive: no signal of the parent's death is set yet. The child ends at the end
   * of its stdin.
   */
  async #closeAfterEnd(): Promise<Deno.CommandStatus> {
    const status = await this.#process.status;
    await this.#writer.abort().catch(() => {});
    return status;
  }

  async #readFrames(onFrame: (frame: Frame) => void): Promise<void> {
    const splitter = new FrameSplitter();
    await readPieces(this.#process.stdout, (piece) => {
      for (const frame of splitter.push(piece)) onFrame(frame);
    });
  }
}

/** Bytes of a read, as many as a pipe holds. */
const READ_BYTES = 64 * 1024;
/** Pieces up to so many bytes are copied, so that the next read uses the buffer again. */
const SHORT_BYTES = 8 * 1024;

/**
 * Passes on each piece of a stream, which the receiver may keep. The iterator of a stream takes a new buffer
 * for each read: for a short frame that is 200 times the frame's size, and V8 collects garbage for the
 * buffers all the time.
 */
async function readPieces(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  onPiece: (piece: Uint8Array<ArrayBuffer>) => void,
): Promise<void> {
  const reader = stream.getReader({ mode: "byob" });
  let buffer = new ArrayBuffer(READ_BYTES);
  try {
    for (;;) {
      const { value, done } = await reader.read(new Uint8Array(buffer));
      if (done) return;
      const isShort = value.length <= SHORT_BYTES;
      onPiece(isShort ? value.slice() : value);
      buffer = isShort ? value.buffer : new ArrayBuffer(READ_BYTES);
    }
  } finally {
    await reader.cancel().catch(() => {}); // closes the pipe if the receiver has thrown an error
  }
}

async function readTail(
  stream: ReadableStream<Uint8Array>,
  onText: (text: string) => void,
): Promise<string> {
  let text = "";
  for await (
    const piece of stream.pipeThrough(new TextDecoderStream() as never) as unknown as AsyncIterable<string>
  ) {
    text = (text + piece).slice(-STDERR_CAP);
    onText(piece);
  }
  return text;
}

/** Sessions of a process that were asked to close and have not confirmed the close yet. */
export class PendingCloses {
  readonly #open = new Map<number, { timer: ReturnType<typeof setTimeout>; settled: () => void }>();
  readonly #closes = new Set<Promise<void>>();

  /** Resolves when every session that was asked to close has closed. */
  get settled(): Promise<unknown> {
    return Promise.all(this.#closes);
  }

  /**
   * Waits for a session to close, and calls `onStuck` if the session has not closed after `graceMs`
   * milliseconds.
   */
  add(session: number, options: { graceMs: number; onStuck: () => void }): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(options.onStuck, options.graceMs);
    this.#open.set(session, { timer, settled: resolve });
    this.#closes.add(promise);
    promise.then(() => this.#closes.delete(promise));
  }

  /** Returns true if a session was asked to close and has not closed yet. */
  has(session: number): boolean {
    return this.#open.has(session);
  }

  /** Records that a session has closed. Returns false if the session was not asked to. */
  take(session: number): boolean {
    const closing = this.#open.get(session);
    if (!closing) return false;
    clearTimeout(closing.timer);
    this.#open.delete(session);
    closing.settled();
    return true;
  }

  /** Records that all sessions have closed, because their process has ended. */
  takeAll(): void {
    for (const session of [...this.#open.keys()]) this.take(session);
  }
}
