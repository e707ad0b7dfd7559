import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
// @ts-types="./ws.d.ts"
import { type WebSocket as ServerSocket, WebSocketServer } from "ws";
import type { Account } from "../admission/budget.ts";
import { MAX_SOCKET_BYTES, SOCKET_CLOSE_MS, SOCKET_PING_MS, UNCOUNTED_SOCKET_BYTES } from "../limits.ts";
import { ServerError } from "./http_errors.ts";

const GOING_AWAY = 1001;
const POLICY_VIOLATION = 1008;
/** Unread bytes of a client above which the client's pings are not answered. */
const MAX_UNREAD_BYTES = 64 * 1024;

/** The WebSockets of a server. A message in fragments is as limited as a message in a single frame. */
export class WebSockets {
  readonly #server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_SOCKET_BYTES,
    perMessageDeflate: false,
    closeTimeout: SOCKET_CLOSE_MS,
    autoPong: false,
  });
  /** Sockets that have sent something since the last ping. */
  readonly #alive = new WeakSet<ServerSocket>();
  #timer: ReturnType<typeof setInterval> | undefined;

  /**
   * Completes the handshake of a WebSocket. Bytes of a message that is not complete count as data of `memory`.
   *
   * @throws {ServerError} `malformed` if the request is not such a handshake.
   */
  accept(
    request: IncomingMessage,
    socket: Socket,
    { head, memory }: { head: Uint8Array; memory: Account },
  ): WebSocket {
    let accepted: ServerSocket | undefined;
    let cause: Error | undefined;
    const onError = (error: Error) => cause = error;
    this.#server.once("wsClientError", onError);
    this.#server.handleUpgrade(request, socket, head, (webSocket) => accepted = webSocket);
    this.#server.off("wsClientError", onError);
    if (accepted === undefined) {
      throw new ServerError("malformed", "The request is no WebSocket handshake", { cause });
    }
    countUnfinished(accepted, socket, memory);
    this.#keepAlive(accepted, socket);
    return accepted as unknown as WebSocket; // the socket has the properties of a browser's
  }

  /** Begins the closing handshake of all sockets. */
  close(): void {
    clearInterval(this.#timer);
    for (const webSocket of this.#server.clients) webSocket.close(GOING_AWAY, "the server stops");
  }

  #keepAlive(webSocket: ServerSocket, socket: Socket): void {
    this.#timer ??= setInterval(() => this.#ping(), SOCKET_PING_MS);
    this.#alive.add(webSocket);
    socket.on("data", () => this.#alive.add(webSocket));
    webSocket.on("ping", (data) => {
      if (webSocket.bufferedAmount <= MAX_UNREAD_BYTES) webSocket.pong(data);
    });
  }

  #ping(): void {
    for (const webSocket of this.#server.clients) {
      if (!this.#alive.delete(webSocket)) webSocket.terminate();
      else if (webSocket.bufferedAmount <= MAX_UNREAD_BYTES) webSocket.ping();
    }
  }
}

/**
 * Counts the bytes of a socket's message until the message is complete. Closes a socket without memory for the bytes.
 */
function countUnfinished(webSocket: ServerSocket, socket: Socket, memory: Account): void {
  const lease = memory.take(0);
  let bytes = 0;
  const onData = ({ length }: Uint8Array) => {
    bytes += length;
    if (bytes <= UNCOUNTED_SOCKET_BYTES) return;
    try {
      lease.resize(bytes);
    } catch {
      webSocket.close(POLICY_VIOLATION, "no memory for the message: the server needs more buffer memory");
      webSocket.pause();
    }
  };
  const onMessageEnd = () => {
    bytes = 0;
    lease.resize(0);
  };
  const onEnd = () => {
    socket.off("data", onData); // after an error, further data is discarded
    lease[Symbol.dispose]();
  };
  socket.prependListener("data", onData); // before `ws`, which may find the end of the message in the same piece
  webSocket.on("message", onMessageEnd).on("error", onEnd).on("close", onEnd);
}
