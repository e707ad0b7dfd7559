import { FrameKind } from "../protocol.ts";
import type { Channel } from "./channel.ts";
import { findNetworkRule, type NetworkRule, parseHostName, parseNetworkRule } from "./network_rules.ts";

const EACCES = 2;
const EMPTY = new Uint8Array(0);
const decoder = new TextDecoder();

/** Requests about connections to the outside: send a packet, a new number, is a host listed, the next packet. */
const OPERATIONS = new Set("PQLG");

/**
 * Python's end of the connections to the outside. The host checks all that passes here: what this class refuses is
 * advice, for earlier and clearer errors.
 */
export class Connections {
  readonly #rules: readonly NetworkRule[] | undefined;
  readonly #channel: Channel;
  /** Packets that arrived, and that Python has not taken yet. */
  readonly #packets: Uint8Array[] = [];
  /** Number of the last connection. A rewind does not change it, so that no packet finds another connection. */
  #last = 0;

  /** @param allowed Hosts that the profile lists; `undefined` if the profile has no network. */
  constructor(channel: Channel, allowed: readonly string[] | undefined) {
    this.#channel = channel;
    this.#rules = allowed?.flatMap((text) => parseNetworkRule(text) ?? []);
  }

  /** True if a packet waits for Python. */
  get hasPacket(): boolean {
    return this.#packets.length > 0;
  }

  /** True if a request is about connections. */
  handles(operation: string): boolean {
    return OPERATIONS.has(operation);
  }

  /** Handles a request. Returns a positive number, or a negative error code. */
  handle(operation: string, request: Uint8Array): number {
    if (!this.#rules) return -EACCES;
    if (operation === "Q") return ++this.#last;
    if (operation === "P") this.#channel.send(FrameKind.packet, request.subarray(1));
    if (operation === "L" && !this.#lists(decoder.decode(request.subarray(1)))) return 1;
    return request.length;
  }

  /** Adds a packet of the host. */
  push(packet: Uint8Array): void {
    this.#packets.push(packet);
  }

  /** Returns the next packet, empty if there is none. */
  next(): Uint8Array {
    return this.#packets.shift() ?? EMPTY;
  }

  /** Drops all packets, as Python forgets its connections. */
  clear(): void {
    this.#packets.length = 0;
  }

  #lists(text: string): boolean {
    const name = parseHostName(text);
    return name !== undefined && findNetworkRule(this.#rules ?? [], name) !== undefined;
  }
}
