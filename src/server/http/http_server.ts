import { createServer, type IncomingMessage, type Server, ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { requireKnownOptions } from "../../options.ts";
import { HEAD_MS, KEEP_ALIVE_MS, MAX_CONNECTIONS, MAX_HEAD_BYTES, MAX_PIPELINED } from "../limits.ts";
import { type Connection, type ConnectionLimits, Connections } from "./connections.ts";
import type { RequestConnection } from "./context.ts";
import { errorResponse, ServerError } from "./http_errors.ts";
import { bodyReader, discardBody, findHeaderFault, hasBody, sendResponse, toRequest } from "./exchange.ts";
import { WebSockets } from "./web_sockets.ts";

/** Handles a request. */
export type RequestHandler = (
  request: Request,
  connection: RequestConnection,
) => Response | Promise<Response>;

/** Options of {@linkcode HttpServer}. Above a limit, the connection that has been quiet for longest is closed. */
export interface HttpServerOptions extends ConnectionLimits {
  /** Name or address of the interface to listen on, such as `127.0.0.1`. */
  hostname: string;
  /** Port; 0 selects a free port. */
  port: number;
  /**
   * Called when a connection is closed because there are too many, or a request handler threw.
   *
   * @default such errors are dropped
   */
  onError?: ((error: unknown) => void) | undefined;
  /**
   * Milliseconds until the head of a request must have arrived; then the connection is closed.
   *
   * @default 30_000
   */
  headMs?: number | undefined;
  /**
   * Milliseconds that a client may take to read the next chunk of a response; then the connection is closed.
   *
   * @default 60_000
   */
  readMs?: number | undefined;
  /**
   * Milliseconds that running requests may take after the server begins to stop; then they are aborted.
   *
   * @default 5_000
   */
  graceMs?: number | undefined;
  /** Called after the grace period; ends what the remaining requests wait for. */
  onGraceOver: () => Promise<void>;
}

/** Time for the remaining responses after the grace period. */
const FLUSH_MS = 1_000;
/** Largest interval at which the server looks for heads that are late. */
const MAX_CHECK_MS = 2_000;

/** Interval at which the server checks that connections are accepted. */
const ACCEPT_CHECK_MS = 2_000;
/** Connections that may wait to be accepted. They are accepted at once, before any can be closed. */
const MAX_BACKLOG = 511;

/** Request as `node:http` reports it. */
interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  /** Completes the handshake of a WebSocket, if the request asks for a WebSocket. */
  readonly upgrade?: RequestConnection["upgrade"];
}

/** Serves a request handler at an address until disposed. */
export class HttpServer implements AsyncDisposable {
  readonly #handler: RequestHandler;
  readonly #options: HttpServerOptions;
  readonly #server: Server;
  readonly #connections: Connections;
  readonly #webSockets = new WebSockets();
  #port = 0;
  /** True if a connection was accepted since the last check. */
  #hasAccepted = false;
  /** The server's own connection, which shows that connections are accepted. */
  #probe: Socket | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #stopped: Promise<void> | undefined;

  private constructor(handler: RequestHandler, options: HttpServerOptions) {
    const { headMs = HEAD_MS } = options;
    this.#handler = handler;
    this.#options = options;
    this.#connections = new Connections(options);
    const serverOptions = {
      headersTimeout: headMs,
      requestTimeout: 0, // the deadline of a body belongs to the request limits
      connectionsCheckingInterval: Math.min(headMs, MAX_CHECK_MS),
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEAD_BYTES,
      requireHostHeader: false, // the handler refuses such requests with a response in the handler's format
      shouldUpgradeCallback: isHandshake, // the types do not know this event yet
    };
    this.#server = createServer(serverOptions);
    this.#server.on("connection", (socket) => this.#open(socket))
      .on("request", (incoming, outgoing) => this.#enqueue({ incoming, outgoing }))
      .on("checkContinue", (incoming, outgoing) => this.#enqueue({ incoming, outgoing }))
      .on("upgrade", (incoming, socket, head) => this.#upgrade(incoming, socket as Socket, head))
      .on("clientError", (error, socket) => this.#refuseHead(error, socket as Socket))
      .on("error", (error) => this.#server.listening && options.onError?.(error));
  }

  /**
   * Starts a server.
   *
   * @throws {Error} with the code `EADDRINUSE` if the port is in use.
   */
  static async listen(handler: RequestHandler, options: HttpServerOptions): Promise<HttpServer> {
    requireKnownOptions("start HttpServer", options, OPTIONS);
    const server = new HttpServer(handler, options);
    await server.#listen(options.port);
    server.#port = (server.#server.address() as AddressInfo).port;
    server.#timer = setInterval(() => server.#watchAccepting(), ACCEPT_CHECK_MS);
    return server;
  }

  /** Port that the server listens on. */
  get port(): number {
    return this.#port;
  }

  /** Accepts no further requests, waits for running ones during the grace period, then aborts the rest. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #listen(port: number): Promise<void> {
    const { hostname: host, maxConnections = MAX_CONNECTIONS } = this.#options;
    const backlog = Math.min(MAX_BACKLOG, Math.ceil(maxConnections / 4));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once("error", reject).listen({ host, port, backlog }, resolve);
    await promise;
    this.#server.off("error", reject);
  }

  #open(socket: Socket): void {
    this.#hasAccepted = true;
    this.#connections.open(socket);
  }

  /**
   * Listens again if no connection is accepted, not even the server's own: Deno stops accepting, without an event,
   * when no file descriptor is left.
   */
  async #watchAccepting(): Promise<void> {
    const { onError, hostname } = this.#options;
    const isDeaf = this.#probe !== undefined && !this.#hasAccepted;
    const isIdle = !this.#hasAccepted;
    this.#hasAccepted = false;
    this.#probe?.destroy();
    this.#probe = isIdle ? connect(this.#port, hostname).on("error", () => {}) : undefined; // the next check shows the failure
    if (!isDeaf) return;
    this.#server.close(); // ends idle connections, but no request
    await this.#listen(this.#port).catch((error) => onError?.(error)); // the next check tries again
    if (this.#stopped) this.#server.close();
  }

  /** Handles a request after the earlier requests of the connection. */
  #enqueue(exchange: Exchange): void {
    const { socket } = exchange.incoming;
    const connection = this.#connections.get(socket);
    if (connection === undefined) return; // it is closed
    connection.pending++;
    if (connection.pending > MAX_PIPELINED) return void socket.destroy();
    const handle = async () => socket.destroyed ? undefined : await this.#handle(exchange, connection);
    connection.last = connection.pending === 1 ? handle() : connection.last.then(handle);
  }

  #upgrade(incoming: IncomingMessage, socket: Socket, head: Uint8Array): void {
    const outgoing = new ServerResponse(incoming);
    outgoing.shouldKeepAlive = false;
    outgoing.assignSocket(socket);
    outgoing.once("finish", () => socket.destroySoon());
    this.#enqueue({
      incoming,
      outgoing,
      upgrade: (memory) => {
        const webSocket = this.#webSockets.accept(incoming, socket, { head, memory });
        outgoing.detachSocket(socket);
        return webSocket;
      },
    });
  }

  /** Answers a head that is no HTTP, too large or late, and closes the connection. */
  #refuseHead(error: Error & { code?: string }, socket: Socket): void {
    const hasResponse = socket.bytesWritten > 0 || this.#connections.get(socket)?.pending !== 0;
    if (hasResponse || !socket.writable) return void socket.destroy();
    const status = HEAD_ERRORS[error.code ?? ""] ?? "400 Bad Request";
    socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
    socket.destroySoon();
  }

  async #handle({ incoming, outgoing, upgrade }: Exchange, connection: Connection): Promise<void> {
    const { onError } = this.#options;
    let { readMs = 60_000 } = this.#options;
    const readWithin = (ms: number) => void (readMs = ms);
    const disconnect = new AbortController();
    const { signal: disconnected } = disconnect;
    outgoing.once("close", () => {
      if (!outgoing.writableFinished) {
        disconnect.abort(new DOMException("The client has disconnected", "AbortError"));
      }
    });
    let [isAccepted, isUpgraded] = [false, false];
    let onSent = (_bytes: number) => {};
    const whenSent = (callback: (bytes: number) => void) => void (onSent = callback);
    const { bytesWritten: earlierBytes } = incoming.socket;
    const accept = () => {
      isAccepted = true;
      this.#connections.begin(connection);
    };
    const readBody = hasBody(incoming) ? bodyReader(incoming, outgoing) : undefined;
    if (!readBody) this.#connections.begin(connection);
    const { address } = connection;
    try {
      const response = await this.#respond(incoming, {
        disconnected,
        address,
        accept,
        readBody,
        upgrade,
        whenSent,
        readWithin,
        disconnect: () => void outgoing.destroy(),
      });
      isUpgraded = response.status === 101;
      if (isUpgraded) return;
      outgoing.shouldKeepAlive &&= incoming.complete || await discardBody(incoming);
      await sendResponse(response, outgoing, readMs);
    } catch (error) {
      outgoing.destroy(); // no other way to report an error within a response
      const isForClient = error instanceof ServerError; // such as that the sandbox has ended
      if (!disconnected.aborted && !isForClient) onError?.(error);
    } finally {
      onSent(incoming.socket.bytesWritten - earlierBytes);
      if (!isUpgraded) connection.pending--;
      if (!isAccepted) this.#connections.refuse(connection);
      else if (connection.pending === 0) this.#connections.release(connection);
    }
  }

  /**
   * Returns the response of the handler, or the refusal of headers that the handler never gets. The response has 503
   * if the handler throws, as happens when no file descriptor is left.
   */
  async #respond(incoming: IncomingMessage, connection: RequestConnection): Promise<Response> {
    const fault = findHeaderFault(incoming);
    if (fault) return errorResponse(fault);
    try {
      return await this.#handler(toRequest(incoming, connection.disconnected), connection);
    } catch (error) {
      this.#options.onError?.(error);
      return errorResponse(
        new ServerError("unavailable", "The server cannot handle the request now", { retryAfter: 1 }),
      );
    }
  }

  async #stop(): Promise<void> {
    const { graceMs = 5_000, onGraceOver } = this.#options;
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    clearInterval(this.#timer);
    this.#probe?.destroy();
    this.#server.close(() => resolve());
    this.#webSockets.close();
    this.#connections.closeQuiet();
    await resolvesWithin(graceMs, ended);
    await onGraceOver();
    await resolvesWithin(FLUSH_MS, ended);
    this.#connections.closeAll();
    await ended;
  }
}

/** True for the first request of a WebSocket. Other upgrades are ignored, as HTTP allows. */
function isHandshake(incoming: IncomingMessage): boolean {
  return incoming.method === "GET" && incoming.headers.upgrade?.toLowerCase() === "websocket" &&
    !hasBody(incoming);
}

const HEAD_ERRORS: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
};

/** Waits for a promise for at most `ms`. */
async function resolvesWithin(ms: number, ended: Promise<void>): Promise<void> {
  const timeout = Promise.withResolvers<void>();
  const timer = setTimeout(timeout.resolve, ms);
  await Promise.race([ended, timeout.promise]);
  clearTimeout(timer);
}

/** Names of the options. */
const OPTIONS: Readonly<Record<keyof HttpServerOptions, true>> = {
  hostname: true,
  port: true,
  maxConnections: true,
  maxQuiet: true,
  maxPerAddress: true,
  trustedProxies: true,
  onError: true,
  headMs: true,
  readMs: true,
  graceMs: true,
  onGraceOver: true,
};
