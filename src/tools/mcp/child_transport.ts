import {
  deserializeMessage,
  type JSONRPCMessage,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import type { DenoCommand } from "../../sandbox/deno_program.ts";
import { messageLines } from "./message_lines.ts";

/** How long a server may take to end by itself when its input is closed. */
const GRACE_MS = 500;
const STDERR_CAP = 4_000;
/** Lines that are no message; a server that writes more of them is killed. */
const MAX_GARBAGE_LINES = 1_000;

/**
 * The Model Context Protocol over the standard streams of a process, one message a line. It has the environment
 * that it is given and nothing of the host's. Lines that are no message are passed over, for some servers print.
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
  #stderr = "";
  #garbage = 0;
  #firstGarbage = "";

  constructor(command: DenoCommand, cwd: string | undefined) {
    this.#command = command;
    this.#cwd = cwd;
  }

  /** What the server said last of why it does not work; empty when nothing. */
  get complaint(): string {
    if (this.#stderr.trim() !== "") return this.#stderr.trim().split("\n").slice(-5).join("\n");
    return this.#firstGarbage === "" ? "" : `it wrote what is no message: '${this.#firstGarbage}'`;
  }

  // deno-lint-ignore require-await
  async start(): Promise<void> {
    const { program, args, env } = this.#command;
    this.#process = new Deno.Command(program, {
      args: [...args],
      env: { ...env },
      clearEnv: true,
      // a group of its own, so that what it starts can be ended with it
      detached: true,
      ...(this.#cwd !== undefined && { cwd: this.#cwd }),
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#writer = this.#process.stdin.getWriter();
    this.#writer.closed.catch(() => {}); // a server that ends closes its pipe; onclose tells
    this.#ended = this.#watch(this.#process);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#writer === undefined) throw new Error("the server was not started");
    await this.#writer.write(this.#encoder.encode(serializeMessage(message)));
  }

  /** Closes the server's input, kills what has not ended soon after, and waits until it is gone. */
  async close(): Promise<void> {
    await this.#writer?.close().catch(() => {}); // it may be gone already
    const timer = setTimeout(() => this.#kill(), GRACE_MS);
    await this.#ended;
    clearTimeout(timer);
  }

  async #watch(process: Deno.ChildProcess): Promise<void> {
    await Promise.all([
      this.#readLines(process.stdout).catch(() => this.#kill()),
      this.#readStderr(process.stderr).catch(() => {}), // it only serves to explain
      process.status.then(() => this.#kill()), // what it started ends with it
    ]);
    await this.#writer?.abort().catch(() => {}); // it was closed already
    this.onclose?.();
  }

  async #readLines(stdout: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    const pieces = stdout.pipeThrough(new TextDecoderStream());
    for await (const line of messageLines(pieces)) this.#receive(line);
  }

  #receive(line: string): void {
    if (line.trim() === "") return;
    try {
      this.onmessage?.(deserializeMessage(line));
    } catch (error) {
      this.#firstGarbage ||= line.slice(0, 200);
      if (++this.#garbage > MAX_GARBAGE_LINES) throw error;
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  async #readStderr(stderr: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    for await (const piece of stderr.pipeThrough(new TextDecoderStream())) {
      this.#stderr = (this.#stderr + piece).slice(-STDERR_CAP);
    }
  }

  /** Kills the server and what it has started; where there are no groups of processes, the server alone. */
  #kill(): void {
    const process = this.#process;
    if (process === undefined) return;
    for (const kill of [() => Deno.kill(-process.pid, "SIGKILL"), () => process.kill("SIGKILL")]) {
      try {
        return kill();
      } catch {
        // it is gone already, or this system cannot do that
      }
    }
  }
}
