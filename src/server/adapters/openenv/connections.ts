import { MAX_SOCKET_CHARACTERS, MAX_SOCKET_UNREAD_BYTES, MAX_SOCKET_WAITING } from "../../limits.ts";
import { answerMessage, type Driven, envFault } from "./env_messages.ts";

const NORMAL = 1000;
const POLICY_VIOLATION = 1008;

/** The connections of a server, each with an env of its own. */
export class Connections {
  readonly #most: number;
  #open = 0;

  /** @param most Connections at once; who comes later is told that there is no room. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Answers a connection's messages one after the other, and ends its env with it. */
  converse<Action>(socket: WebSocket, driven: Driven<Action>): void {
    if (this.#open >= this.#most) return refuse(socket, { active: this.#open, most: this.#most });
    this.#open++;
    let turn = Promise.resolve();
    let waiting = 0;
    socket.onmessage = ({ data }) => {
      const fits = typeof data === "string" && data.length <= MAX_SOCKET_CHARACTERS;
      const isSlow = socket.bufferedAmount > MAX_SOCKET_UNREAD_BYTES;
      if (!fits || isSlow || waiting >= MAX_SOCKET_WAITING) {
        return socket.close(POLICY_VIOLATION, "too much at once");
      }
      waiting++;
      turn = turn.then(async () => {
        if (socket.readyState !== WebSocket.OPEN) return;
        const answer = await answerMessage(driven, data);
        waiting--;
        if (socket.readyState !== WebSocket.OPEN) return;
        if (answer === undefined) socket.close(NORMAL);
        else socket.send(answer);
      });
    };
    socket.onerror = (event) => event.preventDefault(); // it is closed, too, and that is what counts
    socket.onclose = () => {
      this.#open--;
      driven.env[Symbol.asyncDispose]();
    };
  }
}

function refuse(socket: WebSocket, { active, most }: { active: number; most: number }): void {
  socket.onopen = () => {
    const counts = { active_sessions: active, max_sessions: most };
    socket.send(envFault("CAPACITY_REACHED", `All ${most} connections are in use`, counts));
    socket.close(NORMAL);
  };
}
