import { ArgumentTypeError } from "../../errors.ts";
import { randomId } from "../../random_id.ts";
import { ID_HASH, type Seal } from "./seal.ts";

/** Name of a cluster or of a profile: a token of a NATS subject without wildcards. */
export const TOKEN: RegExp = /^[A-Za-z0-9_-]{1,64}$/;
/** Id of a member of a cluster. Each start of a process has a new id. */
export const PEER_ID: RegExp = /^[a-z0-9]{10}$/;
/** Id of a session: the id of the session's node, and 30 characters that cannot be guessed. */
export const SESSION_ID: RegExp = /^[a-z0-9]{10}[A-Za-z0-9_-]{30}$/;
/** Last token of an inbox: the number of a call, or the number of a transfer in chunks after a `t`. */
export const INBOX_TOKEN: RegExp = /^t?\d{1,15}$/;
/** Last token of the inbox at which members ask each other whether they are alive. */
export const GREETING_TOKEN = "greeting";

const PEER_CHARACTERS = "abcdefghijklmnopqrstuvwxyz012345";

/** Returns a new id of a member. */
export function createPeerId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(10)), (byte) => PEER_CHARACTERS[byte % 32]).join(
    "",
  );
}

/** Returns a new id of a session, which carries the id of the node. */
export function createSessionId(node: string): string {
  return node + randomId().slice(0, 30);
}

/** Returns the node of a session. */
export function nodeOf(session: string): string {
  return session.slice(0, 10);
}

/** Throws if a name cannot be part of a subject. */
export function checkClusterName(cluster: string): void {
  if (TOKEN.test(cluster)) return;
  throw new ArgumentTypeError(
    `Cannot use cluster as its name must have 1 to 64 letters, digits, '_' or '-': current value is '${cluster}'`,
  );
}

/**
 * The subjects of a cluster. All begin with the cluster's prefix, so that a NATS account can be restricted to the
 * cluster. Ids and profiles are hashed with the key of the cluster.
 */
export class Subjects {
  readonly cluster: string;
  readonly #prefix: string;
  readonly #seal: Pick<Seal, "hash">;

  /** @throws {ArgumentTypeError} if the name cannot be part of a subject. */
  constructor(cluster: string, seal: Pick<Seal, "hash">) {
    checkClusterName(cluster);
    this.cluster = cluster;
    this.#seal = seal;
    this.#prefix = `paddock.${cluster}`;
  }

  /** Calls that need a free slot of a profile. Each free slot subscribes once, for one message. */
  work(profile: string): string {
    return `${this.#prefix}.work.${this.#seal.hash("profile", profile)}`;
  }

  /** Queue group of the free slots of a profile. Without the key nobody can join the group and take calls away. */
  slotQueue(profile: string): string {
    return this.#seal.hash("slots", profile);
  }

  /** Announcements that a slot of a profile has become free. */
  free(profile: string): string {
    return `${this.#prefix}.free.${this.#seal.hash("profile", profile)}`;
  }

  /** Calls of a node's sessions. */
  node(id: string): string {
    return `${this.#prefix}.node.${this.#member(id)}`;
  }

  /** Heartbeats of a node, or of all nodes. */
  nodeBeat(id = "*"): string {
    return `${this.#prefix}.beat.${this.#member(id)}`;
  }

  /** Heartbeats of a caller, or of all callers. */
  callerBeat(id = "*"): string {
    return `${this.#prefix}.caller.${this.#member(id)}`;
  }

  /** Replies and acknowledgements to a member. */
  inbox(peer: string, token: string): string {
    return `${this.#prefix}.inbox.${this.#member(peer)}.${token}`;
  }

  /** Returns the subject if the subject is an inbox of this cluster: only inboxes are answered. */
  checkInbox(subject: string | undefined): string | undefined {
    const [peer = "", token = "", ...more] = subject?.slice(this.#prefix.length + 7).split(".") ?? [];
    const isInbox = subject?.startsWith(`${this.#prefix}.inbox.`) && more.length === 0;
    return isInbox && ID_HASH.test(peer) && INBOX_TOKEN.test(token) ? subject : undefined;
  }

  /** Name of the entry of a node or session in a bucket. */
  entry(id: string): string {
    return this.#seal.hash("entry", id);
  }

  /** Bucket of the object store with the checkpoints of sessions. */
  get statesBucket(): string {
    return `paddock_${this.cluster}_states`;
  }

  /** Bucket with the places and settings of shared sessions. */
  get sharedBucket(): string {
    return `paddock_${this.cluster}_sessions`;
  }

  /** Bucket of the object store with the base images of nodes, by the hashes of their bytes. */
  get imagesBucket(): string {
    return `paddock_${this.cluster}_images`;
  }

  /** Bucket with the hash of the base image that all nodes of the same inputs use. */
  get imageHashesBucket(): string {
    return `paddock_${this.cluster}_image_hashes`;
  }

  /** Bucket with the properties of nodes. */
  get nodesBucket(): string {
    return `paddock_${this.cluster}_nodes`;
  }

  #member(id: string): string {
    return id === "*" ? id : this.#seal.hash("member", id);
  }
}
