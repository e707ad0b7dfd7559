/** One turn of a conversation. */
export interface Message {
  /** Who speaks: `system`, `user`, `assistant`, or the name under which a tool answers. */
  readonly role: string;
  readonly content: string;
}

/** A conversation that never changes: what adds to it gives a new one. */
export class History implements Iterable<Message> {
  readonly #messages: readonly Message[];

  private constructor(messages: readonly Message[]) {
    this.#messages = messages;
  }

  /**
   * Takes a chat as other programs write it: a list of `{ role, content }`.
   *
   * @throws {TypeError} when a message has no text as role or content.
   */
  static fromChats(chats: Iterable<Message>): History {
    return new History(Array.from(chats, checkedMessage));
  }

  /** How many messages there are. */
  get length(): number {
    return this.#messages.length;
  }

  /** The newest message; `undefined` when there is none. */
  get last(): Message | undefined {
    return this.#messages.at(-1);
  }

  /** This conversation and one more message. */
  append(message: Message): History {
    return new History([...this.#messages, checkedMessage(message, this.length)]);
  }

  /** This conversation followed by another one. */
  extend(messages: Iterable<Message>): History {
    const added = Array.from(messages, checkedMessage);
    return added.length === 0 ? this : new History([...this.#messages, ...added]);
  }

  /** The messages as plain objects of the caller's own. */
  toChats(): Message[] {
    return this.#messages.map(({ role, content }) => ({ role, content }));
  }

  /** What `JSON.stringify` writes: the chat. */
  toJSON(): Message[] {
    return this.toChats();
  }

  [Symbol.iterator](): Iterator<Message> {
    return this.#messages[Symbol.iterator]();
  }
}

function checkedMessage(message: Message, index: number): Message {
  const { role, content } = message;
  if (typeof role !== "string" || typeof content !== "string") {
    throw new TypeError(
      `Cannot take message ${index} as its role and content must be strings: ` +
        `current value is ${typeof role} and ${typeof content}`,
    );
  }
  return Object.freeze({ role, content });
}
