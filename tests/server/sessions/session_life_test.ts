import { assertEquals, assertRejects } from "@std/assert";
import { HOST_CLOCK } from "../../../src/async/clock.ts";
import type { PythonSession } from "../../../src/sandbox/contract/pool.ts";
import { ServerError } from "../../../src/server/http/http_errors.ts";
import { SessionLife, type SessionLifeOptions } from "../../../src/server/sessions/session_life.ts";
import { until } from "../hibernation/counting_sessions.ts";

/** A life without a pool, and what it has called. */
function lifeOf(options: Partial<SessionLifeOptions> = {}) {
  const calls: string[] = [];
  const lease = {
    session: {} as PythonSession,
    [Symbol.asyncDispose]: () => Promise.resolve(void calls.push("release")),
  };
  const life = new SessionLife({
    owner: "",
    start: { lease, slot: undefined },
    idleMs: Infinity,
    clock: HOST_CLOCK,
    onChange: () => {},
    onError: (error) => calls.push(`error ${error}`),
    onUnused: () => calls.push("unused"),
    onEnd: () => calls.push("end"),
    ...options,
  }, () => {
    throw new TypeError("A session that does not hibernate has no record");
  });
  return { life, calls };
}

const codeOf = async (work: Promise<unknown>) => (await assertRejects(() => work, ServerError)).code;
const codeOfReason = ({ aborted, reason }: AbortSignal) =>
  aborted && reason instanceof ServerError && reason.code;

Deno.test("SessionLife.endSignal aborts at the end, and is aborted when it is read later", async () => {
  const { life: read } = lifeOf();
  const { endSignal } = read;
  assertEquals(endSignal.aborted, false);
  await read[Symbol.asyncDispose]();
  assertEquals(codeOfReason(endSignal), "conflict");
  const { life: unread } = lifeOf();
  await unread[Symbol.asyncDispose]();
  assertEquals(codeOfReason(unread.endSignal), "conflict");
  assertEquals(unread.endSignal, unread.endSignal);
});

Deno.test("SessionLife ends once, before its interpreter, and refuses uses then", async () => {
  const { life, calls } = lifeOf();
  assertEquals(await life.use(() => Promise.resolve(1)), 1);
  await Promise.all([life[Symbol.asyncDispose](), life[Symbol.asyncDispose]()]);
  assertEquals([calls, life.ended], [["unused", "end", "release"], true]);
  assertEquals(await codeOf(life.use(() => Promise.resolve())), "conflict");
});

Deno.test("SessionLife.endAt() ends a session at a time, and a later time replaces an earlier one", async () => {
  const { life } = lifeOf();
  life.endAt(new Date(Date.now() + 3_600_000));
  assertEquals(life.ended, false);
  life.endAt(new Date(0));
  await until(() => life.ended);
  assertEquals(life.describe().expiresAt, "1970-01-01T00:00:00.000Z");
});

Deno.test("SessionLife.isSpare() goes by a clock that does not jump, and usedAt by the clock of the host", async () => {
  let [nowMs, passedMs] = [1_000, 0];
  const { life } = lifeOf({ spareMs: 5_000, clock: { now: () => nowMs, monotonic: () => passedMs } });
  assertEquals([life.isSpare(0), life.usedAt.getTime()], [false, 1_000]);
  nowMs = 3_600_000;
  assertEquals([life.isSpare(0), life.unusedMs], [false, 0]);
  passedMs = 5_000;
  assertEquals([life.isSpare(0), life.isSpare(5_001), life.unusedMs], [true, false, 5_000]);
  await life.use(() => Promise.resolve());
  assertEquals([life.isSpare(0), life.usedAt.getTime()], [false, 3_600_000]);
  await life[Symbol.asyncDispose]();
});

Deno.test("SessionLife.isSpare() is true for an unused session only, with spareMs of 0 once it was used", async () => {
  const { life } = lifeOf({ spareMs: 0 });
  const spare = [life.isSpare(0)];
  await life.use(() => Promise.resolve(void spare.push(life.isSpare(0))));
  spare.push(life.isSpare(0), life.isSpare(3_600_000));
  await life[Symbol.asyncDispose]();
  spare.push(life.isSpare(0));
  assertEquals(spare, [false, false, true, false, false]);
});

Deno.test("SessionPause.begin() and end() refuse a session that cannot hibernate", async () => {
  const { life } = lifeOf();
  assertEquals(await codeOf(life.pause.begin()), "conflict");
  assertEquals([life.isPaused, life.pause.hasMemory], [false, true]);
  life.pause.end();
  await life.pause.resume();
  assertEquals(await life.pause.read(new AbortController().signal), undefined);
  await life[Symbol.asyncDispose]();
});
