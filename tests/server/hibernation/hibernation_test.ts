import { assert, assertEquals, assertRejects } from "@std/assert";
import { CheckpointError } from "../../../src/errors.ts";
import type { ExecResult } from "../../../src/sandbox/contract/exec.ts";
import { HibernationStore } from "../../../src/server/hibernation/hibernation_store.ts";
import { StateDirectory } from "../../../src/server/hibernation/state_directory.ts";
import { ServerError } from "../../../src/server/http/http_errors.ts";
import type { LiveSession } from "../../../src/server/sessions/live_session.ts";
import { SessionTools } from "../../../src/server/sessions/session_tools.ts";
import { BranchingFakePool, ok, readFakeCheckpoint } from "../../fake_pool.ts";
import { TempFolder } from "../../temp_folder.ts";
import { count, service, signal, until, valueOf } from "./counting_sessions.ts";

Deno.test("an idle session hibernates when another one needs its interpreter, and continues when it is used", async () => {
  const pool = new BranchingFakePool(count);
  await using sessions = service({ pool });
  const first = await sessions.create({ owner: "", signal });
  assertEquals(await valueOf(first, "5"), "5");
  const second = await sessions.create({ owner: "", signal });
  assertEquals([first.ended, pool.alive], [false, 1]);
  assertEquals(await valueOf(second, "7"), "7");
  assertEquals(await valueOf(first), "6");
  assertEquals(await valueOf(second), "8");
  assertEquals([pool.alive, pool.most], [1, 1]);
});

Deno.test("many sessions share one interpreter", async () => {
  const store = new HibernationStore();
  await using sessions = service({ store });
  const opened: LiveSession[] = [];
  for (let at = 0; at < 50; at++) {
    const session = await sessions.create({ owner: "", signal });
    await session.exec(String(at));
    opened.push(session);
  }
  assertEquals(store.count(), 49);
  const values = await Promise.all(opened.map((session) => valueOf(session)));
  assertEquals(values, opened.map((_, at) => String(at + 1)));
  for (const session of opened) await session[Symbol.asyncDispose]();
  assertEquals([store.count(), store.bytes("memory")], [0, 0]);
});

Deno.test("a session hibernates after its idle time without any pressure", async () => {
  const pool = new BranchingFakePool(count);
  await using sessions = service({ pool, afterMs: 5, maxSessions: 8 });
  const session = await sessions.create({ owner: "", signal });
  await session.exec("3");
  await until(() => pool.alive === 0);
  assertEquals(await valueOf(session), "4");
});

Deno.test("a session that is used does not hibernate, and requests wait for it", async () => {
  const running = Promise.withResolvers<ExecResult>();
  const pool = new BranchingFakePool((code, globals, options) =>
    code === "wait" ? running.promise : count(code, globals, options)
  );
  await using sessions = service({ pool });
  const first = await sessions.create({ owner: "", signal });
  const waiting = first.exec("wait");
  const opening = sessions.create({ owner: "", signal });
  assertEquals(await first.life.hibernate(), false);
  running.resolve(ok());
  await waiting;
  await opening;
  assertEquals(pool.alive, 1);
});

Deno.test("requests that come while a session hibernates find its state", async () => {
  await using sessions = service();
  const session = await sessions.create({ owner: "", signal });
  await session.exec("1");
  const leaving = session.life.hibernate();
  assertEquals(await valueOf(session), "2");
  assertEquals(await leaving, false);
  assertEquals(await session.life.hibernate(), true);
  assertEquals(await Promise.all([valueOf(session), valueOf(session), valueOf(session)]), ["3", "4", "5"]);
});

Deno.test("a session that no checkpoint can have stays awake, until it was used", async () => {
  let isRefused = true;
  class RefusingPool extends BranchingFakePool {
    override async acquire(options = {}) {
      const lease = await super.acquire(options);
      const { session } = lease;
      const checkpoint = session.checkpoint.bind(session);
      session.checkpoint = () =>
        isRefused
          ? Promise.reject(new CheckpointError("a thread runs", { code: "checkpoint_refused" }))
          : checkpoint();
      return lease;
    }
  }
  await using sessions = service({ pool: new RefusingPool(count), waitMs: 30 });
  const session = await sessions.create({ owner: "", signal });
  const error = await assertRejects(() => sessions.create({ owner: "", signal }), ServerError);
  assertEquals([error.code, session.ended, session.life.canHibernate(0)], ["timeout", false, false]);
  const refused = await assertRejects(() => session.life.pause.begin(), ServerError);
  assertEquals([refused.code, refused.reason], ["conflict", "checkpoint_refused"]);
  isRefused = false;
  await session.exec("1");
  await sessions.create({ owner: "", signal });
  assertEquals(await valueOf(session), "2");
});

Deno.test("a session stays awake on a full server while its owner has a reserved slot for another request", async () => {
  const pool = new BranchingFakePool(count);
  const store = new HibernationStore();
  await using sessions = service({ pool, store, maxSessions: 8, owners: 2 });
  const other = new AbortController();
  const borrowed = Array.from({ length: 6 }, () => sessions.borrow({ owner: "a", once: true, signal }));
  await Promise.all(borrowed);
  const waiting = [1, 2, 3].map(() => sessions.borrow({ owner: "a", once: true, signal: other.signal }));
  const session = await sessions.create({ owner: "b", signal });
  await session.exec("1");
  const program = await sessions.borrow({ owner: "b", once: true, signal });
  assertEquals([session.life.isLeaving, store.count(), pool.alive], [false, 0, 8]);
  const third = sessions.borrow({ owner: "b", once: true, signal }); // it has no reserved slot
  assert(session.life.isLeaving);
  await third;
  assertEquals([store.count("b"), pool.alive], [1, 8]);
  await program[Symbol.asyncDispose]();
  assertEquals(await valueOf(session), "2");
  other.abort();
  await Promise.allSettled(waiting);
});

Deno.test("sessions of an owner without room stay awake, and those of other owners hibernate", async () => {
  const store = new HibernationStore({ bytes: 40_000, owners: 2 });
  await using sessions = service({ store, maxSessions: 4, maxSessionsPerToken: 2, owners: 2, waitMs: 1000 });
  const open = async (owner: string) => {
    const session = await sessions.create({ owner, signal });
    await session.exec("1");
  };
  for (let at = 0; at < 9; at++) await open("a"); // seven hibernate: 30 kB without the share of the other owner
  const error = await assertRejects(() => open("a"), ServerError);
  assertEquals([error.code, store.count("a")], ["timeout", 7]);
  for (let at = 0; at < 4; at++) await open("b");
  assertEquals(store.count("b"), 2);
});

Deno.test("a session whose state cannot be restored ends with the reason if no folder can keep it", async () => {
  class ForgetfulPool extends BranchingFakePool {
    override async acquire(options = {}) {
      const lease = await super.acquire(options);
      lease.session.restore = () =>
        Promise.reject(new CheckpointError("another base image", { code: "checkpoint_other_image" }));
      return lease;
    }
  }
  const pool = new ForgetfulPool(count);
  await using sessions = service({ pool });
  const session = await sessions.create({ owner: "", signal });
  await session.life.hibernate();
  const error = await assertRejects(() => session.exec("1"), ServerError);
  assertEquals([error.reason, session.ended, pool.alive], ["checkpoint_other_image", true, 0]);
  await assertRejects(() => Promise.try(() => sessions.directory.find(session.id, "")), ServerError);
});

Deno.test("a session that finds no interpreter to wake in keeps its state", async () => {
  const running = Promise.withResolvers<ExecResult>();
  const pool = new BranchingFakePool((code, globals, options) =>
    code === "wait" ? running.promise : count(code, globals, options)
  );
  await using sessions = service({ pool, waitMs: 30 });
  const first = await sessions.create({ owner: "", signal });
  await first.exec("4");
  const second = await sessions.create({ owner: "", signal });
  const waiting = second.exec("wait");
  const { code } = await assertRejects(() => first.exec("1"), ServerError);
  assertEquals(code, "timeout");
  running.resolve(ok());
  await waiting;
  assertEquals(await valueOf(first), "5");
});

Deno.test("LiveSession.pause() keeps the state until resume(), and refuses requests meanwhile", async () => {
  const pool = new BranchingFakePool(count);
  await using sessions = service({ pool });
  const session = await sessions.create({ owner: "", ttlMs: 60_000, signal });
  await session.exec("2");
  await session.life.pause.begin();
  assertEquals([pool.alive, session.life.isPaused, session.life.expiresAt], [0, true, undefined]);
  assertEquals((await assertRejects(() => session.exec("1"), ServerError)).code, "conflict");
  assertEquals((await assertRejects(() => session.life.pause.begin(), ServerError)).code, "conflict");
  await session.life.pause.resume();
  assertEquals([pool.alive, session.life.isPaused, await valueOf(session)], [1, false, "3"]);
});

Deno.test("LiveSession.pause({ memory: false }) keeps the files alone, also of a session that hibernates", async () => {
  const store = new HibernationStore();
  await using sessions = service({ store });
  const session = await sessions.create({ owner: "", signal });
  for (const hibernates of [false, true]) {
    await session.exec("2");
    if (hibernates) await session.life.hibernate();
    await session.life.pause.begin({ memory: false });
    assertEquals([session.life.isPaused, session.life.pause.hasMemory], [true, false]);
    assertEquals([session.describe().isPaused, session.describe().hasMemory], [true, false]);
    assertEquals(
      session.life.isPaused && (await assertRejects(() => session.exec("1"), ServerError)).code,
      "conflict",
    );
    await session.life.pause.resume();
    assertEquals([session.life.pause.hasMemory, session.describe().hasMemory], [true, undefined]);
    assertEquals(await valueOf(session), "1");
    await session.exec("-1");
  }
});

Deno.test("a session that is used or finds no room is not paused without its memory, which it keeps", async () => {
  const running = Promise.withResolvers<ExecResult>();
  const pool = new BranchingFakePool((code, globals, options) =>
    code === "wait" ? running.promise : count(code, globals, options)
  );
  const store = new HibernationStore({ bytes: 1 });
  await using sessions = service({ pool, store });
  const session = await sessions.create({ owner: "", signal });
  await session.exec("2");
  const waiting = session.exec("wait");
  const inUse = await assertRejects(() => session.life.pause.begin({ memory: false }), ServerError);
  running.resolve(ok());
  await waiting;
  const noRoom = await assertRejects(() => session.life.pause.begin({ memory: false }), ServerError);
  assertEquals([inUse.code, noRoom.code], ["conflict", "too_large"]);
  assertEquals([session.life.isPaused, session.life.pause.hasMemory], [false, true]);
  assertEquals(await valueOf(session), "3");
});

Deno.test("LiveSession.resume() waits for a pause that has begun", async () => {
  await using sessions = service();
  const session = await sessions.create({ owner: "", signal });
  for (const [memory, expected] of [[true, "3"], [false, "1"]] as const) {
    await session.exec("2");
    const pausing = session.life.pause.begin({ memory });
    await session.life.pause.resume();
    await pausing;
    assertEquals([session.life.isPaused, await valueOf(session)], [false, expected]);
    await session.exec(`-${expected}`);
  }
});

Deno.test("a session with pausesAtEnd 'files' pauses without its memory, also while it hibernates", async () => {
  for (const hibernates of [false, true]) {
    await using sessions = service();
    const session = await sessions.create({ owner: "", ttlMs: 20, pausesAtEnd: "files", signal });
    await session.exec("2");
    if (hibernates) await session.life.hibernate();
    await until(() => session.life.isPaused);
    await session.life.pause.resume();
    assertEquals(await valueOf(session), "1");
  }
});

Deno.test("a session with pausesAtEnd 'files' that finds no room ends", async () => {
  await using sessions = service({ store: new HibernationStore({ bytes: 1 }) });
  const session = await sessions.create({ owner: "", ttlMs: 5, pausesAtEnd: "files", signal });
  await session.exec("2");
  await until(() => session.ended);
});

Deno.test("LiveSession.resume({ memory: false }) keeps the files alone, and a failed one the memory", async () => {
  const running = Promise.withResolvers<ExecResult>();
  const pool = new BranchingFakePool((code, globals, options) =>
    code === "wait" ? running.promise : count(code, globals, options)
  );
  await using sessions = service({ pool, waitMs: 20 });
  const session = await sessions.create({ owner: "", signal });
  await session.exec("2");
  await session.life.pause.begin();
  const other = await sessions.create({ owner: "", signal });
  const waiting = other.exec("wait");
  await assertRejects(() => session.life.pause.resume({ memory: false }), ServerError);
  assertEquals([session.life.isPaused, session.life.pause.hasMemory], [true, true]);
  running.resolve(ok());
  await waiting;
  await session.life.pause.resume({ memory: false });
  assertEquals(await valueOf(session), "1");
});

Deno.test("a session with pausesAtEnd pauses when its time is over and it is unused", async () => {
  const running = Promise.withResolvers<ExecResult>();
  const pool = new BranchingFakePool((code, globals, options) =>
    code === "wait" ? running.promise : count(code, globals, options)
  );
  await using sessions = service({ pool });
  const session = await sessions.create({ owner: "", ttlMs: 5, pausesAtEnd: true, signal });
  const waiting = session.exec("wait");
  await new Promise((resolve) => setTimeout(resolve, 20));
  assertEquals([session.ended, session.life.isPaused], [false, false]);
  running.resolve(ok());
  await waiting;
  await until(() => session.life.isPaused);
  await session.life.pause.resume();
  assertEquals(await valueOf(session), "1");
});

Deno.test("a session that ends while it hibernates, leaves or wakes leaves nothing", async () => {
  const store = new HibernationStore();
  const pool = new BranchingFakePool(count);
  await using sessions = service({ store, pool, maxSessions: 4 });
  const open = () => sessions.create({ owner: "", signal });
  const asleep = await open();
  await asleep.life.hibernate();
  await asleep[Symbol.asyncDispose]();
  const leaving = await open();
  const left = leaving.life.hibernate();
  await leaving[Symbol.asyncDispose]();
  await left;
  const waking = await open();
  await waking.life.hibernate();
  const woken = waking.exec("1").catch(() => undefined);
  await waking[Symbol.asyncDispose]();
  await woken;
  assertEquals([store.count(), store.bytes("memory"), pool.alive], [0, 0, 0]);
});

Deno.test("states beyond the memory go to the directory, least recently used first", async () => {
  await using folder = await TempFolder.of();
  await Deno.chmod(folder.path, 0o700);
  using directory = await StateDirectory.open(folder.path, { read: readFakeCheckpoint });
  const store = new HibernationStore({ bytes: 10_000, directory });
  await using sessions = service({ store });
  const opened: LiveSession[] = [];
  for (let at = 0; at < 6; at++) {
    const session = await sessions.create({ owner: "", signal });
    await session.exec(String(at));
    opened.push(session);
  }
  const files = async () => {
    const names = await Array.fromAsync(Deno.readDir(folder.path), ({ name }) => name);
    return names.filter((name) => name.endsWith(".checkpoint"));
  };
  assertEquals((await files()).toSorted(), opened.slice(0, 3).map(({ id }) => `${id}.checkpoint`).toSorted());
  assert(store.bytes("directory") > 0);
  assertEquals(await Promise.all(opened.map((session) => valueOf(session))), ["1", "2", "3", "4", "5", "6"]);
  for (const session of opened) await session[Symbol.asyncDispose]();
  assertEquals([await files(), store.bytes("directory"), store.count()], [[], 0, 0]);
});

const TOOL = { name: "price", description: "", parameters: { type: "object" }, timeoutMs: 1000 };

Deno.test("sessions continue in a later server with the same directory, for their owner alone", async () => {
  await using folder = await TempFolder.of();
  await Deno.chmod(folder.path, 0o700);
  const open = () => StateDirectory.open(folder.path, { read: readFakeCheckpoint });
  let id = "";
  {
    using directory = await open();
    await using sessions = service({ store: new HibernationStore({ directory }), maxSessions: 4 });
    const tools = new SessionTools([TOOL]);
    const session = await sessions.create({
      owner: "ada",
      metadata: { run: "7" },
      limits: { timeoutMs: 900 },
      tools,
      ttlMs: 3_600_000,
      attachment: { toText: () => "x" },
      signal,
    });
    id = session.id;
    await session.exec("3");
    const named = await sessions.openNamed("notebook", { owner: "ada", signal });
    await named.session.exec("9");
    await sessions.borrow({ owner: "ada", signal }); // no client finds it again
    assertEquals(await sessions.suspend(), { saved: 2, kept: 0, lost: 0, reasons: [] });
  }
  using directory = await open();
  const store = new HibernationStore({ directory });
  await using sessions = service({ store, saved: directory.sessions });
  const session = sessions.directory.find(id, "ada");
  assertEquals(
    [session.metadata, session.limits, session.tools?.specs, session.execs, session.attachment?.toText()],
    [{ run: "7" }, { timeoutMs: 900 }, [TOOL], 1, "x"],
  );
  assert(session.life.expiresAt && session.life.expiresAt.getTime() > Date.now());
  assertEquals(await valueOf(session), "4");
  const { session: named, isNew } = await sessions.openNamed("notebook", { owner: "ada", signal });
  assertEquals([isNew, await valueOf(named)], [false, "10"]);
  assertEquals(
    (await assertRejects(() => Promise.try(() => sessions.directory.find(id, "eve")), ServerError)).code,
    "not_found",
  );
});

Deno.test("a session that has expired while no server ran ends, and its files are removed", async () => {
  await using folder = await TempFolder.of();
  await Deno.chmod(folder.path, 0o700);
  const open = () => StateDirectory.open(folder.path, { read: readFakeCheckpoint });
  {
    using directory = await open();
    await using sessions = service({ store: new HibernationStore({ directory }) });
    await sessions.create({ owner: "", ttlMs: 1000, signal });
  }
  await new Promise((resolve) => setTimeout(resolve, 1000));
  using directory = await open();
  const store = new HibernationStore({ directory });
  await using sessions = service({ store, saved: directory.sessions });
  await until(() => sessions.directory.list("").length === 0 && store.count() === 0);
  const names = await Array.fromAsync(Deno.readDir(folder.path), ({ name }) => name);
  assertEquals(names.toSorted(), ["checkpoint.key", "lock"]);
});
