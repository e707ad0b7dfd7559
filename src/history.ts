import type { Message } from "./message.ts";
import { parseMessage } from "./parse_message.ts";

/**
 * An immutable conversation. Methods that add messages return a new `History`.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { History } from "@paddock/paddock";
 *
 * const question = History.fromChats([{ role: "user", content: "What is 6 times 7?" }]);
 * const history = question.append({ role: "assistant", content: "42" });
 * assertEquals(question.length, 1);
 * assertEquals(history.last?.content, "42");
 * ```
 */
export class History implements Iterable<Message> {
  readonly #messages: readonly Message[];

  private constructor(messages: readonly Message[]) {
    this.#messages = messages;
  }

  /**
   * Creates a history from chat messages in the common format: a list of `{ role, content, … }`.
   *
   * @throws {TypeError} if a message has no role or no content.
   */
  static fromChats(chats: Iterable<Message>): History {
    return chats instanceof History ? chats : new History(Array.from(chats, parseMessage));
  }

  /** Number of messages. */
  get length(): number {
    return this.#messages.length;
  }

  /** The last message; `undefined` if the history is empty. */
  get last(): Message | undefined {
    return this.#messages.at(-1);
  }

  /**
   * Returns a history with one more message.
   *
   * @throws {TypeError} if the argument is a list of messages.
   */
  append(message: Message): History {
    if (Symbol.iterator in message) {
      throw new TypeError(
        "The new history to append must have one less dimension than self. Got a list of messages: extend it",
      );
    }
    return new History([...this.#messages, parseMessage(message, this.length)]);
  }

  /**
   * Returns a history with the messages of another conversation added at the end.
   *
   * @throws {TypeError} if the argument is a single message.
   */
  extend(messages: Iterable<Message>): History {
    if (!(Symbol.iterator in messages)) {
      throw new TypeError(
        "The new history to extend must have as many dimensions as self. Got one message: append it",
      );
    }
    const added = messages instanceof History ? messages.#messages : Array.from(messages, parseMessage);
    return added.length === 0 ? this : new History([...this.#messages, ...added]);
  }

  /** Returns the messages from `start` to `end`, with the indices of `Array.prototype.slice`. */
  slice(start?: number, end?: number): History {
    return new History(this.#messages.slice(start, end));
  }

  /** Returns copies of the messages as plain objects, which the caller may change. */
  toChats(): Message[] {
    return this.#messages.map((message) => structuredClone(message));
  }

  /** Returns the messages; used by `JSON.stringify`. */
  toJSON(): readonly Message[] {
    return this.#messages;
  }

  /** Iterates over the messages, oldest first. */
  [Symbol.iterator](): Iterator<Message> {
    return this.#messages[Symbol.iterator]();
  }
}
