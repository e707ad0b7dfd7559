import { AsyncLocalStorage } from "node:async_hooks";

/** Target of text output: stdout, stderr or a file. */
export interface TextSink {
  write(bytes: Uint8Array): Promise<number>;
}

/** Target of text output that may be a terminal. */
export interface TerminalSink extends TextSink {
  isTerminal(): boolean;
}

/** An output stream of the command line. */
export interface OutputStream extends TerminalSink {
  writeSync(bytes: Uint8Array): number;
}

/** Streams, environment and exit code of a run of the command line. */
export interface Io {
  readonly stdin: { readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>; isTerminal(): boolean };
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: Pick<Deno.Env, "get">;
  /** Interrupts the command. @default the signals that interrupt this process */
  readonly signal?: AbortSignal | undefined;
  /** True if this process was started with SIGHUP ignored. @default what the system says when a command begins */
  readonly ignoresHangup?: boolean | undefined;
  exitCode: number;
}

/** Returns the streams, environment and exit code of this process. */
export function processIo(options: Pick<Io, "ignoresHangup"> = {}): Io {
  return {
    ...options,
    stdin: Deno.stdin,
    stdout: Deno.stdout,
    stderr: Deno.stderr,
    env: Deno.env,
    get exitCode() {
      return Deno.exitCode;
    },
    set exitCode(code) {
      Deno.exitCode = code;
    },
  };
}

const PROCESS = processIo();
const storage = new AsyncLocalStorage<Io>();

/** Runs `work` as a command with these streams instead of the process's streams. */
export function withIo<Result>(io: Io, work: () => Promise<Result>): Promise<Result> {
  return storage.run(io, work);
}

/** Returns the streams of the command that runs now. */
export function currentIo(): Io {
  return storage.getStore() ?? PROCESS;
}
