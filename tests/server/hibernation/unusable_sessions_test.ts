import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { join } from "node:path";
import { CheckpointError } from "../../../src/errors.ts";
import type { BranchingLease } from "../../../src/sandbox/contract/pool.ts";
import { HibernationStore } from "../../../src/server/hibernation/hibernation_store.ts";
import { StateDirectory } from "../../../src/server/hibernation/state_directory.ts";
import { ServerError } from "../../../src/server/http/http_errors.ts";
import { BranchingFakePool, readFakeCheckpoint } from "../../fake_pool.ts";
import { TempFolder } from "../../temp_folder.ts";
import { type Served, served } from "../served.ts";
import { count, service, signal, until, valueOf } from "./counting_sessions.ts";
import { checkpointOf, HOUR_MS, ID, namesOf, recordOf, timeIn } from "./saved_states.ts";

const OTHER_PROFILE = new CheckpointError("its session had another profile", {
  code: "checkpoint_other_profile",
});

/** A pool with another base image than that of the states. */
class OtherPool extends BranchingFakePool {
  leases = 0;

  override async acquire(options = {}): Promise<BranchingLease> {
    this.leases++;
    const lease = await super.acquire(options);
    lease.session.restore = () =>
      Promise.reject(new CheckpointError("another base image", { code: "checkpoint_other_image" }));
    return lease;
  }
}

async function openDirectory(folder: TempFolder): Promise<StateDirectory> {
  return await StateDirectory.open(join(folder.path, "state"), { read: readFakeCheckpoint });
}

/** Returns a server whose directory has sessions that it cannot continue. */
function unable(directory: StateDirectory, pool = new BranchingFakePool(count)): Served {
  const saved = directory.sessions.map((session) => ({ ...session, unusable: OTHER_PROFILE }));
  const store = new HibernationStore({ directory });
  return served({ pool, hibernation: { store, saved, afterMs: HOUR_MS }, maxSessions: 2 });
}

/** Saves a session whose counter is 5, and one of E2B, and returns their ids. */
async function saveSessions(
  folder: TempFolder,
  e2b: object = {},
): Promise<{ id: string; sandboxId: string }> {
  using directory = await openDirectory(folder);
  const pool = new BranchingFakePool(count);
  const hibernation = { store: new HibernationStore({ directory }), afterMs: HOUR_MS };
  await using server = served({ pool, hibernation, maxSessions: 2 });
  const { body: { id } } = await server.send("POST", "/v1/sessions", { metadata: { run: "1" } });
  await server.send("POST", `/v1/sessions/${id}/exec`, { code: "5" });
  const { body: { sandboxID } } = await server.send("POST", "/v2/sandboxes", { timeout: 600, ...e2b });
  assertEquals((await server.sessions.suspend()).saved, 2);
  return { id, sandboxId: sandboxID };
}

async function contentsOf(directory: StateDirectory): Promise<string[]> {
  const names = await namesOf(directory);
  return await Promise.all(names.map((name) => Deno.readTextFile(join(directory.path, name))));
}

Deno.test("a session that the server cannot continue stays in the directory, and its requests get the reason", async () => {
  await using folder = await TempFolder.of();
  const { id } = await saveSessions(folder);
  {
    using directory = await openDirectory(folder);
    const before = await contentsOf(directory);
    const server = unable(directory);
    const { life } = server.sessions.directory.find(id, "");
    const { usedAt } = life;
    const requests: [string, string, object?][] = [
      ["POST", `/v1/sessions/${id}/exec`, { code: "1" }],
      ["POST", `/v1/sessions/${id}/shell`, { command: "ls" }],
      ["POST", `/v1/sessions/${id}/reset`, {}],
      ["POST", `/v1/sessions/${id}/fork`, {}],
      ["POST", `/v1/sessions/${id}/checkpoint`],
      ["GET", `/v1/sessions/${id}/files`],
    ];
    for (const [method, path, body] of requests) {
      const { status, body: { error } } = await server.send(method, path, body);
      assertEquals([path, status, error?.reason], [path, 409, "checkpoint_other_profile"]);
      assertStringIncludes(error.message, "keeps its state until the session ends");
    }
    const { body: streamed } = await server.send("POST", `/v1/sessions/${id}/stream`, { code: "1" });
    assertStringIncludes(streamed, '"reason":"checkpoint_other_profile"');
    const { body } = await server.send("GET", `/v1/sessions/${id}`);
    assertEquals([body.unusable, body.metadata], ["checkpoint_other_profile", { run: "1" }]);
    const { body: { sessions } } = await server.send("GET", "/v1/sessions?metadata=run%3D1");
    assertEquals(sessions.map(({ unusable }: { unusable?: string }) => unusable), [
      "checkpoint_other_profile",
    ]);
    assertEquals([server.pool.ran, life.usedAt], [[], usedAt], "it does not live longer");
    assertEquals(await server.sessions.suspend(), { saved: 0, kept: 2, lost: 0, reasons: [] });
    await server[Symbol.asyncDispose]();
    assertEquals(await contentsOf(directory), before);
  }
  using directory = await openDirectory(folder);
  const store = new HibernationStore({ directory });
  await using sessions = service({ store, saved: directory.sessions });
  assertEquals(await valueOf(sessions.directory.find(id, "")), "6");
});

Deno.test("a session that the server cannot continue takes room, and its owner deletes it", async () => {
  await using folder = await TempFolder.of();
  const { id, sandboxId } = await saveSessions(folder);
  using directory = await openDirectory(folder);
  const saved = directory.sessions.map((session) => ({ ...session, unusable: OTHER_PROFILE }));
  const store = new HibernationStore({ directory });
  await using server = served({
    pool: new BranchingFakePool(count),
    hibernation: { store, saved, afterMs: HOUR_MS },
  });
  assertEquals([store.count(), store.bytes("directory") > 0], [2, true]);
  assertEquals((await server.send("DELETE", `/v1/sessions/${id}`)).status, 204);
  assertEquals((await server.send("GET", `/v1/sessions/${id}`)).status, 404);
  assertEquals((await server.send("DELETE", `/sandboxes/${sandboxId}`)).status, 204);
  assertEquals([store.count(), store.bytes("directory")], [0, 0]);
  assertEquals(await namesOf(directory), ["checkpoint.key", "lock"]);
});

Deno.test("requests to a sandbox that the server cannot continue change neither its pause nor its end", async () => {
  for (const isPaused of [false, true]) {
    await using folder = await TempFolder.of();
    const { sandboxId } = await saveSessions(folder, { autoPause: isPaused, autoResume: { enabled: true } });
    const session = Uint8Array.fromHex(sandboxId).toBase64({ alphabet: "base64url" });
    if (isPaused) await pauseSaved(folder, session);
    using directory = await openDirectory(folder);
    const before = await contentsOf(directory);
    await using server = unable(directory);
    const { life } = server.sessions.directory.find(session, "");
    const endBefore = life.expiresAt?.getTime();
    for (const path of ["connect", "resume", "timeout", "refreshes", "fork"]) {
      const { status } = await server.send("POST", `/sandboxes/${sandboxId}/${path}`, {
        timeout: 1,
        duration: 900,
      });
      assertEquals([path, status], [path, 409]);
    }
    assertEquals((await server.send("POST", `/sandboxes/${sandboxId}/pause`)).status, isPaused ? 409 : 503);
    await server.send("POST", "/execute", { code: "1" }, { "e2b-sandbox-id": sandboxId });
    assertEquals([life.isPaused, life.expiresAt?.getTime(), server.pool.ran], [isPaused, endBefore, []]);
    assertEquals(await contentsOf(directory), before);
  }
});

/** Saves a session as one that is paused. */
async function pauseSaved(folder: TempFolder, id: string): Promise<void> {
  using directory = await openDirectory(folder);
  const saved = directory.sessions.find(({ record }) => record.id === id);
  if (saved) await directory.saveRecord({ ...saved.record, isPaused: true, expiresAt: undefined });
}

Deno.test("a session that cannot be restored when it wakes stays in the directory for a later server", async () => {
  await using folder = await TempFolder.of();
  const { id } = await saveSessions(folder);
  {
    using directory = await openDirectory(folder);
    const before = await contentsOf(directory);
    const pool = new OtherPool(count);
    const store = new HibernationStore({ directory });
    await using sessions = service({ pool, store, saved: directory.sessions });
    const session = sessions.directory.find(id, "");
    for (let at = 0; at < 2; at++) {
      const error = await assertRejects(() => session.exec("1"), ServerError);
      assertEquals([error.code, error.reason], ["conflict", "checkpoint_other_image"]);
    }
    assertEquals([pool.leases, pool.alive, store.count()], [1, 0, 2]);
    assertEquals((await sessions.suspend()).kept, 1);
    assertEquals(await contentsOf(directory), before);
  }
  using directory = await openDirectory(folder);
  await using sessions = service({
    store: new HibernationStore({ directory }),
    saved: directory.sessions,
  });
  assertEquals(await valueOf(sessions.directory.find(id, "")), "6");
});

Deno.test("a session in memory that cannot be restored is saved when the server stops, and others are not", async () => {
  await using folder = await TempFolder.of();
  using directory = await openDirectory(folder);
  const store = new HibernationStore({ directory });
  const sessions = service({ pool: new OtherPool(count), store, maxSessions: 2 });
  const session = await sessions.create({ owner: "", signal });
  const passing = await sessions.create({ owner: "", endsWithServer: true, signal });
  for (const each of [session, passing]) {
    assertEquals(await each.life.hibernate(), true);
    await assertRejects(() => each.exec("1"), ServerError);
  }
  assertEquals([session.ended, passing.ended], [false, true], "no later server continues the second one");
  await sessions[Symbol.asyncDispose]();
  assertEquals((await namesOf(directory)).includes(`${session.id}.checkpoint`), true);
});

Deno.test("a session that the server cannot continue ends at its time, and its files are removed", async () => {
  const lives = [
    { expiresAt: timeIn(200) },
    { usedAt: timeIn(-25 * HOUR_MS), idleMs: 600_000 },
    { usedAt: timeIn(-25 * HOUR_MS), isPaused: true },
    { expiresAt: timeIn(-25 * HOUR_MS), pausesAtEnd: true },
  ];
  for (const life of lives) {
    await using folder = await TempFolder.of();
    {
      using directory = await openDirectory(folder);
      const checkpoint = await checkpointOf(1);
      await directory.save(recordOf(ID, checkpoint, life), checkpoint);
    }
    using directory = await openDirectory(folder);
    const saved = directory.sessions.map((session) => ({ ...session, unusable: OTHER_PROFILE }));
    const store = new HibernationStore({ directory });
    await using sessions = service({ store, saved });
    await until(() => store.count() === 0 && sessions.directory.list("ada").length === 0);
    assertEquals(await namesOf(directory), ["checkpoint.key", "lock"]);
  }
});

Deno.test("a paused session ends a day after its pause, and one that pauses at its end a day after that", async () => {
  for (
    const life of [
      { isPaused: true, usedAt: timeIn(-23 * HOUR_MS) },
      { expiresAt: timeIn(-23 * HOUR_MS), pausesAtEnd: true, usedAt: timeIn(-40 * HOUR_MS) },
    ]
  ) {
    await using folder = await TempFolder.of();
    {
      using directory = await openDirectory(folder);
      const checkpoint = await checkpointOf(1);
      await directory.save(recordOf(ID, checkpoint, life), checkpoint);
    }
    using directory = await openDirectory(folder);
    await using sessions = service({ store: new HibernationStore({ directory }), saved: directory.sessions });
    const session = sessions.directory.find(ID, "ada");
    assertEquals([session.life.isPaused, session.life.expiresAt], [true, undefined]);
    assertEquals(Math.round(session.life.unusedMs / HOUR_MS), 23);
    await session.life.pause.resume();
    assertEquals(await valueOf(session), "2");
    await session.life.pause.begin();
    assertEquals(Math.round(session.life.unusedMs / HOUR_MS), 0);
  }
});

Deno.test("requests for a session whose record cannot be read get the reason, from every owner", async () => {
  await using folder = await TempFolder.of();
  const { id, sandboxId } = await saveSessions(folder);
  const record = join(folder.path, "state", `${id}.session.json`);
  await Deno.writeTextFile(record, "changed");
  const sandboxRecord = join(
    folder.path,
    "state",
    `${Uint8Array.fromHex(sandboxId).toBase64({ alphabet: "base64url" })}.session.json`,
  );
  await Deno.writeTextFile(sandboxRecord, "changed");
  using directory = await openDirectory(folder);
  const { sessions: saved, unreadable } = directory;
  const store = new HibernationStore({ directory });
  await using server = served({
    pool: new BranchingFakePool(count),
    hibernation: { store, saved, unreadable, afterMs: HOUR_MS },
  });
  for (const [method, path] of [["POST", "/exec"], ["GET", ""], ["DELETE", ""]] as const) {
    const { status, body } = await server.send(
      method,
      `/v1/sessions/${id}${path}`,
      path ? { code: "1" } : undefined,
    );
    assertEquals([status, body.error.reason], [422, "checkpoint_damaged"]);
  }
  assertEquals((await server.send("GET", `/sandboxes/${sandboxId}`)).status, 400);
  assertThrows(() => server.sessions.directory.find(id, "eve"), ServerError, "record was changed");
  assertEquals(await Deno.readTextFile(record), "changed");
  assertEquals(store.bytes("directory"), directory.unused.bytes + 2 * 4096);
});
