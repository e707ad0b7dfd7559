import { assertEquals, assertRejects } from "@std/assert";
import { type ExecEnd, ExecRun, type ExecRunOptions } from "../../../src/sandbox/exec/exec_run.ts";
import { GuestLink } from "../../../src/sandbox/guest_link.ts";
import { loadProfile } from "../../../src/sandbox/profile/profile.ts";
import { DoneStatus, FrameKind, MAX_FRAME_BYTES } from "../../../src/sandbox/protocol.ts";
import { HANG_MS } from "../../deadline.ts";

const { limits } = await loadProfile("python");
const NO_BYTES = new Uint8Array();
const bytes = (text: string) => new TextEncoder().encode(text);

/** A guest that notes the frames of the host, and sends frames when a test says so. */
class FakeGuest {
  readonly kinds: FrameKind[] = [];
  readonly link: GuestLink;
  #waiting: { kind: FrameKind; resolve: () => void } | undefined;

  constructor() {
    const send = (kind: FrameKind) => {
      this.kinds.push(kind);
      if (this.#waiting?.kind === kind) this.#waiting.resolve();
    };
    this.link = new GuestLink({ send }, 1, { kill: () => {} });
  }

  send(kind: FrameKind, text = ""): void {
    this.link.receive({ kind, session: 1, payload: text === "" ? NO_BYTES : bytes(text) });
  }

  /** Resolves at the next frame of a kind. */
  next(kind: FrameKind): Promise<void> {
    return new Promise((resolve) => this.#waiting = { kind, resolve });
  }

  /** Starts an exec, whose result is the text of its result frame. */
  run(options: Partial<ExecRunOptions<string>> = {}): Promise<ExecEnd<string>> {
    const parse = (payload: Uint8Array) => new TextDecoder().decode(payload);
    return new ExecRun(this.link, { parse, limits, timeoutMs: HANG_MS, ...options })
      .run(FrameKind.exec, bytes("1"));
  }
}

Deno.test("ExecRun.run() sends the inputs before the request, and returns output and result", async () => {
  const guest = new FakeGuest();
  const running = guest.run({ inputs: [bytes("stdin")], entropySeed: 7 });
  guest.send(FrameKind.stdout, "out");
  guest.send(FrameKind.stderr, "err");
  guest.send(FrameKind.result, "42");
  const { stdout, stderr, result, stateKept, stopped } = await running;
  assertEquals([stdout, stderr, result, stateKept, stopped], ["out", "err", "42", true, undefined]);
  assertEquals(guest.kinds, [FrameKind.entropy, FrameKind.input, FrameKind.exec]);
});

Deno.test("ExecRun.run() refuses a request that is larger than a frame, and sends nothing", async () => {
  const guest = new FakeGuest();
  const inputs = [new Uint8Array(MAX_FRAME_BYTES + 1)];
  await assertRejects(() => guest.run({ inputs }), RangeError, "current value has");
  assertEquals(guest.kinds, []);
});

Deno.test("ExecRun.run() ends the interpreter at a frame that is not one of an exec, or after the result", async () => {
  const wrong = new FakeGuest();
  const running = wrong.run();
  wrong.send(FrameKind.done);
  const { termination, result, stateKept } = await running;
  assertEquals([termination?.reason, result, stateKept], ["protocol", undefined, false]);
  const late = new FakeGuest();
  const second = late.run();
  late.send(FrameKind.result, "1");
  late.send(FrameKind.stdout, "more");
  assertEquals((await second).termination?.reason, "protocol");
});

Deno.test("ExecRun.run() interrupts the program when its signal aborts, and returns what it printed", async () => {
  const guest = new FakeGuest();
  const abort = new AbortController();
  const running = guest.run({ signal: abort.signal });
  guest.send(FrameKind.stdout, "out");
  const interrupted = guest.next(FrameKind.interrupt);
  abort.abort();
  await interrupted;
  guest.send(FrameKind.result, "");
  const { stopped, stdout, stateKept } = await running;
  assertEquals([stopped, stdout, stateKept], ["aborted", "out", true]);
});

Deno.test("ExecRun.run() kills a program that does not stop at its timeout or when it is silent", async () => {
  for (const [options, reason] of [[{ timeoutMs: 1 }, "timeout"], [{ silenceMs: 1 }, "silence"]] as const) {
    const guest = new FakeGuest();
    const end = await guest.run({ ...options, limits: { ...limits, graceMs: 5 } });
    assertEquals([end.stopped, end.termination?.reason, end.stateKept], [reason, "killed", false]);
  }
});

Deno.test("ExecRun.run() holds the guest back while the caller takes output", async () => {
  const guest = new FakeGuest();
  const taken = Promise.withResolvers<void>();
  const running = guest.run({ onOutput: () => taken.promise });
  guest.send(FrameKind.stdout, "a");
  const resumed = guest.next(FrameKind.resume);
  taken.resolve();
  await resumed;
  guest.send(FrameKind.result, "");
  await running;
  const held = guest.kinds.filter((kind) => kind === FrameKind.pause || kind === FrameKind.resume);
  assertEquals(held, [FrameKind.pause, FrameKind.resume]);
});

Deno.test("ExecRun.run() aborts the program when onOutput throws, and returns the error", async () => {
  const guest = new FakeGuest();
  const error = new Error("full");
  const running = guest.run({
    onOutput: () => {
      throw error;
    },
  });
  guest.send(FrameKind.stdout, "a");
  guest.send(FrameKind.result, "");
  const { failure, stopped } = await running;
  assertEquals([failure?.error, stopped], [error, "aborted"]);
});

Deno.test("ExecRun.run() with a rewind reports its end after the result", async () => {
  for (const status of [DoneStatus.ok, DoneStatus.failed]) {
    const guest = new FakeGuest();
    const running = guest.run({ rewinds: true });
    guest.send(FrameKind.result, "1");
    const { rewound } = await running;
    guest.link.receive({ kind: FrameKind.done, session: 1, payload: new Uint8Array([status]) });
    assertEquals(await rewound, status === DoneStatus.ok);
  }
});

Deno.test("ExecRun.run() stops at the timeout that a virtual clock reports, and sends no interrupt", async () => {
  const guest = new FakeGuest();
  const virtual = { timeoutMs: 5, graceMs: 5, restarts: false };
  const running = guest.run({ virtual });
  guest.send(FrameKind.late);
  guest.send(FrameKind.result, "42");
  const { stopped, result } = await running;
  assertEquals([stopped, result, guest.kinds], ["timeout", "42", [FrameKind.budget, FrameKind.exec]]);
});

Deno.test("ExecRun.run() ends a guest that reports the timeout of a clock that it does not have", async () => {
  const guest = new FakeGuest();
  const running = guest.run();
  guest.send(FrameKind.late);
  assertEquals((await running).termination?.reason, "protocol");
});
