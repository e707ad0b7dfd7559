import { assertEquals, assertThrows } from "@std/assert";
import type { EgressReceiver } from "../../../src/sandbox/network/egress_broker.ts";
import {
  decodeJson,
  decodePacket,
  encodePacket,
  PacketKind,
  WINDOW_BYTES,
} from "../../../src/sandbox/network/packets.ts";
import { SessionNetwork } from "../../../src/sandbox/network/session_network.ts";

const settings = { allow: ["api.test:443"], maxBytes: 1_000_000, maxConnections: 2 };

/** A session whose broker and guest note what they get. */
function network(changes: Partial<typeof settings> = {}) {
  const toGuest: string[] = [];
  const toBroker: number[] = [];
  const parts: { receiver?: EgressReceiver; closed: number } = { closed: 0 };
  const session = new SessionNetwork({
    settings: { ...settings, ...changes },
    send: (packet) => toGuest.push(describe(packet)),
    open: (receiver) => {
      parts.receiver = receiver;
      return { send: (packet) => toBroker.push(packet[4] ?? 0), close: () => parts.closed++ };
    },
  });
  session.resume();
  return { session, toGuest, toBroker, parts };
}

function describe(packet: Uint8Array): string {
  const { connection, kind, body } = decodePacket(packet.slice());
  return kind === PacketKind.failed ? `${connection} ${decodeJson(body)?.code}` : `${connection} ${kind}`;
}

function open(connection: number, host = "api.test", port = 443): Uint8Array<ArrayBuffer> {
  const name = new TextEncoder().encode(host);
  return encodePacket(connection, PacketKind.open, new Uint8Array([port & 255, port >> 8, ...name]));
}

Deno.test("SessionNetwork passes a connection to a listed host on, and refuses others without the broker", () => {
  const { session, toGuest, toBroker, parts } = network();
  session.receive(open(1, "evil.test"));
  session.receive(open(2, "api.test", 80));
  session.receive(open(3, "127.0.0.1"));
  session.receive(open(4, "api.test\0.evil"));
  assertEquals([toGuest, parts.receiver], [["1 EACCES", "2 EACCES", "3 EACCES", "4 EACCES"], undefined]);
  session.receive(open(5, "API.test."));
  session.receive(open(6));
  session.receive(open(7));
  assertEquals([toGuest.slice(4), toBroker], [["7 EMFILE"], [PacketKind.open, PacketKind.open]]);
});

Deno.test("SessionNetwork ends a guest that sends more than its window, or packets that are not of this version", () => {
  const hostile: [string, (session: SessionNetwork) => void][] = [
    ["a window", (session) => {
      for (let i = 0; i < 5; i++) {
        session.receive(encodePacket(1, PacketKind.send, new Uint8Array(WINDOW_BYTES / 4)));
      }
    }],
    ["a credit", (session) => session.receive(encodePacket(1, PacketKind.credit, 1))],
    ["a number", (session) => session.receive(encodePacket(1, PacketKind.credit, new Uint8Array(2)))],
    ["a kind", (session) => session.receive(encodePacket(1, PacketKind.data))],
    ["a second opening", (session) => session.receive(open(1))],
    ["a long name", (session) => session.receive(open(2, "a".repeat(1_000)))],
    ["a long request for TLS", (session) => {
      session.receive(encodePacket(1, PacketKind.tls, new Uint8Array(2_000)));
    }],
    ["no head", (session) => session.receive(new Uint8Array(3))],
  ];
  for (const [, act] of hostile) {
    const { session } = network();
    session.receive(open(1));
    assertThrows(() => act(session), SyntaxError);
  }
});

Deno.test("SessionNetwork holds packets while no program runs, and drops them when the guest forgets", () => {
  const { session, toGuest, parts } = network();
  session.receive(open(1));
  session.pause();
  parts.receiver?.onPacket(encodePacket(1, PacketKind.opened));
  assertEquals(toGuest, []);
  session.resume();
  assertEquals(toGuest, [`1 ${PacketKind.opened}`]);
  session.pause();
  parts.receiver?.onPacket(encodePacket(1, PacketKind.data, new Uint8Array(10)));
  session.reset();
  session.resume();
  assertEquals([toGuest.length, parts.closed], [1, 1]);
});

Deno.test("SessionNetwork ends all connections at the profile's number of bytes, and when the broker is lost", () => {
  const { session, toGuest, parts } = network({ maxBytes: 100 });
  session.receive(open(1));
  session.receive(open(2));
  session.receive(encodePacket(1, PacketKind.send, new Uint8Array(60)));
  parts.receiver?.onPacket(encodePacket(2, PacketKind.data, new Uint8Array(60)));
  assertEquals([toGuest, parts.closed], [["1 EDQUOT", "2 EDQUOT"], 1]);
  const other = network();
  other.session.receive(open(1));
  other.parts.receiver?.onLost();
  assertEquals(other.toGuest, ["1 ECONNRESET"]);
});
