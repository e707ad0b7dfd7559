import { assertEquals } from "@std/assert";
import { WallClock } from "../../../src/sandbox/guest/wall_clock.ts";

const START_MS = 1_700_000_000_000;
const START_NS = 1_700_000_000_000_000_000n;

/** A host whose clock has the time `ms`, and whose precise clock started `START_MS + 0.25` after 1970. */
function fakeHost({ origin = START_MS + 0.25 } = {}) {
  const host = { ms: START_MS, elapsed: 0 };
  const clock = new WallClock({ date: () => Math.floor(host.ms), now: () => host.elapsed, origin });
  return { host, read: () => Number(clock.nanoseconds() - START_NS) };
}

Deno.test("WallClock adds the fraction of a millisecond of the precise clock", () => {
  const { host, read } = fakeHost();
  assertEquals(read(), 250_000);
  Object.assign(host, { ms: START_MS + 7.3, elapsed: 7.05 });
  assertEquals(read(), 7_300_000);
});

Deno.test("WallClock follows steps of the host's clock forward and back", () => {
  const { host, read } = fakeHost();
  Object.assign(host, { ms: START_MS + 3_600_000, elapsed: 5 });
  assertEquals(read(), 3_600_000_000_000);
  Object.assign(host, { elapsed: 5.5 });
  assertEquals(read(), 3_600_000_500_000);
  Object.assign(host, { ms: START_MS - 1000, elapsed: 6 });
  assertEquals(read(), -1_000_000_001 + 1_000_000);
  Object.assign(host, { ms: START_MS - 999, elapsed: 6.5 });
  assertEquals(read(), -998_500_001);
});

Deno.test("WallClock never goes back, whatever the origin, if the host's clock does not", () => {
  for (const origin of [START_MS + 0.25, START_MS - 1e6, START_MS + 1e6, NaN]) {
    const { host, read } = fakeHost({ origin });
    let last = -Infinity;
    for (let step = 0; step < 20_000; step++) {
      const at = read();
      assertEquals(
        at >= last && at >= (Math.floor(host.ms) - START_MS) * 1e6,
        true,
        `${last} and then ${at}`,
      );
      assertEquals(at < (Math.floor(host.ms) + 1 - START_MS) * 1e6, true, `${at} at ${host.ms}`);
      last = at;
      host.ms += 0.037; // the clocks drift apart
      host.elapsed += step % 3 === 0 ? 0 : 0.0551;
    }
  }
});
