import { MAX_SOCKET_CHARACTERS, MAX_SOCKET_UNREAD_BYTES, MAX_SOCKET_WAITING } from "../../limits.ts";
import { type DrivenEnv, envErrorMessage, handleMessage } from "./env_messages.ts";

const NORMAL = 1000;
const POLICY_VIOLATION = 1008;

/** WebSocket connections of a server, each with its own env. */
export class Connections {
  readonly #limit: number;
  #open = 0;

  /** @param limit Maximum number of connections; further ones are refused. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Handles the messages of a connection in order, and disposes its env at its end. */
  serve<Action>(socket: WebSocket, driven: DrivenEnv<Action>): void {
    if (this.#open >= this.#limit) return refuse(socket, { active: this.#open, limit: this.#limit });
    this.#open++;
    let last = Promise.resolve();
    let waiting = 0;
    socket.onmessage = ({ data }) => {
      const fits = typeof data === "string" && data.length <= MAX_SOCKET_CHARACTERS;
      const isSlow = socket.bufferedAmount > MAX_SOCKET_UNREAD_BYTES;
      if (!fits || isSlow || waiting >= MAX_SOCKET_WAITING) {
        return socket.close(POLICY_VIOLATION, "too many or too large messages");
      }
      waiting++;
      last = last.then(async () => {
        if (socket.readyState !== WebSocket.OPEN) return;
        const response = await handleMessage(driven, data);
        waiting--;
        if (socket.readyState !== WebSocket.OPEN) return;
        if (response === undefined) socket.close(NORMAL);
        else socket.send(response);
      });
    };
    socket.onerror = (event) => event.preventDefault(); // onclose follows and releases the connection
    socket.onclose = () => {
      this.#open--;
      driven.env[Symbol.asyncDispose]();
    };
  }
}

function refuse(socket: WebSocket, { active, limit }: { active: number; limit: number }): void {
  socket.onopen = () => {
    const counts = { active_sessions: active, max_sessions: limit };
    socket.send(envErrorMessage("CAPACITY_REACHED", `All ${limit} connections are in use`, counts));
    socket.close(NORMAL);
  };
}
