/**
 * Entry point of the broker, the process that connects to hosts on behalf of sandboxes. It has the permission `net` and
 * no other, and exchanges frames with the host by its standard streams.
 */
import {
  findNetworkRule,
  type NetworkRule,
  parseHostName,
  parseNetworkRule,
} from "../../guest/network_rules.ts";
import { encodeFrame, type Frame, FrameKind, FrameSplitter } from "../../protocol.ts";
import { decodePacket, decodeTarget, encodePacket, type Packet, PacketKind } from "../packets.ts";
import { EgressConnection, type EgressConnectionOptions } from "./egress_connection.ts";
import type { BrokerBoot, EgressPolicy, NetworkTrial } from "./egress_policy.ts";
import { type Exchange, ExchangeIndex, type ExchangeMatch } from "./exchange.ts";
import type { EgressSecret } from "./egress_policy.ts";
import { ReplayConnection } from "./replay_connection.ts";

type ConnectionParts = Pick<EgressConnectionOptions, "host" | "port" | "rule" | "send" | "onEnd">;

/** Parts of requests that count if the host sends none. */
const NO_MATCH: ExchangeMatch = { headers: [], query: true, body: true };

/** The connections of one session. */
class EgressSession {
  readonly #number: number;
  readonly #policy: EgressPolicy;
  readonly #rules: readonly NetworkRule[];
  readonly #connections = new Map<number, EgressConnection | ReplayConnection>();
  readonly #find = fixtures.open();

  constructor(number: number, policy: EgressPolicy) {
    this.#number = number;
    this.#policy = policy;
    this.#rules = policy.allow.flatMap((text) => parseNetworkRule(text) ?? []);
  }

  receive(packet: Packet): void {
    if (packet.kind === PacketKind.open) this.#open(packet);
    else this.#connections.get(packet.connection)?.receive(packet);
  }

  close(): void {
    for (const connection of [...this.#connections.values()]) connection.close();
  }

  /** Opens a connection. The host has checked the same before: this process trusts no packet either. */
  #open({ connection: number, body }: Packet): void {
    const { port, ...target } = decodeTarget(body);
    const host = parseHostName(target.host);
    const rule = host && findNetworkRule(this.#rules, host, port);
    const send = (kind: PacketKind, contents?: Uint8Array | number | object) =>
      sendToHost(this.#number, encodePacket(number, kind, contents));
    if (this.#connections.has(number)) return;
    if (!host || !rule || this.#connections.size >= this.#policy.maxConnections) {
      return send(PacketKind.failed, { code: "EACCES", message: "the profile does not list the host" });
    }
    if (rule.isRaw && this.#policy.fixtures !== undefined) {
      const message = `'${host}:${port}' is listed with 'tcp://', which cannot be recorded or replayed`;
      return send(PacketKind.failed, { code: "EACCES", message });
    }
    const onEnd = () => void this.#connections.delete(number);
    this.#connections.set(number, this.#connect({ host, port, rule, send, onEnd }));
  }

  #connect(parts: ConnectionParts): EgressConnection | ReplayConnection {
    const { fixtures, methods, timeoutMs, match = NO_MATCH } = this.#policy;
    if (fixtures === "replay") {
      return new ReplayConnection({ ...parts, methods, match, find: this.#find });
    }
    const onExchange = (exchange: Exchange) => sendExchange(this.#number, exchange);
    const record = fixtures === "record" ? { match, onExchange } : undefined;
    return new EgressConnection({ ...parts, methods, timeoutMs, trial, secrets, record });
  }
}

const decoder = new TextDecoder();
const sessions = new Map<number, EgressSession>();
let trial: NetworkTrial | undefined;
let fixtures = new ExchangeIndex([]);
let secrets: readonly EgressSecret[] = [];

const splitter = new FrameSplitter();
const piece = new Uint8Array(64 * 1024);
for (;;) {
  const count = await Deno.stdin.read(piece);
  if (count === null) break; // the host has closed the pipe or died
  for (const frame of splitter.push(piece.slice(0, count))) handle(frame);
}
Deno.exit(0);

function handle({ kind, session, payload }: Frame): void {
  if (kind === FrameKind.boot) boot(JSON.parse(decoder.decode(payload)) as BrokerBoot);
  else if (kind === FrameKind.open) {
    sessions.set(session, new EgressSession(session, JSON.parse(decoder.decode(payload)) as EgressPolicy));
  } else if (kind === FrameKind.close) {
    sessions.get(session)?.close();
    sessions.delete(session);
  } else sessions.get(session)?.receive(decodePacket(payload));
}

function boot({ exchanges, ...settings }: BrokerBoot): void {
  trial = settings.trial;
  secrets = settings.secrets;
  fixtures = new ExchangeIndex(exchanges);
}

function sendExchange(session: number, exchange: Exchange): void {
  write(encodeFrame(FrameKind.exchange, session, JSON.stringify(exchange)));
}

function sendToHost(session: number, packet: Uint8Array): void {
  write(encodeFrame(FrameKind.packet, session, packet));
}

function write(bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) done += Deno.stdout.writeSync(bytes.subarray(done));
}
