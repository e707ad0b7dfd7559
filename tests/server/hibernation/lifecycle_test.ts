import { assertEquals, assertThrows } from "@std/assert";
import type { PythonSession, SessionLease } from "../../../src/sandbox/contract/pool.ts";
import type { HibernatedState } from "../../../src/server/hibernation/hibernated_state.ts";
import {
  type LeasedInterpreter,
  Lifecycle,
  type SessionPhase,
  TRANSITIONS,
} from "../../../src/server/hibernation/lifecycle.ts";

type Kind = SessionPhase["kind"];

const state = {} as HibernatedState;
const near = {} as SessionLease;
const leased: LeasedInterpreter = { lease: near, slot: undefined };
const hibernating = { state, near, left: Promise.resolve(true) };

/** A session in each phase. */
const PHASES: Readonly<Record<Kind, SessionPhase>> = {
  awake: { kind: "awake", leased },
  leaving: { kind: "leaving", leased, left: Promise.resolve(true), stored: undefined },
  asleep: { kind: "asleep", ...hibernating },
  paused: { kind: "paused", ...hibernating },
  waking: { kind: "waking", ...hibernating, woken: Promise.resolve({} as PythonSession) },
  ended: { kind: "ended" },
};

const KINDS = Object.keys(TRANSITIONS) as Kind[];

Deno.test("Lifecycle.enter() enters the phases of the table, and refuses all others", () => {
  const entered = KINDS.map((from) => {
    const to = KINDS.filter((kind) => {
      const life = new Lifecycle(PHASES[from]);
      if (TRANSITIONS[from].includes(kind)) life.enter(PHASES[kind]);
      else assertThrows(() => life.enter(PHASES[kind]), TypeError, `from '${from}' to '${kind}'`);
      return life.phase !== PHASES[from];
    });
    return [from, ...to];
  });
  assertEquals(entered, [
    ["awake", "leaving", "ended"],
    ["leaving", "awake", "asleep", "ended"],
    ["asleep", "paused", "waking", "ended"],
    ["paused", "asleep", "ended"],
    ["waking", "awake", "asleep", "ended"],
    ["ended"],
  ]);
});

Deno.test("a session has an interpreter, a state or neither, as its phase says", () => {
  const parts = KINDS.map((kind) => {
    const life = new Lifecycle(PHASES[kind]);
    return [kind, life.leased === leased, life.state === state];
  });
  assertEquals(parts, [
    ["awake", true, false],
    ["leaving", true, false],
    ["asleep", false, true],
    ["paused", false, true],
    ["waking", false, true],
    ["ended", false, false],
  ]);
});

Deno.test("Lifecycle.pause() pauses a session that hibernates alone, and only endPause() lets it wake", () => {
  const paused = KINDS.filter((kind) => new Lifecycle(PHASES[kind]).pause());
  assertEquals(paused, ["asleep", "paused"]);
  const life = new Lifecycle(PHASES.asleep);
  life.pause();
  assertThrows(() => life.enter(PHASES.waking), TypeError);
  life.endPause();
  assertEquals(life.phase, PHASES.asleep);
  life.enter(PHASES.waking);
  life.endPause();
  assertEquals(life.phase, PHASES.waking);
});
