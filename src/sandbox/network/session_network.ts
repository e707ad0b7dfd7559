import {
  findNetworkRule,
  type NetworkRule,
  parseHostName,
  parseNetworkRule,
} from "../guest/network_rules.ts";
import type { NetworkSettings } from "../profile/network.ts";
import type { EgressEnd, EgressReceiver } from "./egress_broker.ts";
import {
  decodeCount,
  decodePacket,
  decodeTarget,
  encodePacket,
  type Packet,
  PacketKind,
  WINDOW_BYTES,
} from "./packets.ts";

/** Options of {@linkcode SessionNetwork}. */
export interface SessionNetworkOptions {
  readonly settings: Pick<NetworkSettings, "allow" | "maxBytes" | "maxConnections">;
  /** Opens the session at the broker, with its first connection. */
  readonly open: (receiver: EgressReceiver) => EgressEnd;
  /** Sends a packet to the guest. */
  readonly send: (packet: Uint8Array) => void;
}

/** Maximum size of the JSON that a guest sends. */
const MAX_TLS_BYTES = 1024;
/** Maximum size of a host's name, with its port. */
const MAX_TARGET_BYTES = 300;

/** An open connection. */
interface Flow {
  /** Bytes that the guest may send until the broker has sent some. */
  room: number;
  /** Bytes that the broker may send until the guest has taken some. */
  credit: number;
}

/**
 * The connections of one interpreter. Checks each packet of the guest, and sends packets of the broker to the guest while
 * a program runs. At most {@linkcode WINDOW_BYTES} of each direction of a connection are on their way.
 */
export class SessionNetwork implements Disposable {
  readonly #options: SessionNetworkOptions;
  readonly #rules: readonly NetworkRule[];
  readonly #flows = new Map<number, Flow>();
  #end: EgressEnd | undefined;
  #isRunning = false;
  /** Packets for the guest that came while no program ran. */
  #held: Uint8Array[] = [];
  #bytes = 0;

  constructor(options: SessionNetworkOptions) {
    this.#options = options;
    this.#rules = options.settings.allow.flatMap((text) => parseNetworkRule(text) ?? []);
  }

  /** Sends packets to the guest from now on, as a program runs. */
  resume(): void {
    this.#isRunning = true;
    for (const packet of this.#held.splice(0)) this.#options.send(packet);
  }

  /** Holds packets back. */
  pause(): void {
    this.#isRunning = false;
  }

  /** Closes all connections, as the guest forgets them. */
  reset(): void {
    this.#end?.close();
    this.#end = undefined;
    this.#flows.clear();
    this.#held = [];
    this.#bytes = 0;
  }

  [Symbol.dispose](): void {
    this.pause();
    this.reset();
  }

  /**
   * Handles a packet of the guest.
   *
   * @throws {SyntaxError} if no guest of this version sends it.
   */
  receive(payload: Uint8Array<ArrayBuffer>): void {
    const packet = decodePacket(payload);
    if (packet.kind === PacketKind.open) return this.#open(packet, payload);
    const flow = this.#flows.get(packet.connection);
    if (!flow) return; // the connection has failed, which the guest has not read yet
    checkPacket(packet, flow);
    if (packet.kind === PacketKind.close) this.#flows.delete(packet.connection);
    if (packet.kind === PacketKind.send && !this.#charge(packet.body.length)) return;
    this.#end?.send(payload);
  }

  #open({ connection, body }: Packet, payload: Uint8Array): void {
    if (body.length > MAX_TARGET_BYTES || this.#flows.has(connection)) {
      throw new SyntaxError("a connection has no valid target, or is opened twice");
    }
    const { host, port } = decodeTarget(body);
    const { maxConnections } = this.#options.settings;
    const name = parseHostName(host);
    if (name === undefined || !findNetworkRule(this.#rules, name, port)) {
      const message = `'${host}:${port}' is not in 'network.allow' of the profile`;
      return this.#fail(connection, { code: "EACCES", message });
    }
    if (this.#flows.size >= maxConnections) {
      const message =
        `more than ${maxConnections} connections are open, the profile's 'network.maxConnections'`;
      return this.#fail(connection, { code: "EMFILE", message });
    }
    this.#flows.set(connection, { room: WINDOW_BYTES, credit: WINDOW_BYTES });
    this.#end ??= this.#options.open({
      onPacket: (packet) => this.#deliver(packet),
      onLost: () => this.#lose("ECONNRESET", "the process that makes connections has ended"),
    });
    this.#end.send(payload);
  }

  /** Handles a packet of the broker. */
  #deliver(payload: Uint8Array<ArrayBuffer>): void {
    const { connection, kind, body } = decodePacket(payload);
    const flow = this.#flows.get(connection);
    if (!flow) return; // closed, which the broker has not read yet
    if (kind === PacketKind.data) {
      flow.credit -= body.length;
      if (flow.credit < 0) return this.#lose("EIO", "the process that makes connections sent too much");
      if (!this.#charge(body.length)) return;
    }
    if (kind === PacketKind.sent) flow.room = Math.min(flow.room + decodeCount(body), WINDOW_BYTES);
    if (kind === PacketKind.failed) this.#flows.delete(connection);
    this.#sendToGuest(payload);
  }

  /** Counts bytes. Ends all connections at the profile's limit. */
  #charge(bytes: number): boolean {
    const { maxBytes } = this.#options.settings;
    this.#bytes += bytes;
    if (this.#bytes <= maxBytes) return true;
    this.#lose(
      "EDQUOT",
      `the connections carried more than ${maxBytes} bytes, the profile's 'network.maxBytes'`,
    );
    return false;
  }

  #lose(code: string, message: string): void {
    this.#end?.close();
    this.#end = undefined;
    for (const connection of [...this.#flows.keys()]) this.#fail(connection, { code, message });
  }

  #fail(connection: number, failure: { code: string; message: string }): void {
    this.#flows.delete(connection);
    this.#sendToGuest(encodePacket(connection, PacketKind.failed, failure));
  }

  #sendToGuest(packet: Uint8Array): void {
    if (this.#isRunning) this.#options.send(packet);
    else this.#held.push(packet);
  }
}

/** Throws if a packet is not of this version, or exceeds the window of its connection. */
function checkPacket({ kind, body }: Packet, flow: Flow): void {
  if (kind === PacketKind.send) {
    flow.room -= body.length;
    if (flow.room < 0) throw new SyntaxError("a connection has sent more than its window");
  } else if (kind === PacketKind.credit) {
    flow.credit += decodeCount(body);
    if (flow.credit > WINDOW_BYTES) throw new SyntaxError("a connection has taken more than came");
  } else if (kind === PacketKind.tls) {
    if (body.length > MAX_TLS_BYTES) throw new SyntaxError("a request for TLS is too long");
  } else if (kind !== PacketKind.end && kind !== PacketKind.close && kind !== PacketKind.ready) {
    throw new SyntaxError(`a packet of kind ${kind} is unknown`);
  }
}
