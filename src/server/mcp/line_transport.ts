import {
  deserializeMessage,
  type JSONRPCMessage,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/server";
import { readLines } from "../../read_lines.ts";

const MAX_LINE_BYTES = 64 * 1024 * 1024;

/** Both ends of a pipe. */
export interface LinePipe {
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** Writes a text; resolves when the whole text is written. */
  write(text: string): Promise<void>;
}

/** Transport of the Model Context Protocol over a pipe, a message per line. The transport ends with the input. */
export class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #pipe: LinePipe;
  readonly #lines: ReturnType<typeof readLines>;
  readonly #ended = Promise.withResolvers<void>();
  #written: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(pipe: LinePipe) {
    this.#pipe = pipe;
    this.#lines = readLines(pipe.readable, { maxBytes: MAX_LINE_BYTES });
  }

  /** Resolves at the end of the input. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  // deno-lint-ignore require-await
  async start(): Promise<void> {
    this.#read();
  }

  send(message: JSONRPCMessage): Promise<void> {
    this.#written = this.#written.then(() => this.#pipe.write(serializeMessage(message)));
    return this.#written;
  }

  // deno-lint-ignore require-await
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#ended.resolve();
    this.onclose?.();
  }

  async #read(): Promise<void> {
    try {
      for await (const line of this.#lines) {
        if ("fault" in line) this.onerror?.(new SyntaxError(line.fault));
        else if (line.text.trim() !== "") this.#receive(line.text);
      }
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
    await this.close();
  }

  #receive(text: string): void {
    try {
      this.onmessage?.(deserializeMessage(text));
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }
}
