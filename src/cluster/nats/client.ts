/**
 * The parts of NATS' client that this folder uses. The client is loaded at the first use: Deno downloads packages whose
 * specifiers are literals, or whose types are imported, before any program that imports this file. `deno task cluster`
 * runs the client.
 *
 * @module
 */

/** A message of NATS. */
export interface NatsMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly reply?: string;
  readonly headers?: { readonly code: number };
}

/** Options of a subscription. */
export interface NatsSubscriptionOptions {
  queue?: string;
  /** Number of messages after which the subscription ends. */
  max?: number;
  callback?: (error: Error | null, message: NatsMessage) => void;
}

/** A subscription. */
export interface NatsSubscription {
  unsubscribe(max?: number): void;
  drain(): Promise<void>;
  isClosed(): boolean;
}

/** A connection to NATS. */
export interface NatsConnection {
  readonly info?: { readonly max_payload: number };
  publish(subject: string, payload?: Uint8Array, options?: { reply?: string }): void;
  subscribe(subject: string, options?: NatsSubscriptionOptions): NatsSubscription;
  flush(): Promise<void>;
  close(): Promise<void>;
  isClosed(): boolean;
  status(): AsyncIterable<{ readonly type: string }>;
}

/** Options of a connection. */
export interface NatsConnectionOptions {
  servers: string[];
  name: string;
  maxReconnectAttempts: number;
  reconnectTimeWait: number;
  pingInterval: number;
  timeout: number;
  user?: string;
  pass?: string;
  token?: string;
  tls?: { ca?: string; cert?: string; key?: string };
  authenticator?: NatsAuthenticator;
}

/** Proves an identity to NATS. */
export type NatsAuthenticator = (nonce?: string) => object;

/** The package `@nats-io/transport-node`. */
export interface NatsTransport {
  connect(options: NatsConnectionOptions): Promise<NatsConnection>;
  credsAuthenticator(credentials: Uint8Array): NatsAuthenticator;
  nkeyAuthenticator(seed: Uint8Array): NatsAuthenticator;
}

/** A bucket of the key-value store. */
export interface NatsBucket {
  get(key: string): Promise<{ readonly value: Uint8Array; readonly revision: number } | null>;
  put(key: string, value: Uint8Array | string): Promise<number>;
  /** Writes the first value of a key, and throws if the key has a value. */
  create(key: string, value: Uint8Array | string): Promise<number>;
  /** Writes a value in place of the value of a revision, and throws if there is a later revision. */
  update(key: string, value: Uint8Array | string, revision: number): Promise<number>;
  delete(key: string): Promise<void>;
}

/** The package `@nats-io/kv`. */
export interface NatsKv {
  readonly Kvm: new (connection: NatsConnection) => {
    create(name: string, options: {
      ttl: number;
      history: number;
      maxValueSize: number;
      storage: "file" | "memory";
    }): Promise<NatsBucket>;
  };
}

/** An object of the object store. */
export interface NatsObjectInfo {
  readonly name: string;
  readonly size: number;
  readonly deleted: boolean;
  readonly metadata: Readonly<Record<string, string>>;
  isLink(): boolean;
}

/** A bucket of the object store. */
export interface NatsObjectBucket {
  info(name: string): Promise<NatsObjectInfo | null>;
  putBlob(meta: { name: string; metadata?: Record<string, string> }, data: Uint8Array): Promise<unknown>;
  get(name: string): Promise<
    {
      readonly info: NatsObjectInfo;
      readonly data: ReadableStream<Uint8Array>;
      readonly error: Promise<unknown>;
    } | null
  >;
  delete(name: string): Promise<unknown>;
}

/** The package `@nats-io/obj`. */
export interface NatsObjects {
  readonly Objm: new (connection: NatsConnection) => {
    create(name: string, options: {
      /** Nanoseconds. */
      ttl?: number;
      max_bytes: number;
      storage: "file" | "memory";
    }): Promise<NatsObjectBucket>;
  };
  setSha256Backend(backend: "native"): void;
}

const PACKAGES: Readonly<Record<"transport" | "kv" | "objects", string>> = {
  transport: "npm:@nats-io/transport-node@3.4.0",
  kv: "npm:@nats-io/kv@3.4.0",
  objects: "npm:@nats-io/obj@3.4.0",
};

/** Loads the connections of NATS. */
export async function loadTransport(): Promise<NatsTransport> {
  return await load<NatsTransport>("transport");
}

/** Loads the key-value store of NATS. */
export async function loadKv(): Promise<NatsKv> {
  return await load<NatsKv>("kv");
}

/** Loads the object store of NATS. */
export async function loadObjects(): Promise<NatsObjects> {
  const objects = await load<NatsObjects>("objects");
  objects.setSha256Backend("native"); // the other implementation is JavaScript, which takes ten times as long
  return objects;
}

async function load<Package>(name: keyof typeof PACKAGES): Promise<Package> {
  return await import(PACKAGES[name]);
}
