/**
 * Payloads above NATS' limit are sent in chunks. The first byte of each payload is 0 before a whole message, and 1
 * before a chunk:
 *
 * | bytes | content of a chunk                                           |
 * | ----- | ------------------------------------------------------------ |
 * | 1     | 1                                                            |
 * | 16    | id of the transfer                                           |
 * | 32    | owner whose memory the chunk takes: SHA-256, or zeros        |
 * | 4     | size of the whole message, little-endian                     |
 * | 4     | position of the chunk                                        |
 * | …     | bytes                                                        |
 *
 * The receiver answers each chunk, so that few chunks are under way: 0 requests the next chunk, 1 refuses.
 *
 * @module
 */
import type { Budget, BudgetLease } from "../../server/admission/budget.ts";
import { MAX_MESSAGE_BYTES, MessageError } from "./message.ts";

/** Maximum bytes of a message in a chunk. */
export const CHUNK_BYTES: number = 256 * 1024;
/** Chunks of a transfer that may be under way. */
export const CHUNK_WINDOW = 8;
/** Milliseconds between two chunks after which a transfer is given up. */
export const CHUNK_TIMEOUT_MS = 10_000;
/** First byte of a payload. */
export const PAYLOAD = { whole: 0, chunk: 1 } as const;
/** Answers to a chunk. */
export const CHUNK_ANSWER = { taken: new Uint8Array([0]), refused: new Uint8Array([1]) } as const;
/** Transfers to a member at once. */
const MAX_TRANSFERS = 4096;

const HEADER_BYTES = 57;
const [ID_AT, OWNER_AT, TOTAL_AT, OFFSET_AT] = [1, 17, 49, 53];

/** Returns the payload of a message that fits into a single payload. */
export function toWhole(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const payload = new Uint8Array(message.length + 1);
  payload.set(message, 1);
  return payload;
}

/** Yields the payloads, of at most `maxBytes`, of a message that is too large for a single payload. */
export function* toChunks(
  message: Uint8Array,
  { owner, maxBytes }: { owner: string; maxBytes: number },
): Generator<Uint8Array<ArrayBuffer>> {
  const chunkBytes = Math.min(CHUNK_BYTES, maxBytes - HEADER_BYTES);
  const header = new Uint8Array(HEADER_BYTES);
  header[0] = PAYLOAD.chunk;
  crypto.getRandomValues(header.subarray(ID_AT, OWNER_AT));
  if (owner !== "") header.set(Uint8Array.fromHex(owner), OWNER_AT);
  const view = new DataView(header.buffer);
  view.setUint32(TOTAL_AT, message.length, true);
  for (let offset = 0; offset < message.length; offset += chunkBytes) {
    view.setUint32(OFFSET_AT, offset, true);
    const bytes = message.subarray(offset, offset + chunkBytes);
    const payload = new Uint8Array(HEADER_BYTES + bytes.length);
    payload.set(header);
    payload.set(bytes, HEADER_BYTES);
    yield payload;
  }
}

interface Transfer {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly memory: BudgetLease;
  received: number;
  timer: ReturnType<typeof setTimeout>;
}

/** Puts chunks together. Their memory is taken from their owner's budget before anything is kept. */
export class Assembler implements Disposable {
  readonly #budget: Budget;
  readonly #transfers = new Map<string, Transfer>();

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  /**
   * Returns the message of a payload, or `undefined` while chunks of it are missing.
   *
   * @throws {MessageError} if the bytes are no payload, or a chunk does not follow the previous chunk.
   * @throws {ServerError} `busy` or `too_large` if the owner has no room for the message.
   */
  receive(payload: Uint8Array): Uint8Array | undefined {
    if (payload[0] === PAYLOAD.whole) return payload.subarray(1);
    if (payload[0] !== PAYLOAD.chunk || payload.length <= HEADER_BYTES) {
      throw new MessageError("a payload must be a message or a chunk");
    }
    const id = payload.subarray(ID_AT, OWNER_AT).toHex();
    const view = new DataView(payload.buffer, payload.byteOffset, payload.length);
    const total = view.getUint32(TOTAL_AT, true);
    const offset = view.getUint32(OFFSET_AT, true);
    const bytes = payload.subarray(HEADER_BYTES);
    const transfer = this.#transfers.get(id) ?? this.#start(id, payload, { total, offset });
    const { received } = transfer;
    if (offset !== received || total !== transfer.bytes.length || offset + bytes.length > total) {
      this.#end(id);
      throw new MessageError(`chunk at ${offset} of ${total} does not follow ${received}`);
    }
    transfer.bytes.set(bytes, offset);
    transfer.received += bytes.length;
    clearTimeout(transfer.timer);
    if (transfer.received < total) {
      transfer.timer = this.#startTimer(id);
      return undefined;
    }
    this.#end(id);
    return transfer.bytes;
  }

  /** Gives up all transfers. */
  [Symbol.dispose](): void {
    for (const id of [...this.#transfers.keys()]) this.#end(id);
  }

  #start(id: string, payload: Uint8Array, { total, offset }: { total: number; offset: number }): Transfer {
    if (offset !== 0) throw new MessageError(`a transfer must begin at 0: found ${offset}`);
    if (total > MAX_MESSAGE_BYTES) {
      throw new MessageError(`a message must have at most ${MAX_MESSAGE_BYTES} bytes: found ${total}`);
    }
    if (this.#transfers.size >= MAX_TRANSFERS) throw new MessageError("too many transfers are under way");
    const owner = payload.subarray(OWNER_AT, TOTAL_AT);
    const memory = this.#budget.take(owner.every((byte) => byte === 0) ? "" : owner.toHex(), total);
    const transfer = { bytes: new Uint8Array(total), memory, received: 0, timer: this.#startTimer(id) };
    this.#transfers.set(id, transfer);
    return transfer;
  }

  #startTimer(id: string): ReturnType<typeof setTimeout> {
    return setTimeout(() => this.#end(id), CHUNK_TIMEOUT_MS);
  }

  #end(id: string): void {
    const transfer = this.#transfers.get(id);
    clearTimeout(transfer?.timer);
    transfer?.memory[Symbol.dispose]();
    this.#transfers.delete(id);
  }
}
