import { assert, assertEquals } from "@std/assert";
import { Session } from "../../src/sandbox/session.ts";
import { encodeFrame, FrameKind, FrameSplitter } from "../../src/sandbox/protocol.ts";
import { HostileRealm } from "./hostile_realm.ts";

/**
 * JavaScript of a worker that writes to the host itself. It runs when the first exec arrives, in the scope of the
 * worker's module, as after an escape from Python: it has `write`, the outbox and the ring.
 */
const ATTACKS: Record<string, string> = {
  "bytes that are no frame": "write(new Uint8Array(64).fill(255));",
  "a frame of another session": `
    const bytes = new Uint8Array(8);
    bytes[4] = 9;
    bytes[6] = 37;
    write(bytes);`,
  "a frame of the process": `
    const bytes = new Uint8Array(8);
    bytes[6] = 40;
    write(bytes);`,
  "half a frame, and nothing more": `
    const bytes = new Uint8Array(20);
    bytes[0] = 200;
    bytes[4] = 1;
    bytes[6] = 34;
    write(bytes);
    for (;;);`,
  "a frame within another one": `
    const bytes = new Uint8Array(40);
    bytes[0] = 100;
    bytes[4] = 1;
    bytes[6] = 34;
    write(bytes);
    channel.send(37, new Uint8Array(19));
    for (;;);`,
  "output without end, in frames of one byte": `
    const bytes = new Uint8Array([1, 0, 0, 0, 1, 0, 34, 0, 65]);
    for (;;) write(bytes);`,
  "results without end": `
    const bytes = new Uint8Array(27);
    bytes.set([19, 0, 0, 0, 1, 0, 37, 0]);
    for (;;) write(bytes);`,
  "the lock of the outbox, held for ever": "Atomics.store(outbox, 0, 1); for (;;);",
  "lengths of the outbox that are none": `
    for (let value = 0;; value += 0x1234567) {
      Atomics.store(outbox, 1, value | 0);
      Atomics.store(outbox, 4, 1);
    }`,
  "an outbox full of forged frames": `
    const bytes = new Uint8Array(start.outbox);
    for (let at = 20; at + 8 < bytes.length; at += 8) bytes.set([0, 0, 0, 0, 1, 0, 37, 0], at);
    Atomics.store(outbox, 1, bytes.length - 20);
    for (;;);`,
  "a pause that never ends": "Atomics.store(outbox, 3, 1); channel.send(34, new Uint8Array(1 << 20));",
  "an interrupt that it takes away": "for (;;) interrupt.fill(0);",
};

Deno.test("a worker that writes to the host itself cannot harm the host", async (t) => {
  const realm = await HostileRealm.create();
  for (const [name, attack] of Object.entries(ATTACKS)) {
    await t.step(name, async () => {
      await using source = realm.openSource(attack);
      await using session = new Session(source);
      const onOutput = () => {};
      const result = await session.exec("1", { timeoutMs: 300, onOutput });
      const isForged = name === "results without end" && result.status === "ok";
      assert(
        isForged || ["crashed", "timeout"].includes(result.status),
        JSON.stringify(result).slice(0, 500),
      );
      assertEquals(result.stateKept, isForged);
      assert(result.stdout.length <= source.profile.limits.outputBytes);
      assertEquals((await source.firstEnd()).signal, "SIGKILL");
    });
  }
});

Deno.test("a worker gets the host's writer once, and none of a process with several sessions", async () => {
  const js = "return savedGlobals.takeHostWriter();";
  const payloads = [{ id: "writer", family: 65, name: "the host's writer", js }];
  const realm = await HostileRealm.create();
  assertEquals(await realm.run(payloads), { writer: "nothing" });
  const { reports } = await realm.runApart([...payloads, ...payloads]);
  assertEquals(reports, [{ writer: "nothing" }, { writer: "nothing" }]);
});

Deno.test("a sandbox whose host does not read ends with the host's pipe", async () => {
  const realm = await HostileRealm.create();
  const { command, boot } = realm.prepare("const bytes = new Uint8Array(1 << 16); for (;;) write(bytes);");
  const child = new Deno.Command(command.program, {
    args: [...command.args],
    env: { ...command.env },
    clearEnv: true,
    cwd: "/",
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  const reader = child.stdout.getReader();
  for (const { kind, session, payload } of boot) await writer.write(encodeFrame(kind, session, payload));
  const splitter = new FrameSplitter();
  for (let isOpen = false; !isOpen;) {
    const { value = new Uint8Array(0), done } = await reader.read();
    assert(!done, "the process ended");
    isOpen = [...splitter.push(value)].some(({ kind }) => kind === FrameKind.opened);
  }
  await writer.write(encodeFrame(FrameKind.exec, 1, new Uint8Array(13)));
  await writer.close(); // the worker fills the pipe and waits in its write
  await child.status;
  await reader.cancel();
});
