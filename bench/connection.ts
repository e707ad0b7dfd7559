import { join } from "../src/sandbox/protocol.ts";

/** Response of a server. */
export interface Answered<Body> {
  readonly status: number;
  /** `undefined` if it is not JSON. */
  readonly body: Body | undefined;
}

const PIECE_BYTES = 64 * 1024;
const HEAD_END = "\r\n\r\n";
const encoder = new TextEncoder();
const decoder = new TextDecoder();
/** Decodes one character per byte, so that text offsets are byte offsets. */
const headDecoder = new TextDecoder("latin1");

/**
 * A keep-alive connection to a server. It supports only HTTP responses of a known length, because `fetch` takes as much
 * CPU time as the measured server on the same machine.
 */
export class Connection implements Disposable {
  readonly #url: URL;
  readonly #piece = new Uint8Array(PIECE_BYTES);
  #socket: Promise<Deno.TcpConn> | undefined;

  constructor(url: string) {
    this.#url = new URL(url);
  }

  /** Posts a body as JSON. Rejects when the connection breaks; the next request opens a new one. */
  async post<Body>(
    path: string,
    body: object,
    { token, signal }: { token?: string | undefined; signal?: AbortSignal | undefined } = {},
  ): Promise<Answered<Body>> {
    signal?.throwIfAborted();
    const onAbort = () => this.#close();
    signal?.addEventListener("abort", onAbort);
    try {
      const { hostname, port } = this.#url;
      this.#socket ??= Deno.connect({ hostname, port: Number(port) });
      const socket = await this.#socket;
      await writeWhole(socket, this.#request(path, { text: JSON.stringify(body), token }));
      return await this.#answer(socket);
    } catch (error) {
      this.#close();
      throw error;
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /** Closes the connection. */
  [Symbol.dispose](): void {
    this.#close();
  }

  #close(): void {
    this.#socket?.then((socket) => socket.close(), () => {}); // there is nothing to close
    this.#socket = undefined;
  }

  #request(
    path: string,
    { text, token }: { text: string; token: string | undefined },
  ): Uint8Array<ArrayBuffer> {
    const bytes = encoder.encode(text);
    const lines = [
      `POST ${path} HTTP/1.1`,
      `host: ${this.#url.host}`,
      "content-type: application/json",
      `content-length: ${bytes.length}`,
      ...(token === undefined ? [] : [`authorization: Bearer ${token}`]),
    ];
    return join([encoder.encode(lines.join("\r\n") + HEAD_END), bytes]);
  }

  async #answer<Body>(socket: Deno.TcpConn): Promise<Answered<Body>> {
    let bytes = await this.#read(socket);
    let end = headEnd(bytes);
    for (; end < 0; end = headEnd(bytes)) bytes = join([bytes, await this.#read(socket)]);
    const head = headDecoder.decode(bytes.subarray(0, end));
    const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1]);
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]);
    if (Number.isNaN(length + status)) throw new Error(`Cannot read an answer of this kind: ${head}`);
    const start = end + HEAD_END.length;
    while (bytes.length < start + length) bytes = join([bytes, await this.#read(socket)]);
    return {
      status,
      body: parsed(decoder.decode(bytes.subarray(start, start + length))) as Body | undefined,
    };
  }

  async #read(socket: Deno.TcpConn): Promise<Uint8Array<ArrayBuffer>> {
    const count = await socket.read(this.#piece);
    if (count === null) throw new Error("the server closed the connection before its answer was whole");
    return this.#piece.slice(0, count);
  }
}

function headEnd(bytes: Uint8Array): number {
  return headDecoder.decode(bytes).indexOf(HEAD_END);
}

async function writeWhole(socket: Deno.TcpConn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await socket.write(bytes.subarray(at));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // a server that fails may say anything
  }
}
