/**
 * The beginning of each payload: who sends it, and the number of the payload among all that this member sends.
 *
 * | bytes | content                                          |
 * | ----- | ------------------------------------------------ |
 * | 10    | id of the sender, in ASCII                       |
 * | 8     | number of the payload, little-endian, from 1 on  |
 * | …     | payload                                          |
 *
 * A receiver accepts larger numbers only, so that a captured payload has no effect when a stranger sends the payload
 * again. NATS keeps the order of the payloads of a connection. A broadcast, such as a heartbeat, may also come from a
 * member that has ended long ago. So the sender of a broadcast must first answer a question of the receiver, or send
 * the receiver anything else that names the receiver.
 *
 * @module
 */
const ID_BYTES = 10;
const HEADER_BYTES = 18;
/** Members whose last number is remembered. The member that was silent for the longest time is forgotten. */
const MAX_MEMBERS = 100_000;
/** Milliseconds between two questions to a member. */
const ASK_MS = 250;
/** Members that were asked and have not answered. */
const MAX_ASKED = 1_000;

/** Payload of a member. */
export interface MemberPayload {
  readonly sender: string;
  readonly number: number;
  readonly payload: Uint8Array<ArrayBuffer>;
}

/** Returns a payload with the sender and the number. */
export function encodePayload({ sender, number, payload }: {
  sender: string;
  number: number;
  payload: Uint8Array;
}): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(HEADER_BYTES + payload.length);
  for (let at = 0; at < ID_BYTES; at++) bytes[at] = sender.charCodeAt(at);
  new DataView(bytes.buffer).setBigUint64(ID_BYTES, BigInt(number), true);
  bytes.set(payload, HEADER_BYTES);
  return bytes;
}

/** Reads a payload of a member, or returns `undefined` if the bytes are none. */
export function decodePayload(bytes: Uint8Array<ArrayBuffer>): MemberPayload | undefined {
  if (bytes.length <= HEADER_BYTES) return undefined;
  const number = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(ID_BYTES, true);
  return {
    sender: String.fromCharCode(...bytes.subarray(0, ID_BYTES)),
    number: Number(number),
    payload: bytes.subarray(HEADER_BYTES),
  };
}

/** The members of a cluster that are known to be alive, with the number of the last payload of each. */
export class Members {
  readonly #lastNumbers = new Map<string, number>();
  readonly #askedAt = new Map<string, number>();

  /**
   * Returns whether a payload is the sender's next payload. `unknown`: the sender must first answer a question.
   *
   * @param isDirect True if the payload names this member, which no earlier process was.
   */
  accept(
    { sender, number }: Pick<MemberPayload, "sender" | "number">,
    { isDirect }: { isDirect: boolean },
  ): "next" | "replayed" | "unknown" {
    const last = this.#lastNumbers.get(sender);
    if (last === undefined && !isDirect) return "unknown";
    if (last !== undefined && number <= last) return "replayed";
    this.#lastNumbers.delete(sender); // the map has the order of the last payloads
    this.#lastNumbers.set(sender, number);
    if (last === undefined) this.#note(sender);
    return "next";
  }

  /** Returns whether an unknown member is to be asked at this time. */
  takeQuestion(sender: string, nowMs: number): boolean {
    const askedAt = this.#askedAt.get(sender);
    if (askedAt !== undefined && nowMs - askedAt < ASK_MS) return false;
    this.#askedAt.delete(sender);
    if (this.#askedAt.size >= MAX_ASKED) removeOldest(this.#askedAt);
    this.#askedAt.set(sender, nowMs);
    return true;
  }

  #note(sender: string): void {
    this.#askedAt.delete(sender);
    if (this.#lastNumbers.size > MAX_MEMBERS) removeOldest(this.#lastNumbers);
  }
}

function removeOldest(map: Map<string, number>): void {
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
