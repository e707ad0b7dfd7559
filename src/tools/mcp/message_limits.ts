import type { JSONRPCMessage } from "./sdk.ts";
import { checkJsonLimits } from "../../json.ts";

/** Maximum length of a message: in characters over pipes, in bytes over HTTP. */
export const MAX_MESSAGE_LENGTH = 32 * 1024 * 1024;
const MESSAGE_LIMITS = { depth: 64, values: 200_000 };

/** Maximum number of tools that a server may offer. */
const MAX_TOOLS = 1_000;
/** Requests that a server may make in a second. */
const REQUESTS_PER_SECOND = 100;
/** Notifications that a server may send in a second on average, and at once. */
const NOTIFICATIONS_PER_SECOND = 1_000;
const MAX_NOTIFICATIONS_AT_ONCE = 10_000;

/** A message of a server exceeds a limit. The message says which. */
export class MessageLimitError extends RangeError {
  override readonly name = "MessageLimitError";
}

/** Throws if a message is too long. `length` is the length of the part that has arrived. */
export function requireLength(length: number, unit: "characters" | "bytes"): void {
  if (length <= MAX_MESSAGE_LENGTH) return;
  throw new MessageLimitError(
    `a message must have at most ${MAX_MESSAGE_LENGTH} ${unit}: it has ${length} or more`,
  );
}

/** Throws if a message has too many values or levels to be parsed. */
export function requireJsonLimits(json: string | Uint8Array): void {
  checkJsonLimits(json, MESSAGE_LIMITS);
}

/** Counts the messages of a connection. */
export class MessageMeter {
  readonly #now: () => number;
  #requests = REQUESTS_PER_SECOND;
  #notifications = MAX_NOTIFICATIONS_AT_ONCE;
  #tools = 0;
  #lastMs: number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#lastMs = now();
  }

  /** @throws {MessageLimitError} if the server sends too many. */
  count(message: JSONRPCMessage): void {
    this.#refill();
    if ("method" in message) {
      if ("id" in message) this.#requests--;
      else this.#notifications--;
    } else if ("result" in message && Array.isArray(message.result.tools)) {
      this.#tools += message.result.tools.length;
    }
    if (this.#requests < 0) {
      throw new MessageLimitError(`a server may make ${REQUESTS_PER_SECOND} requests a second: it made more`);
    }
    if (this.#notifications < 0) {
      throw new MessageLimitError(
        `a server may send ${NOTIFICATIONS_PER_SECOND} notifications a second: it sent more`,
      );
    }
    if (this.#tools > MAX_TOOLS) {
      throw new MessageLimitError(`a server may offer ${MAX_TOOLS} tools: it offers ${this.#tools} or more`);
    }
  }

  #refill(): void {
    const now = this.#now();
    const seconds = (now - this.#lastMs) / 1000;
    this.#lastMs = now;
    this.#requests = Math.min(REQUESTS_PER_SECOND, this.#requests + seconds * REQUESTS_PER_SECOND);
    this.#notifications = Math.min(
      MAX_NOTIFICATIONS_AT_ONCE,
      this.#notifications + seconds * NOTIFICATIONS_PER_SECOND,
    );
  }
}
