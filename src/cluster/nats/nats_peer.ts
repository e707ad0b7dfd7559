import { Deadline } from "../../async/abort.ts";
import { Semaphore } from "../../async/semaphore.ts";
import { SandboxError } from "../../errors.ts";
import { ensureKeyFile } from "../../sandbox/checkpoint/host_key.ts";
import { defaultCacheDir } from "../../sandbox/image/cache_dir.ts";
import { Budget } from "../../server/admission/budget.ts";
import { connectNats, NATS_OPTIONS, type NatsOptions } from "./connection.ts";
import { decodeMessage, encodeMessage, type ReceivedMessage } from "./message.ts";
import type { NatsConnection, NatsMessage, NatsSubscription, NatsSubscriptionOptions } from "./client.ts";
import { decodePayload, encodePayload, Members } from "./members.ts";
import { Seal } from "./seal.ts";
import { checkClusterName, createPeerId, GREETING_TOKEN, Subjects } from "./subjects.ts";
import {
  Assembler,
  CHUNK_ANSWER,
  CHUNK_TIMEOUT_MS,
  CHUNK_WINDOW,
  PAYLOAD,
  toChunks,
  toWhole,
} from "./transfer.ts";

/** Options of {@linkcode NatsPeer.connect}. */
export interface PeerOptions extends NatsOptions {
  /**
   * Name of the cluster. Clusters with other names on the same NATS do not see each other.
   *
   * @default "default"
   */
  cluster?: string | undefined;
  /**
   * Key of the cluster, of at least 32 bytes, which all members share. The key seals messages and stored data, so that
   * other users of the NATS account can neither read nor send them.
   *
   * @default the file `cluster.key` of the cache directory of this host, which is created once
   */
  key?: Uint8Array | undefined;
  /**
   * Memory of messages that arrive in chunks, in bytes. If there are several owners, no owner can take all memory.
   *
   * @default 512 MiB
   */
  bufferBytes?: number | undefined;
}

/** Names of the options of a member. */
export const PEER_OPTIONS: Readonly<Record<keyof PeerOptions, true>> = {
  ...NATS_OPTIONS,
  cluster: true,
  key: true,
  bufferBytes: true,
};

/** Options of {@linkcode NatsPeer.send}. */
export interface SendOptions {
  /** Owner whose memory the message takes at the receiver: a SHA-256, or nothing. */
  owner?: string | undefined;
  /** Subject at which NATS reports that nothing receives the message. */
  reply?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** Options of {@linkcode NatsPeer.receive}. */
export interface ReceiveOptions extends Omit<NatsSubscriptionOptions, "callback"> {
  /**
   * True if messages in chunks are refused.
   *
   * @default false
   */
  readonly isWhole?: boolean;
  /** Called with each payload that is not accepted. */
  readonly onInvalid?: () => void;
}

/** A message that was received. */
export interface Received extends ReceivedMessage {
  /** Id of the member that has sent the message. */
  readonly sender: string;
  /** Size, in bytes. */
  readonly bytes: number;
}

/** Receives the messages of a token of the inbox. `undefined` says that nothing received a sent message. */
type InboxHandler = (received: Received | undefined) => void;

/** Name of the file of the key in a cache directory. */
export const KEY_FILE = "cluster.key";

const BUFFER_BYTES = 512 * 1024 * 1024;
/** Number of owners that share the memory. Half of the memory is divided among the owners. */
export const OWNERS = 8;
/** Largest payload that is sent whole, below NATS' default limit of 1 MiB. */
const MAX_WHOLE_BYTES = 1_000_000;
/** Bytes of a payload that NATS counts beside a message. */
const OVERHEAD_BYTES = 4096;

/** A member of a cluster: the connection to NATS, the inbox, and messages of any size. */
export class NatsPeer implements AsyncDisposable {
  readonly id: string = createPeerId();
  readonly subjects: Subjects;
  readonly nats: NatsConnection;
  /** Memory of the messages of each owner. */
  readonly memory: Budget;
  /** Number of payloads that were no valid messages. */
  invalid = 0;
  /** Number of payloads that no member with this member's key has sent for this place. */
  foreign = 0;
  /** Number of connections so far. Messages between two connections may be lost. */
  epoch = 1;
  readonly #inbox = new Map<string, InboxHandler>();
  readonly #transfers = new Map<string, (isTaken: boolean) => void>();
  readonly #assembler: Assembler;
  readonly #onConnection = new Set<(isConnected: boolean) => void>();
  readonly #seal: Seal;
  readonly #members = new Members();
  readonly #onAsked = new Set<() => void>();
  readonly #ownSubjects: readonly [node: string, inbox: string];
  #onStray: (token: string, received: Received) => void = () => {};
  #isConnected = true;
  #calls = 0;
  /** Number of payloads that were sent. */
  #sent = 0;

  private constructor(
    nats: NatsConnection,
    { seal, cluster, bufferBytes = BUFFER_BYTES }: PeerOptions & { seal: Seal; cluster: string },
  ) {
    this.nats = nats;
    this.#seal = seal;
    this.subjects = new Subjects(cluster, seal);
    this.#ownSubjects = [this.subjects.node(this.id), this.subjects.inbox(this.id, "")];
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
   * @throws {SandboxError} if NATS cannot be reached or refuses the credentials, or another user may read the key.
   * @throws {ArgumentRangeError} if the key is too short.
   */
  static async connect(options: PeerOptions, name: string): Promise<NatsPeer> {
    const { cluster = "default" } = options;
    checkClusterName(cluster); // a wrong name is an error before anything is connected
    const key = options.key ?? await ensureKeyFile(defaultCacheDir(), KEY_FILE);
    const seal = new Seal(key, cluster);
    return new NatsPeer(await connectNats(options, name), { ...options, seal, cluster });
  }

  /** Advice on the key, if there were messages that the key cannot open; otherwise nothing. */
  get keyAdvice(): string {
    if (this.foreign === 0) return "";
    return `. ${this.foreign} messages could not be opened with the key of this member: ` +
      "give all members the same --cluster-key-file";
  }

  /** True while there is a connection to NATS. */
  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** Calls back when the connection breaks and when it stands again. */
  onConnection(callback: (isConnected: boolean) => void): void {
    this.#onConnection.add(callback);
  }

  /** Calls back when a member that has not known this member before asks whether this member is alive. */
  onAsked(callback: () => void): void {
    this.#onAsked.add(callback);
  }

  /** Receives messages at tokens of the inbox that are not in use, such as late replies. */
  onStray(handler: (token: string, received: Received) => void): void {
    this.#onStray = handler;
  }

  /** Seals a value of a bucket. */
  sealValue(bucket: string, name: string, value: Uint8Array): Uint8Array<ArrayBuffer> {
    return this.#seal.seal(`${bucket} ${name}`, value);
  }

  /** Returns a value of a bucket, or `undefined` if no member of the cluster has sealed the value for this name. */
  openValue(bucket: string, name: string, sealed: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
    return this.#seal.open(`${bucket} ${name}`, sealed);
  }

  /** Seals an object of a bucket. */
  async sealObject(bucket: string, name: string, bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
    return await this.#seal.sealObject(`${bucket} ${name}`, bytes);
  }

  /** Returns an object of a bucket, or `undefined` if no member of the cluster has sealed the object for this name. */
  async openObject(
    bucket: string,
    name: string,
    sealed: Uint8Array<ArrayBuffer>,
  ): Promise<Uint8Array<ArrayBuffer> | undefined> {
    return await this.#seal.openObject(`${bucket} ${name}`, sealed);
  }

  /** Returns an unused token of the inbox, at which `handler` receives messages until the token is disposed. */
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
        const received = this.#read(msg, { isWhole });
        if (received === "invalid") onInvalid?.();
        else if (received !== undefined) handler(received);
      },
    });
  }

  /** Sends a small message, which may be lost. */
  post(subject: string, head: object, options: { reply?: string } = {}): void {
    this.#publish(subject, toWhole(encodeMessage(head)), options);
  }

  /**
   * Sends a message, in chunks if the message is large, and then waits until all chunks are received.
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
    if (this.nats.isClosed()) return;
    const numbered = encodePayload({ sender: this.id, number: ++this.#sent, payload });
    this.nats.publish(subject, this.#seal.seal(subject, numbered), options);
  }

  #receiveInbox(msg: NatsMessage): void {
    const token = msg.subject.slice(msg.subject.lastIndexOf(".") + 1);
    const isNoResponder = msg.data.length === 0 && msg.headers?.code === 503;
    if (token.startsWith("t")) return this.#receiveAcknowledgement(token, isNoResponder ? undefined : msg);
    if (isNoResponder) return this.#inbox.get(token)?.(undefined);
    const received = this.#read(msg);
    if (typeof received !== "object") return;
    const handler = this.#inbox.get(token);
    if (handler !== undefined) handler(received);
    else if (token === GREETING_TOKEN) this.#receiveGreeting(received);
    else this.#onStray(token, received);
  }

  #receiveAcknowledgement(token: string, msg: NatsMessage | undefined): void {
    if (msg === undefined) return this.#transfers.get(token)?.(false);
    const opened = this.#open(msg);
    if (opened !== undefined) this.#transfers.get(token)?.(opened.payload[0] === CHUNK_ANSWER.taken[0]);
  }

  /**
   * Answers a member that does not know this member. After the question and the answer, both members know that the
   * other member is alive.
   */
  #receiveGreeting({ head, sender }: Received): void {
    if (head["ask"] !== true) return;
    this.#greet(sender, { ask: false });
    for (const callback of this.#onAsked) callback();
  }

  #greet(member: string, head: { ask: boolean }): void {
    this.post(this.subjects.inbox(member, GREETING_TOKEN), head);
  }

  #read(msg: NatsMessage, { isWhole = false } = {}): Received | "invalid" | undefined {
    const opened = this.#open(msg);
    if (opened === undefined) return "invalid";
    const { sender, payload } = opened;
    const isChunk = payload[0] === PAYLOAD.chunk;
    if (isChunk && isWhole) return this.#refuse();
    const acknowledge = isChunk ? this.subjects.checkInbox(msg.reply) : undefined;
    try {
      const bytes = this.#assembler.receive(payload);
      const message = bytes && decodeMessage(bytes);
      if (acknowledge !== undefined) this.#publish(acknowledge, CHUNK_ANSWER.taken, {});
      return message && { ...message, sender, bytes: bytes.length };
    } catch {
      // The sender is wrong, or the owner holds too much. A log would grow with the messages of strangers.
      if (acknowledge !== undefined) this.#publish(acknowledge, CHUNK_ANSWER.refused, {});
      return this.#refuse();
    }
  }

  /**
   * Returns the payload of a message that a member of the cluster has sent, for this subject and for the first time.
   */
  #open({ subject, data }: NatsMessage): { sender: string; payload: Uint8Array<ArrayBuffer> } | undefined {
    const text = this.#seal.open(subject, data);
    const opened = text && decodePayload(text);
    if (opened === undefined) {
      this.foreign++;
      return void this.#refuse();
    }
    const { sender } = opened;
    const [node, inbox] = this.#ownSubjects;
    const isDirect = subject === node || subject.startsWith(inbox) || sender === this.id;
    const order = this.#members.accept(opened, { isDirect });
    if (order === "next") return opened;
    if (order === "replayed") return void this.#refuse();
    if (this.#members.takeQuestion(sender, performance.now())) this.#greet(sender, { ask: true });
    return undefined;
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
