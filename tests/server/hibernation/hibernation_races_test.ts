import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { CheckpointError } from "../../../src/errors.ts";
import type { SandboxAcquireOptions } from "../../../src/sandbox/contract/pool.ts";
import { HibernationStore } from "../../../src/server/hibernation/hibernation_store.ts";
import type { SessionRecord } from "../../../src/server/hibernation/session_record.ts";
import { StateDirectory } from "../../../src/server/hibernation/state_directory.ts";
import { ServerError } from "../../../src/server/http/http_errors.ts";
import { BranchingFakePool, ok, readFakeCheckpoint } from "../../fake_pool.ts";
import { TempFolder } from "../../temp_folder.ts";
import { count, service, signal, until, valueOf } from "./counting_sessions.ts";

/** A pool whose captures wait until the test lets them go on, or fail. */
class HeldPool extends BranchingFakePool {
  captures = 0;
  held: Promise<void> = Promise.resolve();

  override async acquire(options: SandboxAcquireOptions = {}) {
    const lease = await super.acquire(options);
    const { session } = lease;
    const checkpoint = session.checkpoint.bind(session);
    session.checkpoint = async (options) => {
      this.captures++;
      await this.held;
      return await checkpoint(options);
    };
    return lease;
  }
}

function openDirectory(folder: TempFolder): Promise<StateDirectory> {
  return StateDirectory.open(join(folder.path, "state"), { read: readFakeCheckpoint });
}

async function recordOf(directory: StateDirectory, id: string): Promise<SessionRecord> {
  const text = await Deno.readTextFile(join(directory.path, `${id}.session.json`));
  return JSON.parse(text.split("\n")[1] ?? "");
}

async function refuse(): Promise<void> {
  await Promise.reject(new CheckpointError("a thread runs", { code: "checkpoint_refused" }));
}

Deno.test("a session with pausesAtEnd does not end when a request comes while it pauses", async (t) => {
  const running = Promise.withResolvers<void>();
  const steps: Record<string, string> = { "a short one": "5", "a long one": "wait" };
  for (const [name, code] of Object.entries(steps)) {
    await t.step(name, async () => {
      const pool = new HeldPool(async (code, globals, options) => {
        if (code !== "wait") return await count(code, globals, options);
        await running.promise;
        return ok();
      });
      await using sessions = service({ pool });
      const session = await sessions.create({ owner: "", ttlMs: 5, pausesAtEnd: true, signal });
      const capture = Promise.withResolvers<void>();
      pool.held = capture.promise;
      await until(() => pool.captures === 1);
      const used = session.exec(code);
      if (code === "5") await used;
      capture.resolve();
      await new Promise((resolve) => setTimeout(resolve, 5));
      running.resolve();
      await used;
      await until(() => session.life.isPaused || session.ended);
      assertEquals(session.ended, false);
      await session.life.pause.resume();
      assertEquals(await valueOf(session), code === "5" ? "6" : "1");
    });
  }
});

Deno.test("LiveSession.pause() refuses a session that a request has woken meanwhile", async () => {
  const leaving = Promise.withResolvers<void>();
  class SlowPool extends BranchingFakePool {
    override async acquire(options: SandboxAcquireOptions = {}) {
      const lease = await super.acquire(options);
      return {
        session: lease.session,
        [Symbol.asyncDispose]: async () => {
          await leaving.promise;
          await lease[Symbol.asyncDispose]();
        },
      };
    }
  }
  const running = Promise.withResolvers<void>();
  const pool = new SlowPool(async (code, globals, options) => {
    if (code === "0") await running.promise;
    return await count(code, globals, options);
  });
  const store = new HibernationStore();
  await using sessions = service({ pool, store, maxSessions: 2 });
  const session = await sessions.create({ owner: "", signal });
  await session.exec("4");
  const paused = session.life.pause.begin();
  await until(() => store.count() === 1);
  const used = session.exec("0");
  await until(() => store.count() === 0);
  leaving.resolve();
  assertEquals((await assertRejects(() => paused, ServerError)).code, "conflict");
  running.resolve();
  await used;
  assertEquals([session.life.isPaused, await valueOf(session)], [false, "5"]);
});

Deno.test("a session whose state was refused while a request used it hibernates afterwards", async () => {
  const pool = new HeldPool(count);
  await using sessions = service({ pool });
  const session = await sessions.create({ owner: "", signal });
  const capture = Promise.withResolvers<void>();
  pool.held = capture.promise.then(refuse);
  const leaving = session.life.hibernate();
  await until(() => pool.captures === 1);
  await session.exec("3");
  capture.resolve();
  assertEquals([await leaving, session.life.canHibernate(0)], [false, true]);
  pool.held = Promise.resolve();
  assertEquals(await session.life.hibernate(), true);
});

Deno.test("a server that stops saves a session that was used while it began to hibernate", async () => {
  await using folder = await TempFolder.of();
  using directory = await openDirectory(folder);
  const pool = new HeldPool(count);
  await using sessions = service({ pool, store: new HibernationStore({ directory }) });
  const session = await sessions.create({ owner: "", signal });
  const capture = Promise.withResolvers<void>();
  pool.held = capture.promise;
  const leaving = session.life.hibernate();
  await until(() => pool.captures === 1);
  await session.exec("3");
  const suspended = sessions.suspend();
  capture.resolve();
  assertEquals([await leaving, (await suspended).saved], [false, 1]);
});

Deno.test("a server that stops refuses requests, and saves the session that they name", async () => {
  await using folder = await TempFolder.of();
  using directory = await openDirectory(folder);
  const pool = new HeldPool(count);
  await using sessions = service({ pool, store: new HibernationStore({ directory }) });
  const session = await sessions.create({ owner: "", signal });
  const capture = Promise.withResolvers<void>();
  pool.held = capture.promise;
  const suspended = sessions.suspend();
  await until(() => pool.captures === 1);
  assertEquals((await assertRejects(() => session.writeFile("a", "b"), ServerError)).code, "unavailable");
  capture.resolve();
  assertEquals((await suspended).saved, 1);
});

Deno.test("a server that stops saves a session that could not hibernate before", async () => {
  await using folder = await TempFolder.of();
  using directory = await openDirectory(folder);
  const pool = new HeldPool(count);
  await using sessions = service({ pool, store: new HibernationStore({ directory }) });
  const session = await sessions.create({ owner: "", signal });
  pool.held = refuse();
  pool.held.catch(() => {});
  assertEquals(await session.life.hibernate(), false);
  pool.held = Promise.resolve(); // the thread has ended
  assertEquals((await sessions.suspend()).saved, 1);
});

Deno.test("the record of a session in the directory states its pause and its end, as a server can be killed", async () => {
  await using folder = await TempFolder.of();
  using directory = await openDirectory(folder);
  await using sessions = service({ store: new HibernationStore({ bytes: 0, directory }) });
  const session = await sessions.create({ owner: "", ttlMs: 60_000, signal });
  await session.life.hibernate();
  assertEquals((await recordOf(directory, session.id)).expiresAt, session.life.expiresAt?.toISOString());
  session.life.endAfter(3_600_000);
  while ((await recordOf(directory, session.id)).expiresAt !== session.life.expiresAt?.toISOString());
  await session.life.pause.begin();
  while (!(await recordOf(directory, session.id)).isPaused);
  assertEquals((await recordOf(directory, session.id)).expiresAt, undefined);
});

Deno.test("the last use of a session stays the same in a later server", async () => {
  await using folder = await TempFolder.of();
  let [id, usedAt] = ["", 0];
  {
    using directory = await openDirectory(folder);
    await using sessions = service({ store: new HibernationStore({ directory }) });
    const session = await sessions.create({ owner: "", signal });
    await session.exec("1");
    [id, usedAt] = [session.id, session.life.usedAt.getTime()];
    assertEquals((await sessions.suspend()).saved, 1);
  }
  await new Promise((resolve) => setTimeout(resolve, 20));
  using directory = await openDirectory(folder);
  const store = new HibernationStore({ directory });
  await using sessions = service({ store, saved: directory.sessions });
  const { life } = sessions.directory.find(id, "");
  assertEquals(life.usedAt.getTime(), usedAt);
  assert(life.unusedMs >= 20);
});

Deno.test("a session whose end is further away than a timer can wait does not end at once", async () => {
  await using sessions = service();
  const session = await sessions.create({ owner: "", signal });
  session.life.endAt(new Date(Date.now() + 1e11)); // the clock of the host was wrong
  await new Promise((resolve) => setTimeout(resolve, 10));
  assertEquals(session.ended, false);
});

Deno.test("a request waits while an older state is in the directory, as a server can be killed", async () => {
  await using folder = await TempFolder.of();
  using directory = await openDirectory(folder);
  const [saving, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const save = directory.save.bind(directory);
  directory.save = async (record, checkpoint) => {
    await save(record, checkpoint);
    saving.resolve();
    await held.promise;
  };
  await using sessions = service({ store: new HibernationStore({ bytes: 0, directory }) });
  const session = await sessions.create({ owner: "", signal });
  const leaving = session.life.hibernate();
  await saving.promise;
  let isSeen = false;
  const used = valueOf(session).then(async (value) => {
    isSeen = true;
    await assertRejects(() => recordOf(directory, session.id), Deno.errors.NotFound);
    return value;
  });
  await new Promise((resolve) => setTimeout(resolve, 10));
  assertEquals(isSeen, false);
  held.resolve();
  assertEquals([await used, await leaving], ["1", false]);
});
