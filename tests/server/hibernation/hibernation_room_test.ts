import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import type { Checkpoint } from "../../../src/sandbox/contract/checkpoint.ts";
import type { SandboxAcquireOptions } from "../../../src/sandbox/contract/pool.ts";
import { HibernationStore } from "../../../src/server/hibernation/hibernation_store.ts";
import type { SessionRecordParts } from "../../../src/server/hibernation/session_record.ts";
import { StateDirectory } from "../../../src/server/hibernation/state_directory.ts";
import { ServerError } from "../../../src/server/http/http_errors.ts";
import { Metrics } from "../../../src/server/metrics.ts";
import { BranchingFakePool, readFakeCheckpoint } from "../../fake_pool.ts";
import { TempFolder } from "../../temp_folder.ts";
import { count, service, signal, until, valueOf } from "./counting_sessions.ts";
import { formatSuspendReport } from "../../../src/server/hibernation/suspend_report.ts";

/** Returns a checkpoint that takes at least so many bytes. */
async function checkpointOf(bytes: number): Promise<Checkpoint> {
  return await readFakeCheckpoint(new TextEncoder().encode(JSON.stringify([]) + " ".repeat(bytes)));
}

const time = new Date(0).toISOString();

function describe(digit: string): () => SessionRecordParts {
  const id = digit.repeat(32);
  return () => ({
    format: 1,
    id,
    owner: "",
    createdAt: time,
    usedAt: time,
    execs: 0,
    isPaused: false,
    pausesAtEnd: false,
  });
}

async function namesIn(path: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(path), ({ name }) => name)).toSorted();
}

async function withDirectory(
  work: (directory: StateDirectory) => Promise<void>,
): Promise<void> {
  await using folder = await TempFolder.of();
  using directory = await StateDirectory.open(join(folder.path, "state"), { read: readFakeCheckpoint });
  await work(directory);
}

Deno.test("sessions wake when as many hibernate as can", async () => {
  const store = new HibernationStore({ count: 1 });
  await using sessions = service({ store, waitMs: 2000 });
  const one = await sessions.create({ owner: "", signal });
  await one.exec("1");
  const two = await sessions.create({ owner: "", signal });
  await two.exec("5");
  assertEquals([store.count(), await valueOf(one), await valueOf(two)], [1, "2", "6"]);
});

Deno.test("several sessions wake at once when their store is full", async () => {
  const store = new HibernationStore({ count: 2 });
  await using sessions = service({ store, maxSessions: 2, waitMs: 5000 });
  const opened = [];
  for (let at = 0; at < 4; at++) {
    const session = await sessions.create({ owner: "", signal });
    await session.exec(String(at));
    opened.push(session);
  }
  const [asleep, awake] = [opened.slice(0, 2), opened.slice(2)];
  assertEquals(await Promise.all(asleep.map((session) => valueOf(session))), ["1", "2"]);
  assertEquals(await Promise.all(awake.map((session) => valueOf(session))), ["3", "4"]);
  assertEquals(await Promise.all(asleep.map((session) => valueOf(session))), ["2", "3"]);
});

Deno.test("a state that never fits in memory moves no other one to the directory", async () => {
  await withDirectory(async (directory) => {
    const store = new HibernationStore({ bytes: 20_000, directory });
    await using _small = await store.put("", await checkpointOf(10), { describe: describe("a") });
    await using _large = await store.put("", await checkpointOf(30_000), { describe: describe("b") });
    assertEquals(
      (await namesIn(directory.path)).filter((name) => name.endsWith(".checkpoint")),
      [`${"b".repeat(32)}.checkpoint`],
    );
  });
});

Deno.test("a state goes to the directory when an older one has no room there", async () => {
  await withDirectory(async (directory) => {
    const store = new HibernationStore({ bytes: 40_000, directory, directoryBytes: 20_000 });
    await using _older = await store.put("", await checkpointOf(30_000), { describe: describe("a") });
    await using _newer = await store.put("", await checkpointOf(10_000), { describe: describe("b") });
    assertEquals([store.bytes("memory"), store.bytes("directory")].map((bytes) => bytes > 0), [true, true]);
  });
});

/** A pool that counts the checkpoints of its sessions. */
class CapturingPool extends BranchingFakePool {
  captures = 0;

  override async acquire(options: SandboxAcquireOptions = {}) {
    const lease = await super.acquire(options);
    const { session } = lease;
    const checkpoint = session.checkpoint.bind(session);
    session.checkpoint = () => {
      this.captures++;
      return checkpoint();
    };
    return lease;
  }
}

Deno.test("a session that the disk does not take is tried once, however long a request waits", async () => {
  await withDirectory(async (directory) => {
    directory.save = () => Promise.reject(new Deno.errors.NotCapable("the disk fails"));
    const store = new HibernationStore({ bytes: 0, directory });
    const pool = new CapturingPool(count);
    await using sessions = service({ pool, store, waitMs: 200 });
    const session = await sessions.create({ owner: "", signal });
    await session.exec("1");
    await assertRejects(() => sessions.create({ owner: "", signal }), ServerError);
    assertEquals([pool.captures, session.ended, await valueOf(session)], [1, false, "2"]);
  });
});

Deno.test("a session does not wake while its files cannot be removed, as a later server would return to them", async () => {
  await withDirectory(async (directory) => {
    const store = new HibernationStore({ bytes: 0, directory });
    const pool = new BranchingFakePool(count);
    await using sessions = service({ pool, store });
    const session = await sessions.create({ owner: "", signal });
    await session.exec("1");
    assertEquals(await session.life.hibernate(), true);
    const remove = directory.remove.bind(directory);
    directory.remove = () => Promise.reject(new Deno.errors.PermissionDenied("read-only"));
    assertEquals((await assertRejects(() => session.exec("1"), ServerError)).code, "internal");
    assertEquals([pool.alive, store.count()], [0, 1]);
    directory.remove = remove;
    assertEquals(await valueOf(session), "2");
    assertEquals([store.count(), store.bytes("directory")], [0, 0]);
  });
});

Deno.test("a session that ends takes its room in the directory until its files can be removed", async () => {
  await withDirectory(async (directory) => {
    using other = await StateDirectory.open(`${directory.path}-2`, { read: readFakeCheckpoint });
    const store = new HibernationStore({ bytes: 0, directory: other });
    const errors: unknown[] = [];
    await using sessions = service({ store, onError: (error) => errors.push(error) });
    const session = await sessions.create({ owner: "", signal });
    assertEquals(await session.life.hibernate(), true);
    const bytes = store.bytes("directory");
    other.remove = () => Promise.reject(new Deno.errors.PermissionDenied("read-only"));
    await session[Symbol.asyncDispose]();
    assertEquals([errors.length, store.count(), store.bytes("directory"), store.bytes("directory", "")], [
      1,
      0,
      bytes,
      0,
    ]);
    await other.removeEnded();
    assertEquals(store.bytes("directory"), 0);
    assertEquals(await namesIn(other.path), ["checkpoint.key", "lock"]);
  });
});

Deno.test("a session that the directory has stays there when its record cannot be written again", async () => {
  await withDirectory(async (directory) => {
    const store = new HibernationStore({ bytes: 0, directory });
    await using sessions = service({ store });
    const session = await sessions.create({ owner: "", signal });
    assertEquals(await session.life.hibernate(), true);
    directory.saveRecord = () => Promise.reject(new Error("no space left"));
    assertEquals(await sessions.suspend(), { saved: 1, kept: 0, lost: 0, reasons: [] });
    assertEquals(
      await namesIn(directory.path),
      [
        `${session.id}.checkpoint`,
        `${session.id}.session.json`,
        "checkpoint.key",
        "lock",
      ].toSorted(),
    );
  });
});

Deno.test("a session that ends while the interpreter of its wake starts is not counted as awake", async () => {
  const restoring = Promise.withResolvers<void>();
  let restores = 0;
  class SlowPool extends BranchingFakePool {
    override async acquire(options: SandboxAcquireOptions = {}) {
      const lease = await super.acquire(options);
      const { session } = lease;
      const restore = session.restore.bind(session);
      session.restore = async (checkpoint, options) => {
        restores++;
        await restoring.promise;
        await restore(checkpoint, options);
      };
      return lease;
    }
  }
  const pool = new SlowPool(count);
  const store = new HibernationStore();
  const metrics = new Metrics();
  await using sessions = service({ pool, store, metrics });
  const session = await sessions.create({ owner: "", signal });
  await session.life.hibernate();
  const woken = session.exec("1").catch(() => undefined);
  await until(() => restores === 1);
  const ended = session[Symbol.asyncDispose]();
  restoring.resolve();
  await Promise.all([woken, ended]);
  assertStringIncludes(metrics.format(), "\npaddock_sessions 0\n");
  assertEquals([pool.alive, store.count()], [0, 0]);
});

Deno.test("a server that stops reports why sessions cannot be saved as one reason when the disk is full", async () => {
  await withDirectory(async (directory) => {
    const full = () => Object.assign(new Error("No space left on device"), { code: "ENOSPC" });
    directory.save = () => Promise.reject(full());
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    const store = new HibernationStore({ directory });
    await using sessions = service({ store, onError, maxSessions: 4 });
    for (let at = 0; at < 3; at++) await sessions.create({ owner: "", signal });
    const reasons = [{ count: 3, message: "No space left on device" }];
    assertEquals(await sessions.suspend(), { saved: 0, kept: 0, lost: 3, reasons });
    assertEquals(errors, [], "the report has them");
  });
});

Deno.test("a server that stops saves no more than its directory has room for", async () => {
  await withDirectory(async (directory) => {
    const store = new HibernationStore({ directory, directoryBytes: 5000 });
    await using sessions = service({ store, maxSessions: 12 }); // four are saved at once
    for (let at = 0; at < 12; at++) await sessions.create({ owner: "", signal });
    const { saved, lost, reasons } = await sessions.suspend();
    assertEquals([saved, lost, reasons.map(({ count }) => count)], [1, 11, [11]]);
    assertStringIncludes(reasons[0]?.message ?? "", "larger state disk");
    assertEquals((await namesIn(directory.path)).filter((name) => name.endsWith(".checkpoint")).length, 1);
  });
});

Deno.test("a state that was saved for a later server takes its room after its session has ended", async () => {
  await withDirectory(async (directory) => {
    const store = new HibernationStore({ directory, directoryBytes: 5000 });
    const first = await store.put("", await checkpointOf(10), { describe: describe("a") });
    await first.suspend();
    await first[Symbol.asyncDispose]();
    assertEquals(store.bytes("directory") > 4096, true);
    await using second = await store.put("", await checkpointOf(10), { describe: describe("b") });
    assertEquals((await assertRejects(() => second.suspend(), ServerError)).code, "busy");
  });
});

Deno.test("formatSuspendReport() tells what was saved, what stays and what is lost with the reasons", () => {
  const none = { saved: 2, kept: 0, lost: 0, reasons: [] };
  assertEquals(formatSuspendReport(none, "D"), "Saved 2 sessions in D");
  assertEquals(
    formatSuspendReport(
      { ...none, saved: 1, kept: 3, lost: 1, reasons: [{ count: 1, message: "no space" }] },
      "D",
    ),
    "Saved 1 session in D, beside 3 sessions that this server could not continue; " +
      "lost 1 session that could not be saved (no space)",
  );
  const reasons = [{ count: 2, message: "no space" }, { count: 1, message: "a thread" }];
  assertStringIncludes(formatSuspendReport({ ...none, lost: 3, reasons }, "D"), "(2: no space; 1: a thread)");
});

Deno.test("HibernationStore.adopt() takes sessions of the directory above a limit, which leaves no room for others", async () => {
  await withDirectory(async (directory) => {
    const checkpoint = await checkpointOf(3000);
    const record = { ...describe("a")(), checkpoint: checkpoint.id };
    await directory.save(record, checkpoint);
    const store = new HibernationStore({ bytes: 0, directory, directoryBytes: 5000, count: 1 });
    const saved = { record, bytes: checkpoint.storedBytes };
    await using state = store.adopt(saved, describe("a"));
    await using second = store.adopt({ ...saved, record: { ...record, id: "b".repeat(32) } }, describe("b"));
    const hasRoom = store.hasRoom("", { id: "other", storedBytes: 1, clientBytes: 0 });
    assertEquals([store.count(), store.bytes("directory") > 5000, hasRoom], [2, true, false]);
    assertEquals((await state.read()).id, checkpoint.id);
    await second[Symbol.asyncDispose]();
    await state[Symbol.asyncDispose]();
    assertEquals([store.count(), store.bytes("directory")], [0, 0]);
  });
});

Deno.test("a session that hibernates takes memory for its client's tools, also when its state is in the directory", async () => {
  await withDirectory(async (directory) => {
    const properties = Object.fromEntries(Array.from({ length: 4000 }, (_, at) => [`p${at}`, {}]));
    const tools = [{ name: "search", description: "", parameters: { type: "object", properties } }];
    const withTools = (digit: string) => () => ({ ...describe(digit)(), tools });
    const store = new HibernationStore({ bytes: 3_000_000, directory });
    const state = await store.put("", await checkpointOf(2_500_000), { describe: withTools("a") });
    assertEquals([store.bytes("memory") > 1_000_000, store.bytes("directory") > 2_500_000], [true, true]);
    await using _second = await store.put("", await checkpointOf(10), { describe: withTools("b") });
    await assertRejects(
      async () => await store.put("", await checkpointOf(10), { describe: withTools("c") }),
      ServerError,
    );
    await state[Symbol.asyncDispose]();
    await using _third = await store.put("", await checkpointOf(10), { describe: withTools("c") });
  });
});

Deno.test("states that are kept at the same time all find room when older ones can move to the directory", async () => {
  await withDirectory(async (directory) => {
    const store = new HibernationStore({ bytes: 40_000, directory });
    const states = await Promise.all(
      ["a", "b", "c", "d"].map(async (digit, at) =>
        await store.put("", await checkpointOf(20_000 + at), { describe: describe(digit) })
      ),
    );
    for (const [at, state] of states.entries()) {
      assertEquals((await state.read()).storedBytes, 20_002 + at);
      await state[Symbol.asyncDispose]();
    }
  });
});
