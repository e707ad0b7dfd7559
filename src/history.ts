import { type Message, parseMessage } from "./message.ts";

/** A conversation that never changes: what adds to it gives a new one. */
export class History implements Iterable<Message> {
  readonly #messages: readonly Message[];

  private constructor(messages: readonly Message[]) {
    this.#messages = messages;
  }

  /**
   * Takes a chat as other programs write it: a list of `{ role, content, … }`.
   *
   * @throws {TypeError} when a message has no role or no content.
   */
  static fromChats(chats: Iterable<Message>): History {
    return chats instanceof History ? chats : new History(Array.from(chats, parseMessage));
  }

  /** How many messages there are. */
  get length(): number {
    return this.#messages.length;
  }

  /** The newest message; `undefined` when there is none. */
  get last(): Message | undefined {
    return this.#messages.at(-1);
  }

  /**
   * This conversation and one more message.
   *
   * @throws {TypeError} when it is given several.
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
   * This conversation followed by another one.
   *
   * @throws {TypeError} when it is given one message alone.
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

  /** The messages from `start` up to `end`, which count as those of `Array.prototype.slice`. */
  slice(start?: number, end?: number): History {
    return new History(this.#messages.slice(start, end));
  }

  /** The messages as plain objects of the caller's own. */
  toChats(): Message[] {
    return this.#messages.map((message) => structuredClone(message));
  }

  /** What `JSON.stringify` writes: the chat. */
  toJSON(): readonly Message[] {
    return this.#messages;
  }

  [Symbol.iterator](): Iterator<Message> {
    return this.#messages[Symbol.iterator]();
  }
}
