import { assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import type { Checkpoint } from "../../../src/sandbox/contract/checkpoint.ts";
import { HibernationStore } from "../../../src/server/hibernation/hibernation_store.ts";
import type { SessionRecordParts } from "../../../src/server/hibernation/session_record.ts";
import { StateDirectory } from "../../../src/server/hibernation/state_directory.ts";
import { ServerError } from "../../../src/server/http/http_errors.ts";
import type { ServerEvent } from "../../../src/server/server_event.ts";
import type { LiveSession } from "../../../src/server/sessions/live_session.ts";
import { readFakeCheckpoint } from "../../fake_pool.ts";
import { TempFolder } from "../../temp_folder.ts";
import { service, signal, until, valueOf } from "./counting_sessions.ts";

const HOUR_MS = 3_600_000;

/** A state directory on a disk that takes no state of `fullAt` bytes or more. */
interface FailingDisk {
  readonly directory: StateDirectory;
  fullAt: number;
  /** Number of states that were written or refused. */
  attempts: number;
}

async function withDisk(work: (disk: FailingDisk) => Promise<void>): Promise<void> {
  await using folder = await TempFolder.of();
  using directory = await StateDirectory.open(join(folder.path, "state"), { read: readFakeCheckpoint });
  const disk: FailingDisk = { directory, fullAt: 0, attempts: 0 };
  const save = directory.save.bind(directory);
  directory.save = async (record, checkpoint) => {
    disk.attempts++;
    if (checkpoint.storedBytes >= disk.fullAt) {
      throw Object.assign(new Error("No space left on device"), { code: "ENOSPC" });
    }
    await save(record, checkpoint);
  };
  await work(disk);
}

/** Returns a checkpoint that takes at least so many bytes. */
async function checkpointOf(bytes: number): Promise<Checkpoint> {
  return await readFakeCheckpoint(new TextEncoder().encode(JSON.stringify([]) + " ".repeat(bytes)));
}

function describe(digit: string): () => SessionRecordParts {
  const time = new Date(0).toISOString();
  const parts = { owner: "", createdAt: time, usedAt: time, execs: 0, isPaused: false, pausesAtEnd: false };
  return () => ({ ...parts, format: 1, id: digit.repeat(32) });
}

Deno.test("sessions that the disk refused hibernate in memory when another one wakes", async () => {
  await withDisk(async ({ directory }) => {
    const store = new HibernationStore({ bytes: 6_000, directory, retryAfterMs: HOUR_MS });
    await using sessions = service({ store, maxSessions: 2, waitMs: 500 });
    const opened = [];
    for (let at = 0; at < 3; at++) {
      const session = await sessions.create({ owner: "", signal });
      await session.exec(String(at));
      opened.push(session);
    }
    await assertRejects(() => sessions.create({ owner: "", signal }), ServerError);
    assertEquals(opened.map(({ life }) => life.canHibernate(0)), [false, false, false]);

    const values = [];
    for (const session of opened) values.push(await valueOf(session));
    assertEquals(values, ["1", "2", "3"]);
  });
});

Deno.test("a session that the disk refused is asked again, and its disk may have room then", async () => {
  await withDisk(async (disk) => {
    const errors: unknown[] = [];
    const store = new HibernationStore({ bytes: 0, directory: disk.directory, retryAfterMs: 1 });
    await using sessions = service({ store, waitMs: 60_000, onError: (error) => errors.push(error) });
    const session = await sessions.create({ owner: "", signal });
    await session.exec("1");
    const created = sessions.create({ owner: "", signal });
    await until(() => disk.attempts > 2);
    disk.fullAt = Infinity;
    await (await created)[Symbol.asyncDispose]();
    assertEquals([await valueOf(session), errors.length], ["2", 1]);
  });
});

Deno.test("HibernationStore.hasRoom() is false for a while for states that the disk would refuse again", async () => {
  await withDisk(async (disk) => {
    disk.fullAt = 5_000;
    const { directory } = disk;
    const store = new HibernationStore({ bytes: 10_000, directory, retryAfterMs: HOUR_MS });
    const put = async (bytes: number, digit: string) =>
      await store.put("", await checkpointOf(bytes), { describe: describe(digit) });
    const has = (storedBytes: number) => store.hasRoom("", { id: "", storedBytes, clientBytes: 0 });
    assertEquals([4_000, 14_000, 20_000].map(has), [true, true, true]);
    await assertRejects(() => put(12_000, "a"), Error, "No space left");
    assertEquals([4_000, 14_000, 20_000].map(has), [true, false, false]);
    await using _first = await put(4_000, "b");
    await using _second = await put(4_001, "c"); // the first one moves to the disk
    assertEquals([store.bytes("directory") > 4_000, has(14_000), disk.attempts], [true, false, 2]);
    disk.fullAt = Infinity;
    await using _third = await put(20_000, "d");
    assertEquals(has(14_000), true, "the disk takes large states again");
  });
});

Deno.test("states that the directory has leave memory while the disk refuses older ones", async () => {
  await withDisk(async (disk) => {
    const { directory } = disk;
    disk.fullAt = 3_000;
    const store = new HibernationStore({ bytes: 16_000, directory, copyAfterMs: 0, retryAfterMs: HOUR_MS });
    await using _refused = await store.put("", await checkpointOf(3_000), { describe: describe("a") });
    await using _copied = await store.put("", await checkpointOf(2_000), { describe: describe("b") });
    await until(() => disk.attempts === 2 && store.bytes("directory") > 0);
    const before = store.bytes("memory");
    await using _next = await store.put("", await checkpointOf(3_001), { describe: describe("c") });
    assertEquals(store.bytes("memory") - before, 3_001 - 2_000);
    assertEquals(disk.attempts, 2, "the disk is not tried");
  });
});

Deno.test("a copy that the disk refused is made when the disk has room again", async () => {
  await withDisk(async (disk) => {
    const { directory } = disk;
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    const store = new HibernationStore({ directory, copyAfterMs: 0, retryAfterMs: 1, onError });
    await using _one = await store.put("", await checkpointOf(10), { describe: describe("a") });
    await using _other = await store.put("", await checkpointOf(20), { describe: describe("b") });
    await until(() => disk.attempts > 4);
    assertEquals([store.bytes("directory"), errors.length], [0, 1]);
    disk.fullAt = Infinity;
    await until(() => store.bytes("directory") === store.bytes("memory"));
  });
});

Deno.test("a server that stops reports the sessions that it has saved, lost, and not to save", async () => {
  await withDisk(async (disk) => {
    const kinds = new Map<string, ServerEvent["kind"]>();
    const onEvent = (event: ServerEvent) => {
      if ("session" in event) kinds.set(event.session, event.kind);
    };
    const kindOf = ({ id }: LiveSession) => kinds.get(id.slice(0, 8));
    const store = new HibernationStore({ bytes: 0, directory: disk.directory });
    await using sessions = service({ store, maxSessions: 3, onEvent });
    const [saved, lost] = [
      await sessions.create({ owner: "", signal }),
      await sessions.create({ owner: "", signal }),
    ];
    const unsaved = await sessions.create({ owner: "", endsWithServer: true, signal });
    disk.fullAt = Infinity;
    await saved.life.hibernate();
    disk.fullAt = 0;
    const report = await sessions.suspend();
    await sessions[Symbol.asyncDispose]();
    assertEquals([report.saved, report.lost], [1, 1]);
    assertEquals([saved, lost, unsaved].map(kindOf), ["session saved", "session ended", "session ended"]);
  });
});
