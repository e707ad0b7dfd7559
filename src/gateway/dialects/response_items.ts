import { GatewayError } from "../gateway_error.ts";

/** An item of the Responses API, which is checked where it is read. */
export type ResponseItem = Readonly<Record<string, unknown>>;

/** Numbers of items and responses of a session that later requests may name. */
const MAX_ITEMS = 4_096;
const MAX_RESPONSES = 64;

/** The items of a session's responses, by their ids. The oldest are forgotten. */
export class ResponseItems {
  readonly #items = new Map<string, ResponseItem>();
  readonly #chats = new Map<string, readonly ResponseItem[]>();

  /** Keeps the items of a response. `input` is the whole chat before the response. */
  add(
    id: string,
    { input, output }: { input: readonly ResponseItem[]; output: readonly ResponseItem[] },
  ): void {
    this.addItems(output);
    addLast(this.#chats, id, [...input, ...output], MAX_RESPONSES);
  }

  /** Keeps items without their chat. */
  addItems(items: readonly ResponseItem[]): void {
    for (const item of items) {
      if (typeof item.id === "string") addLast(this.#items, item.id, item, MAX_ITEMS);
    }
  }

  /**
   * Returns an item.
   *
   * @throws {GatewayError} if the session does not have the item, or has forgotten the item.
   */
  item(id: string): ResponseItem {
    return this.#items.get(id) ?? missing(`an item '${id.slice(0, 80)}'`, MAX_ITEMS);
  }

  /** Returns the chat of a response, with the response, as {@linkcode item} does. */
  chat(id: string): readonly ResponseItem[] {
    return this.#chats.get(id) ?? missing(`a response '${id.slice(0, 80)}'`, MAX_RESPONSES);
  }
}

function addLast<T>(map: Map<string, T>, id: string, value: T, limit: number): void {
  map.delete(id);
  map.set(id, value);
  const [oldest] = map.keys();
  if (map.size > limit && oldest !== undefined) map.delete(oldest);
}

function missing(what: string, limit: number): never {
  throw new GatewayError("invalid", `The session must have ${what}, of the last ${limit}: send its content`);
}
