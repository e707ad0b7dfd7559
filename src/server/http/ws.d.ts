// The part of `ws` that the server uses. `@types/ws` would bring the types of Node.js into every file.
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

export interface WebSocket {
  readonly bufferedAmount: number;
  close(code: number, reason: string): void;
  /** Stops reading from the socket. */
  pause(): void;
  ping(): void;
  pong(data: Uint8Array): void;
  terminate(): void;
  on(event: "message" | "error" | "close", listener: () => void): this;
  on(event: "ping", listener: (data: Uint8Array) => void): this;
}

export interface WebSocketServerOptions {
  readonly noServer: true;
  readonly maxPayload: number;
  readonly perMessageDeflate: false;
  /** Milliseconds until a socket that is closing is destroyed. */
  readonly closeTimeout: number;
  readonly autoPong: boolean;
}

export class WebSocketServer {
  readonly clients: ReadonlySet<WebSocket>;
  constructor(options: WebSocketServerOptions);
  /** Calls back at once if the request is a handshake; otherwise reports a `wsClientError`. */
  handleUpgrade(
    request: IncomingMessage,
    socket: Socket,
    head: Uint8Array,
    callback: (webSocket: WebSocket) => void,
  ): void;
  once(event: "wsClientError", listener: (error: Error) => void): this;
  off(event: "wsClientError", listener: (error: Error) => void): this;
}
