import { encodeFrame, type Frame, type FrameKind, FrameSplitter } from "../protocol.ts";

const STDERR_CAP = 16 * 1024;

/** What is started, and with what environment. */
export interface ChildCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** How a child ended, as the host saw it. */
export interface ChildEnd {
  readonly code: number;
  readonly signal: string | null;
  /** The tail of what the process itself, not the guest, wrote to its stderr. */
  readonly stderr: string;
}

/** A process and its pipe of frames. It lives until it is killed, breaks the protocol, or ends. */
export class Child {
  readonly pid: number;
  /** Settles when the process is gone and its pipes are closed. Never rejects. */
  readonly ended: Promise<ChildEnd>;
  readonly #process: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;

  constructor(command: ChildCommand, onFrame: (frame: Frame) => void) {
    this.#process = new Deno.Command(command.program, {
      args: [...command.args],
      env: { ...command.env },
      clearEnv: true,
      // a group of its own: Ctrl-C on the host's terminal is for the host to act on
      detached: true,
      cwd: "/",
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.pid = this.#process.pid;
    this.#writer = this.#process.stdin.getWriter();
    this.#writer.closed.catch(() => {}); // a child that ends closes its pipe; `ended` tells
    this.ended = this.#watch(onFrame);
  }

  /** Sends one frame. What cannot be sent any more is dropped: `ended` tells. */
  send(kind: FrameKind, session: number, payload?: Uint8Array | string): void {
    this.#writer.write(encodeFrame(kind, session, payload)).catch(() => {});
  }

  /** Ends the process for certain: a guest can ignore every other signal. */
  kill(): void {
    try {
      this.#process.kill("SIGKILL");
    } catch {
      // it is gone already
    }
  }

  async #watch(onFrame: (frame: Frame) => void): Promise<ChildEnd> {
    const [, stderr] = await Promise.all([
      this.#readFrames(onFrame).catch(() => this.kill()),
      readTail(this.#process.stderr),
    ]);
    const { code, signal } = await this.#process.status;
    await this.#writer.abort().catch(() => {});
    return { code, signal, stderr };
  }

  async #readFrames(onFrame: (frame: Frame) => void): Promise<void> {
    const splitter = new FrameSplitter();
    for await (const piece of this.#process.stdout) {
      for (const frame of splitter.push(piece)) onFrame(frame);
    }
  }
}

async function readTail(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (
    const piece of stream.pipeThrough(new TextDecoderStream() as never) as unknown as AsyncIterable<string>
  ) {
    text = (text + piece).slice(-STDERR_CAP);
  }
  return text;
}
