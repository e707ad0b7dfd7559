import { type JSONRPCMessage, type RequestId, serializeMessage, type Transport } from "./sdk.ts";
import { JsonLimitError } from "../../json.ts";
import type { DenoCommand } from "../../sandbox/process/deno_program.ts";
import { MessageLimitError, MessageMeter, requireJsonLimits, requireLength } from "./message_limits.ts";
import { readMessages, toFailure } from "./message_reader.ts";

/**
 * Splits chunks of text into lines, without line ends. Ignores a last line that has no line end. Looks at
 * each character once, for lines of any length.
 *
 * @throws {MessageLimitError} when a line exceeds the maximum message length.
 */
export async function* splitLines(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let parts: string[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    const [first = "", ...others] = chunk.split("\n");
    parts.push(first);
    length += first.length;
    for (const next of others) {
      yield parts.join("");
      parts = [next];
      length = next.length;
    }
    requireLength(length, "characters");
  }
}

/** Time that a server has to exit after the end of stdin, in milliseconds. Then the server is killed. */
const GRACE_MS = 500;
const STDERR_CAP = 4_000;
/** A server that writes more invalid lines than this is killed. */
const MAX_INVALID_LINES = 1_000;

/**
 * The Model Context Protocol over stdin and stdout of a process, a message per line. The process gets only
 * the given environment and nothing of the host's. Lines that are not messages are ignored, because some
 * servers print text; an unreadable line that begins like a response fails the waiting call.
 */
export class ChildTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #command: DenoCommand;
  readonly #cwd: string | undefined;
  readonly #encoder = new TextEncoder();
  #process: Deno.ChildProcess | undefined;
  #writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>> | undefined;
  #ended: Promise<void> = Promise.resolve();
  readonly #meter = new MessageMeter();
  /** Limit that the server exceeded, for which the server was killed. */
  exceededLimit: Error | undefined;
  #stderr = "";
  /** Ids of the requests that have no response yet. */
  readonly #waiting = new Set<RequestId>();
  #invalidLines = 0;
  #firstInvalidLine = "";

  constructor(command: DenoCommand, cwd: string | undefined) {
    this.#command = command;
    this.#cwd = cwd;
  }

  /** Last output of the server that may explain a failure; empty if there is none. */
  get diagnostics(): string {
    if (this.exceededLimit !== undefined) return this.exceededLimit.message;
    if (this.#stderr.trim() !== "") return this.#stderr.trim().split("\n").slice(-5).join("\n");
    return this.#firstInvalidLine === ""
      ? ""
      : `it wrote a line that is not a message: '${this.#firstInvalidLine}'`;
  }

  // deno-lint-ignore require-await
  async start(): Promise<void> {
    const { program, args, env } = this.#command;
    this.#process = new Deno.Command(program, {
      args: [...args],
      env: { ...env },
      clearEnv: true,
      // a process group, so that the server's children can be killed, too
      detached: true,
      ...(this.#cwd !== undefined && { cwd: this.#cwd }),
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#writer = this.#process.stdin.getWriter();
    this.#writer.closed.catch(() => {}); // a server that exits closes the pipe; onclose reports the exit
    this.#ended = this.#watch(this.#process);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#writer === undefined) throw new Error("the server was not started");
    if ("method" in message && "id" in message) this.#waiting.add(message.id);
    if ("method" in message && message.method === "notifications/cancelled") {
      this.#waiting.delete(message.params?.requestId as RequestId);
    }
    await this.#writer.write(this.#encoder.encode(serializeMessage(message)));
  }

  /**
   * Closes the server's stdin, kills a server that does not exit in time, and waits for the exit.
   */
  async close(): Promise<void> {
    await this.#writer?.close().catch(() => {}); // the pipe may be closed already
    const timer = setTimeout(() => this.#kill(), GRACE_MS);
    await this.#ended;
    clearTimeout(timer);
  }

  async #watch(process: Deno.ChildProcess): Promise<void> {
    await Promise.all([
      this.#readLines(process.stdout).catch((error) => this.#end(error)),
      this.#readStderr(process.stderr).catch(() => {}), // stderr is only used in error messages
      process.status.then(() => this.#kill()), // kills the children, too
    ]);
    await this.#writer?.abort().catch(() => {}); // stdin may be closed already
    this.onclose?.();
  }

  async #readLines(stdout: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    const chunks = stdout.pipeThrough(new TextDecoderStream());
    for await (const line of splitLines(chunks)) this.#receive(line);
  }

  #receive(line: string): void {
    if (line.trim() === "") return;
    requireJsonLimits(line);
    const read = readMessages(line);
    if (read.kind === "messages") { for (const message of read.messages) this.#deliver(message); }
    else {
      const id = read.kind === "unreadable" ? this.#requestOf(read.id) : undefined;
      if (read.kind === "unreadable" && id !== undefined) this.#deliver(toFailure(id, read.fault));
      else this.#countInvalid(line);
    }
  }

  #deliver(message: JSONRPCMessage): void {
    this.#meter.count(message);
    if (!("method" in message) && message.id !== undefined) this.#waiting.delete(Number(message.id));
    this.onmessage?.(message);
  }

  /** Returns the id of the request that a response with this id answers: without an id, the only waiting request. */
  #requestOf(id: RequestId | undefined): RequestId | undefined {
    if (id !== undefined) return this.#waiting.has(Number(id)) ? Number(id) : undefined;
    return this.#waiting.size === 1 ? [...this.#waiting][0] : undefined;
  }

  #countInvalid(line: string): void {
    this.#firstInvalidLine ||= line.slice(0, 200);
    const error = new SyntaxError(`a line of the server is no message: '${line.slice(0, 200)}'`);
    if (++this.#invalidLines > MAX_INVALID_LINES) throw error;
    this.onerror?.(error);
  }

  async #readStderr(stderr: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    for await (const chunk of stderr.pipeThrough(new TextDecoderStream())) {
      this.#stderr = (this.#stderr + chunk).slice(-STDERR_CAP);
    }
  }

  /** Kills a server whose output cannot be read on. */
  #end(error: unknown): void {
    if (error instanceof MessageLimitError || error instanceof JsonLimitError) this.exceededLimit = error;
    this.#kill();
  }

  /** Kills the server with all children; on systems without process groups, only the server. */
  #kill(): void {
    const process = this.#process;
    if (process === undefined) return;
    for (const kill of [() => Deno.kill(-process.pid, "SIGKILL"), () => process.kill("SIGKILL")]) {
      try {
        return kill();
      } catch {
        // the server has exited already, or this system has no process groups
      }
    }
  }
}
