import { join } from "../../src/sandbox/protocol.ts";

/** Response of the server under test. */
export interface Reply {
  readonly status: number;
  readonly text: string;
}

/** Options of {@linkcode Tenant.post}. */
export interface PostOptions {
  readonly headers?: Record<string, string>;
  readonly method?: string;
  readonly signal?: AbortSignal;
}

/** A response that is no success. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly status: number;

  constructor(path: string, status: number, text: string) {
    super(`Cannot use ${path}: ${status} ${text.slice(0, 200)}`);
    this.status = status;
  }
}

const encoder = new TextEncoder();

/** A client of the server under test, with its own token: well-formed requests, raw connections, WebSockets. */
export class Tenant {
  readonly url: string;
  readonly token: string;

  constructor(url: string, token: string) {
    this.url = url;
    this.token = token;
  }

  /** Sends a request. An object is sent as JSON; text and bytes are sent as they are. */
  async post(path: string, body: BodyInit | object, options: PostOptions = {}): Promise<Reply> {
    const { headers = {}, method = "POST", signal } = options;
    const isRaw = typeof body === "string" || body instanceof Uint8Array;
    const response = await fetch(this.url + path, {
      method,
      headers: { authorization: `Bearer ${this.token}`, "content-type": "application/json", ...headers },
      ...(method !== "GET" && { body: isRaw ? body as BodyInit : JSON.stringify(body) }),
      signal: signal ?? null,
    });
    return { status: response.status, text: await response.text() };
  }

  /** Sends a request and returns the JSON of its response. */
  // deno-lint-ignore no-explicit-any -- responses of eight systems; each caller reads the fields that it needs
  async json(path: string, body: object, options: PostOptions = {}): Promise<any> {
    const { status, text } = await this.post(path, body, options);
    if (status >= 300) throw new RefusedError(path, status, text);
    return text === "" ? undefined : JSON.parse(text.replace(/^event: .*\ndata: /, ""));
  }

  /** Creates a session and returns its path. */
  async openSession(signal?: AbortSignal): Promise<string> {
    const { id } = await this.json("/v1/sessions", {}, signal && { signal });
    return `/v1/sessions/${id}`;
  }

  /** Opens a TCP connection that the signal closes. */
  async connect(signal: AbortSignal): Promise<Deno.TcpConn> {
    const { hostname, port } = new URL(this.url);
    const connection = await Deno.connect({ hostname, port: Number(port) });
    const onAbort = () => closeQuietly(connection);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    return connection;
  }

  /** Returns the head of a request as it is on the wire. */
  head(line: string, headers: Record<string, string | number> = {}): string {
    const all = {
      host: new URL(this.url).host,
      authorization: `Bearer ${this.token}`,
      "content-type": "application/json",
      ...headers,
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
    return [`${line} HTTP/1.1`, ...lines].join("\r\n") + "\r\n\r\n";
  }

  /** Sends a request on a connection of its own and does not read the response. */
  async sendUnread(path: string, body: object, signal: AbortSignal): Promise<Deno.TcpConn> {
    const connection = await this.connect(signal);
    const bytes = encoder.encode(JSON.stringify(body));
    await writeAll(connection, this.head(`POST ${path}`, { "content-length": bytes.length }));
    await writeAll(connection, bytes);
    return connection;
  }

  /** Opens an OpenEnv WebSocket. */
  async openSocket(signal: AbortSignal): Promise<RawSocket> {
    const connection = await this.connect(signal);
    const upgrade = {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": 13,
      "sec-websocket-key": btoa("0123456789abcdef"),
    };
    await writeAll(connection, this.head("GET /ws", upgrade));
    const head = await readSome(connection);
    if (!head.startsWith("HTTP/1.1 101")) {
      closeQuietly(connection);
      throw new Error(`Cannot open WebSocket: ${head.split("\r\n")[0]}`);
    }
    return new RawSocket(connection);
  }
}

const TEXT_FRAME = 1;
const FINAL = 0x80;
const LENGTH_64 = 127;
const HEAD_BYTES = 14;

/** A WebSocket connection whose client chooses each frame. */
export class RawSocket {
  readonly connection: Deno.TcpConn;

  constructor(connection: Deno.TcpConn) {
    this.connection = connection;
  }

  /** Sends one frame: a text, or its continuation. The mask is zero, which leaves the payload as it is. */
  async sendFrame(
    payload: Uint8Array<ArrayBuffer>,
    options: { isFirst?: boolean; isLast?: boolean } = {},
  ): Promise<void> {
    const { isFirst = true, isLast = true } = options;
    const head = new Uint8Array(HEAD_BYTES);
    head[0] = (isFirst ? TEXT_FRAME : 0) | (isLast ? FINAL : 0);
    head[1] = FINAL | LENGTH_64;
    new DataView(head.buffer).setBigUint64(2, BigInt(payload.length));
    await writeAll(this.connection, join([head, payload.subarray(0, 1 << 16)]));
    await writeAll(this.connection, payload.subarray(1 << 16));
  }

  /** Sends a message as JSON. */
  async send(message: object): Promise<void> {
    await this.sendFrame(encoder.encode(JSON.stringify(message)));
  }

  /** Reads some bytes as text, empty at the end of the connection. */
  async read(): Promise<string> {
    return await readSome(this.connection);
  }
}

/** Counts outcomes by name, such as statuses of responses. */
export class Tally {
  readonly #counts = new Map<string, number>();

  /** Counts one outcome. */
  add(name: string | number): void {
    this.#counts.set(String(name), (this.#counts.get(String(name)) ?? 0) + 1);
  }

  /** Returns the most frequent outcomes, for example `413 × 12, 200 × 3`. */
  toString(): string {
    const sorted = [...this.#counts].sort(([, a], [, b]) => b - a).slice(0, 4);
    return sorted.map(([name, count]) => (count === 1 ? name : `${name} × ${count}`)).join(", ");
  }
}

/** Writes all bytes to a connection. */
export async function writeAll(connection: Deno.TcpConn, data: string | Uint8Array): Promise<void> {
  const bytes = typeof data === "string" ? encoder.encode(data) : data;
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}

/** Reads some bytes of a connection as text, empty at its end. */
export async function readSome(connection: Deno.TcpConn): Promise<string> {
  const piece = new Uint8Array(1 << 16);
  const count = await connection.read(piece).catch(() => null); // a connection that was reset has ended too
  return new TextDecoder().decode(piece.subarray(0, count ?? 0));
}

function closeQuietly(connection: Deno.TcpConn): void {
  try {
    connection.close();
  } catch {
    // it is closed already
  }
}

/**
 * Repeats work in several lanes until the signal aborts, and counts its outcomes. Work that fails counts as one; a
 * lane whose work failed pauses, so that a closed server is not flooded.
 */
export async function repeat(
  lanes: number,
  { signal, tally }: { signal: AbortSignal; tally: Tally },
  work: (lane: number) => Promise<string | number>,
): Promise<void> {
  await Promise.all(Array.from({ length: lanes }, async (_, lane) => {
    while (!signal.aborted) {
      try {
        tally.add(await work(lane));
      } catch (error) {
        if (signal.aborted) return;
        tally.add(
          error instanceof TypeError || error instanceof Deno.errors.ConnectionReset
            ? "disconnected"
            : "failed",
        );
        await pauseMs(100, signal);
      }
    }
  }));
}

/** Waits, at most until the signal aborts. */
export async function pauseMs(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise.finally(() => clearTimeout(timer));
}
