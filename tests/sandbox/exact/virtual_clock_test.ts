import { assertEquals } from "@std/assert";
import { Entropy } from "../../../src/sandbox/guest/entropy.ts";
import { PACE, VirtualClock } from "../../../src/sandbox/guest/clock/virtual_clock.ts";

const MS = 1_000_000;

/** A clock, the bytes that it interrupts by, and what it has reported. */
function createClock() {
  const interrupt = new Uint8Array(4);
  const events: string[] = [];
  const clock = new VirtualClock(interrupt);
  clock.onTimeout({ onLate: () => events.push("late"), onKill: () => events.push("kill") });
  return { clock, interrupt, events };
}

Deno.test("VirtualClock stands while no program runs, and then advances by what the program does", () => {
  const { clock } = createClock();
  clock.pass(PACE.tick);
  clock.waitUntil(5 * MS);
  assertEquals([clock.readMs(), clock.ns], [0, 0]);
  clock.begin(undefined);
  clock.pass(PACE.tick);
  assertEquals(clock.ns, PACE.tick);
  clock.waitUntil(clock.after(3));
  assertEquals([clock.ns, clock.waitedMs], [PACE.tick + 3 * MS, 3]);
  assertEquals(clock.readMs(), (PACE.tick + 3 * MS + PACE.read) / MS);
  assertEquals(clock.readDateMs(), Date.UTC(2026, 0, 1) + 3);
  clock.end();
  assertEquals(clock.readMs(), clock.readMs());
});

Deno.test("VirtualClock interrupts at the timeout, again every 50 ms, and ends the interpreter after the grace time", () => {
  const { clock, interrupt, events } = createClock();
  clock.begin({ timeoutMs: 100, graceMs: 120, restarts: false });
  clock.waitUntil(clock.after(1000));
  assertEquals([clock.ms, interrupt[0], events], [100, 2, ["late"]]);
  clock.waitUntil(clock.after(1000));
  assertEquals(clock.ms, 100, "a program that was interrupted does not wait");
  for (const ms of [150, 200]) {
    interrupt[0] = 0;
    clock.waitUntil(clock.after(1000));
    assertEquals([clock.ms, interrupt[0], events], [ms, 2, ["late"]]);
  }
  interrupt[0] = 0;
  clock.waitUntil(clock.after(1000));
  assertEquals([clock.ms, events], [220, ["late", "kill"]]);
});

Deno.test("VirtualClock.restart() starts a budget anew that says so, until the timeout", () => {
  const { clock, events } = createClock();
  clock.begin({ timeoutMs: 100, graceMs: 100, restarts: true });
  clock.waitUntil(clock.after(90));
  clock.restart();
  clock.waitUntil(clock.after(90));
  assertEquals(events, []);
  clock.waitUntil(clock.after(20));
  assertEquals(events, ["late"]);
  const other = createClock();
  other.clock.begin({ timeoutMs: 100, graceMs: 100, restarts: false });
  other.clock.waitUntil(other.clock.after(90));
  other.clock.restart();
  other.clock.waitUntil(other.clock.after(20));
  assertEquals(other.events, ["late"]);
});

Deno.test("Entropy continues its bytes from a state", () => {
  const entropy = new Entropy((view) => view.fill(1));
  assertEquals(entropy.state, undefined);
  entropy.seed(7);
  entropy.fill(new Uint8Array(3));
  const { state } = entropy;
  const expected = entropy.fill(new Uint8Array(5));
  entropy.seed(8);
  entropy.state = state;
  assertEquals(entropy.fill(new Uint8Array(5)), expected);
});
