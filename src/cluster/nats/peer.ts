import { Deadline } from "../../async/abort.ts";
import { Semaphore } from "../../async/semaphore.ts";
import { SandboxError } from "../../errors.ts";
import { Budget } from "../../server/budget.ts";
import { connectNats, type NatsOptions } from "./connection.ts";
import { decodeMessage, encodeMessage, type ReceivedMessage } from "./message.ts";
import type { NatsConnection, NatsMessage, NatsSubscription, NatsSubscriptionOptions } from "./client.ts";
import { createPeerId, Subjects } from "./subjects.ts";
import {
  Assembler,
  CHUNK_ANSWER,
  CHUNK_TIMEOUT_MS,
  CHUNK_WINDOW,
  PAYLOAD,
  toChunks,
  toWhole,
} from "./transfer.ts";

/** Options of {@linkcode Peer.connect}. */
export interface PeerOptions extends NatsOptions {
  /**
   * Name of the cluster. Clusters with other names on the same NATS do not see each other.
   *
   * @default "default"
   */
  cluster?: string | undefined;
  /**
   * Memory of messages that arrive in chunks, in bytes. No owner of several can take all of it.
   *
   * @default 512 MiB
   */
  bufferBytes?: number | undefined;
}

/** Options of {@linkcode Peer.send}. */
export interface SendOptions {
  /** Owner whose memory the message takes at the receiver: a SHA-256, or nothing. */
  owner?: string | undefined;
  /** Subject at which NATS reports that nothing receives the message. */
  reply?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** Options of {@linkcode Peer.receive}. */
export interface ReceiveOptions extends Omit<NatsSubscriptionOptions, "callback"> {
  /**
   * True if messages in chunks are refused.
   *
   * @default false
   */
  readonly isWhole?: boolean;
  /** Called with each payload that is no message. */
  readonly onInvalid?: () => void;
}

/** A message that was received. */
export interface Received extends ReceivedMessage {
  /** Size, in bytes. */
  readonly bytes: number;
}

/** Receives the messages of one token of the inbox. `undefined` says that nothing received a sent message. */
type InboxHandler = (received: Received | undefined) => void;

const BUFFER_BYTES = 512 * 1024 * 1024;
/** Owners that share the memory. Half of it is divided among so many. */
export const OWNERS = 8;
/** Largest payload that is sent whole, below NATS' default limit of 1 MiB. */
const MAX_WHOLE_BYTES = 1_000_000;
/** Bytes of a payload that NATS counts beside a message. */
const OVERHEAD_BYTES = 4096;

/** A member of a cluster: its connection to NATS, its inbox, and messages of any size. */
export class Peer implements AsyncDisposable {
  readonly id: string = createPeerId();
  readonly subjects: Subjects;
  readonly nats: NatsConnection;
  /** Memory of the messages of each owner. */
  readonly memory: Budget;
  /** Number of payloads that were no valid messages. */
  invalid = 0;
  /** Number of connections so far. Messages between two connections may be lost. */
  epoch = 1;
  readonly #inbox = new Map<string, InboxHandler>();
  readonly #transfers = new Map<string, (isTaken: boolean) => void>();
  readonly #assembler: Assembler;
  readonly #onConnection = new Set<(isConnected: boolean) => void>();
  #isConnected = true;
  #calls = 0;

  private constructor(
    nats: NatsConnection,
    { cluster = "default", bufferBytes = BUFFER_BYTES }: PeerOptions,
  ) {
    this.nats = nats;
    this.subjects = new Subjects(cluster);
    this.memory = new Budget({
      total: bufferBytes,
      owners: OWNERS,
      unit: "bytes of messages",
      advice: "send fewer at once",
    });
    this.#assembler = new Assembler(this.memory);
    nats.subscribe(this.subjects.inbox(this.id, "*"), { callback: (_, msg) => this.#receiveInbox(msg) });
    this.#watch();
  }

  /**
   * Joins a cluster.
   *
   * @throws {SandboxError} if NATS cannot be reached or refuses the credentials.
   */
  static async connect(options: PeerOptions, name: string): Promise<Peer> {
    new Subjects(options.cluster ?? "default"); // a wrong name is an error before anything is connected
    return new Peer(await connectNats(options, name), options);
  }

  /** True while there is a connection to NATS. */
  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** Calls back when the connection breaks and when it stands again. */
  onConnection(callback: (isConnected: boolean) => void): void {
    this.#onConnection.add(callback);
  }

  /** Returns a token of the inbox that is not in use, at which `handler` receives messages until it is disposed. */
  openInbox(handler: InboxHandler): Disposable & { readonly token: string } {
    const token = String(++this.#calls);
    this.#inbox.set(token, handler);
    return { token, [Symbol.dispose]: () => this.#inbox.delete(token) };
  }

  /** Receives messages. What is no message is counted and dropped. */
  receive(
    subject: string,
    handler: (received: Received) => void,
    options: ReceiveOptions = {},
  ): NatsSubscription {
    const { onInvalid, isWhole = false, ...rest } = options;
    return this.nats.subscribe(subject, {
      ...rest,
      callback: (_, msg) => {
        const received = isWhole && msg.data[0] !== PAYLOAD.whole ? this.#refuse() : this.#read(msg);
        if (received === "invalid") onInvalid?.();
        else if (received !== undefined) handler(received);
      },
    });
  }

  /** Sends a message that is small. It may be lost. */
  post(subject: string, head: object, options: { reply?: string } = {}): void {
    this.#publish(subject, toWhole(encodeMessage(head)), options);
  }

  /**
   * Sends a message, in chunks if it is large, and then waits until all are received.
   *
   * @throws {SandboxError} if a chunk is refused or not received in time.
   */
  async send(
    subject: string,
    message: Uint8Array,
    { owner = "", reply, signal }: SendOptions = {},
  ): Promise<void> {
    const limit = Math.min(MAX_WHOLE_BYTES, this.nats.info?.max_payload ?? MAX_WHOLE_BYTES);
    if (message.length <= limit - OVERHEAD_BYTES) {
      return this.#publish(subject, toWhole(message), reply === undefined ? {} : { reply });
    }
    const token = `t${++this.#calls}`;
    const acknowledgements = this.subjects.inbox(this.id, token);
    const failed = new AbortController();
    const window = new Semaphore(CHUNK_WINDOW);
    const held: Disposable[] = [];
    this.#transfers.set(token, (isTaken) => {
      if (isTaken) held.shift()?.[Symbol.dispose]();
      else {failed.abort(
          new SandboxError("Cannot send message as its receiver has no room for it or is lost"),
        );}
    });
    const ended = signal === undefined ? failed.signal : AbortSignal.any([failed.signal, signal]);
    const take = async () => {
      using deadline = new Deadline(CHUNK_TIMEOUT_MS, {
        signal: ended,
        reason: () =>
          new SandboxError(`Cannot send message as no chunk was received for ${CHUNK_TIMEOUT_MS} ms`),
      });
      held.push(await window.acquire(deadline.signal));
    };
    try {
      for (const payload of toChunks(message, { owner, maxBytes: limit - OVERHEAD_BYTES })) {
        await take();
        this.#publish(subject, payload, { reply: acknowledgements });
      }
      for (let at = 0; at < CHUNK_WINDOW; at++) await take(); // all chunks are received
    } finally {
      this.#transfers.delete(token);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#assembler[Symbol.dispose]();
    await this.nats.flush().catch(() => {}); // there is no connection
    await this.nats.close();
  }

  #publish(subject: string, payload: Uint8Array, options: { reply?: string }): void {
    if (!this.nats.isClosed()) this.nats.publish(subject, payload, options);
  }

  #receiveInbox(msg: NatsMessage): void {
    const token = msg.subject.slice(msg.subject.lastIndexOf(".") + 1);
    const isNoResponder = msg.data.length === 0 && msg.headers?.code === 503;
    if (token.startsWith("t")) {
      this.#transfers.get(token)?.(!isNoResponder && msg.data[0] === CHUNK_ANSWER.taken[0]);
      return;
    }
    const handler = this.#inbox.get(token);
    if (handler === undefined) return;
    if (isNoResponder) return handler(undefined);
    const received = this.#read(msg);
    if (typeof received === "object") handler(received);
  }

  #read(msg: NatsMessage): Received | "invalid" | undefined {
    const isChunk = msg.data[0] === PAYLOAD.chunk;
    const acknowledge = isChunk ? this.subjects.checkInbox(msg.reply) : undefined;
    try {
      const { buffer, byteOffset, length } = msg.data;
      const bytes = this.#assembler.receive(new Uint8Array(buffer, byteOffset, length)); // it may be a `Buffer`
      const message = bytes && decodeMessage(bytes);
      if (acknowledge !== undefined) this.nats.publish(acknowledge, CHUNK_ANSWER.taken);
      return message && { ...message, bytes: bytes.length };
    } catch {
      // The sender is wrong, or its owner holds too much. A log of it would grow with what strangers send.
      if (acknowledge !== undefined) this.nats.publish(acknowledge, CHUNK_ANSWER.refused);
      return this.#refuse();
    }
  }

  #refuse(): "invalid" {
    this.invalid++;
    return "invalid";
  }

  async #watch(): Promise<void> {
    for await (const { type } of this.nats.status()) {
      if (type === "disconnect" || type === "reconnect") {
        this.#isConnected = type === "reconnect";
        if (this.#isConnected) this.epoch++;
        for (const callback of this.#onConnection) callback(this.#isConnected);
      }
    }
  }
}
