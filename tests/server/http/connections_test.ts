import { assertEquals } from "@std/assert";
import {
  ConnectionWatch,
  isLoopbackAddress,
  type OpenConnection,
  parseAddress,
} from "../../../src/server/http/connections.ts";

const LOOPBACK = "0100007F";
const STRANGER = "0102030A"; // 10.3.2.1
const PROXY = "0000000000000000FFFF00000202020A"; // 10.2.2.2

function open(address: string, ports: number[]): OpenConnection[] {
  return ports.map((port) => ({ address, port }));
}

Deno.test("ConnectionWatch.findExcess() counts connections that never sent an accepted request in time", () => {
  const watch = new ConnectionWatch({ maxQuiet: 1 });
  const connections = open(LOOPBACK, [1, 2, 3]);
  assertEquals(watch.findExcess(connections, 0), undefined);
  assertEquals(watch.findExcess(connections, 39_000), undefined);
  assertEquals(watch.findExcess(connections, 41_000)?.reason, "3 sent no accepted request, the limit is 1");
  watch.accept(1);
  watch.accept(2);
  assertEquals(watch.findExcess(connections, 41_000), undefined);
});

Deno.test("ConnectionWatch.findExcess() counts refused connections at once, until a request is accepted", () => {
  const watch = new ConnectionWatch({ maxQuiet: 1 });
  const connections = open(LOOPBACK, [1, 2]);
  watch.refuse(1);
  watch.refuse(2);
  assertEquals(watch.findExcess(connections, 0), {
    reason: "2 sent no accepted request, the limit is 1",
    isStuck: true,
  });
  watch.accept(1);
  assertEquals(watch.findExcess(connections, 0), undefined);
  watch.refuse(1);
  assertEquals(watch.findExcess([], 0), undefined); // all are closed, and their ports forgotten
  assertEquals(watch.findExcess(connections, 0), undefined);
});

Deno.test("ConnectionWatch.findExcess() limits the connections of each address before they are accepted", () => {
  const watch = new ConnectionWatch({ maxPerAddress: 2, trustedProxies: ["10.2.2.2"] });
  const exempt = [...open(LOOPBACK, [1, 2, 3]), ...open(PROXY, [4, 5, 6])];
  assertEquals(watch.findExcess(exempt, 0), undefined);
  const all = [...exempt, ...open(STRANGER, [7, 8, 9])];
  assertEquals(
    watch.findExcess(all, 0)?.reason,
    "10.3.2.1 has 3 without an authenticated request, the limit is 2",
  );
  watch.accept(9);
  assertEquals(watch.findExcess(all, 0), undefined);
});

Deno.test("parseAddress() reads the kernel's notation", () => {
  assertEquals(parseAddress(LOOPBACK), "127.0.0.1");
  assertEquals(parseAddress(PROXY), "10.2.2.2");
  assertEquals(parseAddress("00000000000000000000000001000000"), "::1");
  assertEquals(parseAddress("B80D01200000000000000000EFBEADDE"), "2001:db8::dead:beef");
  assertEquals(["127.1.2.3", "::1", "::ffff:127.0.0.1", "10.0.0.1"].map(isLoopbackAddress), [
    true,
    true,
    true,
    false,
  ]);
});
