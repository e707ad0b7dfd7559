import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { HOST_CLOCK } from "../../../src/async/clock.ts";
import { CheckpointError } from "../../../src/errors.ts";
import { ServerError } from "../../../src/server/http/http_errors.ts";
import type { ServerEvent } from "../../../src/server/server_event.ts";
import type { LiveSession } from "../../../src/server/sessions/live_session.ts";
import { SessionDirectory } from "../../../src/server/sessions/session_directory.ts";

const signal = new AbortController().signal;

/** A session of the directory, without an interpreter. */
function sessionOf(id: string, fields: Partial<LiveSession> = {}): LiveSession {
  const life = { isSaved: false };
  return { id, owner: "a", createdAt: new Date(), execs: 2, life, ...fields } as LiveSession;
}

Deno.test("SessionDirectory finds a session by its id for its owner only", () => {
  const directory = new SessionDirectory({ clock: HOST_CLOCK, onEvent: () => {} });
  const [one, two] = [sessionOf("1"), sessionOf("2", { owner: "b" })];
  for (const session of [one, two]) directory.publish(session);
  assertEquals([directory.find("1", "a"), directory.get("1", "b")], [one, undefined]);
  assertEquals([directory.list("b"), directory.peek("2"), [...directory.all()]], [[two], two, [one, two]]);
  assertEquals(assertThrows(() => directory.find("2", "a"), ServerError).code, "not_found");
  directory.delete(one);
  assertEquals([directory.get("1", "a"), directory.list("a")], [undefined, []]);
});

Deno.test("SessionDirectory.list() returns the sessions with all of the metadata, oldest first", () => {
  const directory = new SessionDirectory({ clock: HOST_CLOCK, onEvent: () => {} });
  const [one, two, three] = [
    sessionOf("1", { metadata: { run: "x", step: "1" } }),
    sessionOf("2"),
    sessionOf("3", { metadata: { run: "x", step: "2" } }),
  ];
  for (const session of [one, two, three]) directory.publish(session);
  assertEquals(directory.list("a", { run: "x" }), [one, three]);
  assertEquals(directory.list("a", { run: "x", step: "2" }), [three]);
});

Deno.test("SessionDirectory.get() throws for a session of an earlier server whose record cannot be read", () => {
  const error = new CheckpointError("Cannot read", { code: "checkpoint_damaged" });
  const directory = new SessionDirectory({
    unreadable: new Map([["1", error]]),
    clock: HOST_CLOCK,
    onEvent: () => {},
  });
  assertEquals(assertThrows(() => directory.get("1", "a"), ServerError).reason, "checkpoint_damaged");
});

Deno.test("SessionDirectory reports a session that opens and ends, and nothing of a session that was not found", () => {
  const events: ServerEvent[] = [];
  const directory = new SessionDirectory({ clock: HOST_CLOCK, onEvent: (event) => events.push(event) });
  const saved = sessionOf("2", { life: { isSaved: true } as LiveSession["life"] });
  for (const session of [sessionOf("1"), saved]) {
    directory.publish(session);
    directory.delete(session);
  }
  directory.delete(sessionOf("3"));
  assertEquals(events.map(({ kind }) => kind), [
    "session opened",
    "session ended",
    "session opened",
    "session saved",
  ]);
});

Deno.test("SessionDirectory.openNamed() opens a session once, and again when it has ended", async () => {
  const directory = new SessionDirectory({ clock: HOST_CLOCK, onEvent: () => {} });
  let opened = 0;
  const open = async (owner: string, name: string) => {
    const { session, isNew } = await directory.openNamed(name, { owner, signal }, async (options) => {
      await Promise.resolve();
      return sessionOf(`${++opened}`, { owner: options.owner, name: options.name });
    });
    return [session.id, isNew];
  };
  assertEquals(await Promise.all([open("a", "x"), open("a", "x"), open("b", "x"), open("a", "y")]), [
    ["1", true],
    ["1", false],
    ["2", true],
    ["3", true],
  ]);
  directory.delete(sessionOf("1", { name: "x" }));
  assertEquals(await open("a", "x"), ["4", true]);
});

Deno.test("SessionDirectory.openNamed() shares a failure, but not the cancellation of another request", async () => {
  const directory = new SessionDirectory({ clock: HOST_CLOCK, onEvent: () => {} });
  const options = { owner: "a", signal };
  const busy = () => Promise.reject(new ServerError("busy", "full"));
  const both = [directory.openNamed("x", options, busy), directory.openNamed("x", options, busy)];
  for (const work of both) assertEquals((await assertRejects(() => work, ServerError)).code, "busy");
  const cancelled = new ServerError("unavailable", "cancelled", {
    cause: new DOMException("gone", "AbortError"),
  });
  const first = directory.openNamed("y", options, () => Promise.reject(cancelled));
  const second = directory.openNamed("y", options, () => Promise.resolve(sessionOf("1")));
  await assertRejects(() => first, ServerError);
  assertEquals((await second).isNew, true);
});
