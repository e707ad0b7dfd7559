import { assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { HibernationStore } from "../../../src/server/hibernation/hibernation_store.ts";
import { StateDirectory } from "../../../src/server/hibernation/state_directory.ts";
import { ServerError } from "../../../src/server/http/http_errors.ts";
import type { LiveSession } from "../../../src/server/sessions/live_session.ts";
import { BranchingFakePool, readFakeCheckpoint } from "../../fake_pool.ts";
import { TempFolder } from "../../temp_folder.ts";
import { served } from "../served.ts";
import { count, service, signal, valueOf } from "./counting_sessions.ts";

/** Random numbers of all restores of a pool, in order. */
function randomOf(pool: BranchingFakePool): unknown[] {
  return pool.restores.map(({ reseed, seed }) => seed ?? reseed);
}

async function valuesOf(sessions: readonly LiveSession[]): Promise<unknown[]> {
  const values = [];
  for (const session of sessions) values.push(await valueOf(session, "1"));
  return values;
}

Deno.test("a fork makes more copies than there are interpreters, which hibernate until they are used", async () => {
  const store = new HibernationStore();
  const pool = new BranchingFakePool(count);
  await using sessions = service({ pool, store, maxSessions: 2 });
  const parent = await sessions.create({ owner: "", metadata: { user: "ada" }, ttlMs: 60_000, signal });
  await parent.exec("5");
  const copies = await sessions.fork(parent, 100, { signal });
  assertEquals([copies.length, store.count(), pool.alive], [100, 100, 1]);
  assertEquals(copies.map(({ id }) => sessions.directory.find(id, "")), copies);
  assertEquals(copies[99]?.metadata, { user: "ada" });
  assertEquals(copies[99]?.life.expiresAt !== undefined, true);
  assertEquals(await valuesOf(copies.slice(0, 3)), ["6", "6", "6"]);
  assertEquals(await valuesOf([parent, ...copies.slice(0, 3)]), ["6", "7", "7", "7"]);
});

Deno.test("copies that hibernate have random numbers of their own, or of their seeds, from their first wake on", async () => {
  const pool = new BranchingFakePool(count);
  await using sessions = service({ pool });
  const parent = await sessions.create({ owner: "", signal });
  const [fresh] = await sessions.fork(parent, 1, { signal });
  const [first, second] = await sessions.fork(parent, 2, { seed: 7, signal });
  if (!fresh || !first || !second) throw new Error("there are no copies");
  for (const session of [fresh, first, second, first]) await session.exec("1");
  assertEquals(randomOf(pool), [true, 7, 8, undefined]);
});

Deno.test("the random numbers of a copy that has not woken are those of its seed in a later server, too", async () => {
  await using folder = await TempFolder.of();
  const path = join(folder.path, "state");
  let ids: string[] = [];
  {
    using directory = await StateDirectory.open(path, { read: readFakeCheckpoint });
    await using sessions = service({ store: new HibernationStore({ directory }) });
    const parent = await sessions.create({ owner: "", signal });
    await parent.exec("5");
    const copies = [
      ...await sessions.fork(parent, 2, { seed: 7, signal }),
      ...await sessions.fork(parent, 1, { signal }),
    ];
    ids = copies.map(({ id }) => id);
    await copies[0]?.exec("1");
    assertEquals(await sessions.suspend(), { saved: 4, kept: 0, lost: 0, reasons: [] });
  }
  using directory = await StateDirectory.open(path, { read: readFakeCheckpoint });
  const pool = new BranchingFakePool(count);
  const store = new HibernationStore({ directory });
  await using sessions = service({ pool, store, saved: directory.sessions });
  assertEquals(await valuesOf(ids.map((id) => sessions.directory.find(id, ""))), ["7", "6", "6"]);
  assertEquals(randomOf(pool), [undefined, 8, true]);
});

Deno.test("copies that hibernate share the room of their state, in memory and in the directory", async () => {
  await using folder = await TempFolder.of();
  using directory = await StateDirectory.open(join(folder.path, "state"), { read: readFakeCheckpoint });
  const large = await readFakeCheckpoint(new TextEncoder().encode("[]" + " ".repeat(100_000)));
  const store = new HibernationStore({ bytes: 200_000, directory, directoryBytes: 200_000 });
  const places = await store.putCopies(large, 10, record(0));
  const states = places.map((place, at) => place(() => record(at)));
  assertEquals(store.bytes("memory") < 150_000, true, `${store.bytes("memory")}`);
  await Promise.all(states.map((state) => state.suspend()));
  assertEquals(store.bytes("memory"), 0);
  assertEquals(store.bytes("directory") < 150_000, true, `${store.bytes("directory")}`);
  const { nlink } = await Deno.stat(join(directory.path, `${record(0).id}.checkpoint`));
  assertEquals(nlink, 10);
  for (const state of states.slice(1)) {
    await state.removeFiles();
    await state[Symbol.asyncDispose]();
  }
  assertEquals((await states[0]?.read())?.id, large.id);
  await states[0]?.removeFiles();
  assertEquals([store.bytes("memory"), store.bytes("directory")], [0, 0]);
});

function record(at: number) {
  const time = new Date(0).toISOString();
  const [isPaused, pausesAtEnd] = [false, false];
  const id = String(at).repeat(32);
  return {
    format: 1 as const,
    id,
    owner: "",
    createdAt: time,
    usedAt: time,
    execs: 0,
    isPaused,
    pausesAtEnd,
  };
}

Deno.test("a fork without room for copies that hibernate waits for interpreters, and takes no room", async () => {
  const store = new HibernationStore({ count: 1 });
  const pool = new BranchingFakePool(count);
  await using sessions = service({ pool, store, maxSessions: 4, waitMs: 5000 });
  const parent = await sessions.create({ owner: "", signal });
  const others = [await sessions.create({ owner: "", signal }), await sessions.create({ owner: "", signal })];
  const forked = sessions.fork(parent, 2, { signal }); // one session can hibernate
  await others[0]?.[Symbol.asyncDispose]();
  assertEquals((await forked).length, 2);
  const { code, message } = await assertRejects(() => sessions.fork(parent, 4, { signal }), ServerError);
  assertEquals([code, message.includes("no room for copies")], ["invalid", true], message);
});

Deno.test("two forks that need more interpreters together than there are take them one after the other", async () => {
  const pool = new BranchingFakePool(count);
  await using sessions = service({ pool, maxSessions: 6, owners: 3, hibernation: undefined, waitMs: 5000 });
  const parents = [
    await sessions.create({ owner: "a", signal }),
    await sessions.create({ owner: "b", signal }),
  ];
  const others = [];
  for (let at = 0; at < 4; at++) others.push(await sessions.create({ owner: "c", signal }));
  const forks = parents.map(async (parent) => {
    const copies = await sessions.fork(parent, 3, { signal });
    for (const copy of copies) await copy[Symbol.asyncDispose]();
    return copies.length;
  });
  for (const other of others) {
    await new Promise((resolve) => setTimeout(resolve));
    await other[Symbol.asyncDispose]();
  }
  assertEquals(await Promise.all(forks), [3, 3]);
});

Deno.test("a copy that is resumed without memory has random numbers of its own, too", async () => {
  const pool = new BranchingFakePool(count);
  await using sessions = service({ pool });
  const parent = await sessions.create({ owner: "", signal });
  await parent.exec("5");
  const [copy] = await sessions.fork(parent, 1, { seed: 7, signal });
  if (!copy) throw new Error("there is no copy");
  assertEquals(copy.life.pause.hasMemory, true);
  await copy.life.pause.begin();
  await copy.life.pause.resume({ memory: false });
  assertEquals([await valueOf(copy), randomOf(pool)], ["1", [7, 7]]);
});

Deno.test("a fork fails while the server stops, and leaves no copies", async () => {
  const store = new HibernationStore();
  await using sessions = service({ store });
  const parent = await sessions.create({ owner: "", signal });
  const putCopies = store.putCopies.bind(store);
  store.putCopies = async (...options) => {
    const places = await putCopies(...options);
    void sessions.suspend();
    return places;
  };
  const { code } = await assertRejects(() => sessions.fork(parent, 3, { signal }), ServerError);
  assertEquals([code, store.count()], ["unavailable", 0]);
});

Deno.test("copies whose client has disconnected end", async () => {
  const store = new HibernationStore();
  const abort = new AbortController();
  const pool = new BranchingFakePool(count);
  await using sessions = service({ pool, store });
  const parent = await sessions.create({ owner: "", signal });
  const putCopies = store.putCopies.bind(store);
  store.putCopies = async (...options) => {
    const places = await putCopies(...options);
    abort.abort(new DOMException("The client has disconnected", "AbortError"));
    return places;
  };
  await assertRejects(() => sessions.fork(parent, 3, { signal: abort.signal }), ServerError);
  assertEquals([store.count(), sessions.directory.list("").length], [0, 1]);
});

Deno.test("a fork with a request id that is sent again, also at the same time, makes its copies once", async () => {
  const store = new HibernationStore();
  const hibernation = { store, afterMs: 3_600_000 };
  await using server = served({ pool: new BranchingFakePool(count), maxSessions: 1, hibernation });
  const { body: { id } } = await server.send("POST", "/v1/sessions", {});
  const headers = { "x-request-id": "fork" };
  const fork = () => server.send("POST", `/v1/sessions/${id}/fork`, { count: 3 }, headers);
  const [first, ...others] = [...await Promise.all([fork(), fork()]), await fork()];
  assertEquals(others.map(({ body }) => body), [first?.body, first?.body]);
  assertEquals([first?.body.sessions.length, store.count()], [3, 3]);
});
