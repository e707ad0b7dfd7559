import { assertEquals } from "@std/assert";
import { EgressBroker } from "../../../src/sandbox/network/egress_broker.ts";

const settings = {
  allow: ["api.test:443"],
  maxBytes: 1e6,
  maxConnections: 2,
  timeoutMs: 1_000,
  match: { headers: [], query: true, body: true },
};

function program(script: string) {
  return () => Promise.resolve({ program: "/bin/sh", args: ["-c", script], env: {} });
}

Deno.test("EgressBroker reports connections of a process that ends, and starts another one", async () => {
  await using broker = new EgressBroker({ settings });
  const starts: string[] = [];
  for (const script of ["exit 1", "kill -9 $$", "printf 'no frames of the protocol'; cat"]) {
    const lost = Promise.withResolvers<void>();
    const receiver = { onPacket() {}, onLost: () => lost.resolve() };
    broker.open(receiver, () => {
      starts.push(script);
      return program(script)();
    });
    await lost.promise;
  }
  assertEquals(starts.length, 3);
});

Deno.test("EgressBroker reports connections when the program cannot be started, and after its disposal", async () => {
  const broker = new EgressBroker({ settings });
  let lost = 0;
  const failed = Promise.withResolvers<void>();
  const receiver = { onPacket() {}, onLost: () => void lost++ };
  broker.open(
    { ...receiver, onLost: () => failed.resolve() },
    () => Promise.reject(new Error("no such program")),
  );
  await failed.promise;
  broker.open(receiver, program("cat >/dev/null"));
  await broker[Symbol.asyncDispose]();
  assertEquals(lost, 1);
  broker.open(receiver, program("cat")).close();
  assertEquals(lost, 2);
});
