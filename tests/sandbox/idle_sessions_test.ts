import { assertEquals } from "@std/assert";
import { countNewInterpreters, IdleSessions } from "../../src/sandbox/idle_sessions.ts";

function idle(...sessions: [name: string, domain?: string][]): IdleSessions<string> {
  const found = new IdleSessions<string>();
  for (const [name, domain] of sessions) found.add(name, domain);
  return found;
}

Deno.test("IdleSessions.take() gives a domain its last session, else a clean one, and never one of another domain", () => {
  const sessions = idle(["clean"], ["first", "a"], ["other", "b"], ["last", "a"]);
  const taken = Array.from({ length: 4 }, () => sessions.take("a"));
  assertEquals(taken, ["last", "first", "clean", undefined]);
  assertEquals(sessions.size, 1);
});

Deno.test("IdleSessions.take() gives only clean sessions where there is no domain", () => {
  const sessions = idle(["used", ""], ["clean"]);
  assertEquals([sessions.take(undefined), sessions.take(undefined)], ["clean", undefined]);
});

Deno.test("IdleSessions.take() prefers a session, unless another domain has used it", () => {
  const sessions = idle(["first", "a"], ["last", "a"], ["other", "b"]);
  assertEquals([sessions.take("a", "first"), sessions.take("a", "other")], ["first", "last"]);
});

Deno.test("IdleSessions.takeUnused() takes what has been idle for so long, but no clean session", () => {
  let now = 0;
  const sessions = new IdleSessions<string>(() => now);
  sessions.add("clean", undefined);
  sessions.add("early", "a");
  now = 50;
  sessions.add("late", "b");
  now = 100;
  assertEquals(sessions.takeUnused(100), ["early"]);
  assertEquals([sessions.hasDomain, sessions.takeOldest(), sessions.takeOldest()], [true, "clean", "late"]);
  assertEquals([sessions.hasDomain, sessions.takeOldest()], [false, undefined]);
});

Deno.test("countNewInterpreters() counts no lease for which a session of its own domain is rewound", () => {
  const waiting = [{ domain: "a", patientUntil: 0 }, { domain: "a", patientUntil: 0 }];
  const domains = new Set(["a", "b"]);
  const count = (rewinding: string[]) => countNewInterpreters(waiting, { domains, rewinding, now: 1 });
  assertEquals([count([]), count(["a"]), count(["a", "a"]), count(["b"])], [2, 1, 0, 2]);
});

Deno.test("countNewInterpreters() counts at once a lease whose domain has no session, else after its patience", () => {
  const [domains, rewinding] = [new Set(["a"]), [] as string[]];
  const waiting = [undefined, "new", "a"].map((domain) => ({ domain, patientUntil: 10 }));
  const counts = [9, 10].map((now) => countNewInterpreters(waiting, { domains, rewinding, now }));
  assertEquals(counts, [2, 3]);
});
