import type { Message } from "../../message.ts";
import { messageKey } from "./message_key.ts";
import type { SampledTurn } from "./session_row.ts";

/** A chat of a session, in which the earlier messages are the messages of the nodes above. */
interface ChatNode {
  readonly next: Map<string, ChatNode>;
  /** Turns that answered the chat that ends here. */
  readonly answers: SampledTurn[];
  /** Turns whose delivered message is the last message of the chat that ends here. */
  readonly turns: SampledTurn[];
}

/** How far a chat is a chat that the session has seen. */
export interface ChatPath {
  /** Key of each message of the chat. Messages at `kept` have the key of the delivered message. */
  readonly keys: readonly string[];
  /** Number of messages that are known. */
  readonly depth: number;
  /** Sampled turns of the chat, by the index of their message, in order. */
  readonly sampled: ReadonlyMap<number, SampledTurn>;
  /** Indices of messages of the assistant that the agent changed and that count as unchanged. */
  readonly kept: readonly number[];
  /** Turn that answered the known part of the chat, if that part was answered. */
  readonly answer: SampledTurn | undefined;
}

/** The chats of a session with the same tools: each turn is found by the messages before the turn. */
export class ChatTree {
  readonly #root: ChatNode;

  constructor(root: ChatNode = newNode()) {
    this.#root = root;
  }

  /** Returns a tree with the same turns, to which others may be added. */
  copy(): ChatTree {
    return new ChatTree(copyNode(this.#root));
  }

  /**
   * Follows a chat from its first message.
   *
   * @param keepsChanged True if a changed message of the assistant counts as the delivered message.
   */
  find(messages: readonly Message[], { keepsChanged }: { keepsChanged: boolean }): ChatPath {
    const keys = messages.map(messageKey);
    const sampled = new Map<number, SampledTurn>();
    const kept: number[] = [];
    let node = this.#root;
    let depth = 0;
    for (const [at, { role }] of messages.entries()) {
      const answer = node.answers.at(-1);
      const isChanged = role === "assistant" && answer !== undefined && !node.next.has(keys[at] ?? "");
      if (keepsChanged && isChanged) {
        keys[at] = answer.key;
        kept.push(at);
      }
      const next = node.next.get(keys[at] ?? "");
      if (next === undefined) break;
      const turn = next.turns.find((turn) => turn.row.tip === turn) ?? next.turns.at(-1);
      if (turn !== undefined) sampled.set(at, turn);
      node = next;
      depth = at + 1;
    }
    return { keys, depth, sampled, kept, answer: node.answers.at(-1) };
  }

  /** Adds a turn that answered a chat. */
  add({ keys }: ChatPath, turn: SampledTurn): void {
    let node = this.#root;
    for (const key of keys) node = nextNode(node, key);
    node.answers.push(turn);
    nextNode(node, turn.key).turns.push(turn);
  }
}

/** Copies a node and all below. A chat may be too long for recursion. */
function copyNode(root: ChatNode): ChatNode {
  const copy = newNode();
  const open: [from: ChatNode, to: ChatNode][] = [[root, copy]];
  for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
    const [from, to] = pair;
    to.answers.push(...from.answers);
    to.turns.push(...from.turns);
    for (const [key, child] of from.next) open.push([child, nextNode(to, key)]);
  }
  return copy;
}

function newNode(): ChatNode {
  return { next: new Map(), answers: [], turns: [] };
}

function nextNode(node: ChatNode, key: string): ChatNode {
  const next = node.next.get(key) ?? newNode();
  node.next.set(key, next);
  return next;
}
