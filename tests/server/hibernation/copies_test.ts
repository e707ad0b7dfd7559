import { assertEquals } from "@std/assert";
import { join } from "node:path";
import {
  HibernationStore,
  type HibernationStoreOptions,
} from "../../../src/server/hibernation/hibernation_store.ts";
import { StateDirectory } from "../../../src/server/hibernation/state_directory.ts";
import { BranchingFakePool, readFakeCheckpoint } from "../../fake_pool.ts";
import { TempFolder } from "../../temp_folder.ts";
import { count, service, signal, until, valueOf } from "./counting_sessions.ts";
import { checkpointOf, ID, namesOf, OTHER_ID, recordOf } from "./saved_states.ts";

async function withStore(
  test: (store: HibernationStore, directory: StateDirectory) => Promise<void>,
  options: HibernationStoreOptions = {},
): Promise<void> {
  await using folder = await TempFolder.of();
  using directory = await StateDirectory.open(join(folder.path, "state"), { read: readFakeCheckpoint });
  await test(new HibernationStore({ copyAfterMs: 1, ...options, directory }), directory);
}

async function statesIn(directory: StateDirectory): Promise<string[]> {
  return (await namesOf(directory)).filter((name) => name.endsWith(".checkpoint"));
}

/** Waits until the directory has so many states, whose records are written last. */
async function untilRecords(directory: StateDirectory, wanted: number): Promise<void> {
  for (;;) {
    const names = await namesOf(directory);
    if (names.filter((name) => name.endsWith(".session.json")).length === wanted) return;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** Returns a folder with what the directory has now, as a server that is killed leaves it. */
async function copyOf(directory: StateDirectory): Promise<TempFolder> {
  const folder = await TempFolder.of();
  await Deno.chmod(folder.path, 0o700);
  for (const name of await namesOf(directory)) {
    await Deno.copyFile(join(directory.path, name), join(folder.path, name));
  }
  return folder;
}

Deno.test("a session that hibernates in memory continues after the server was killed", async () => {
  await withStore(async (store, directory) => {
    await using sessions = service({ store });
    const session = await sessions.create({ owner: "", signal });
    await session.exec("5");
    assertEquals(await session.life.hibernate(), true);
    await untilRecords(directory, 1);
    await using folder = await copyOf(directory);
    using later = await StateDirectory.open(folder.path, { read: readFakeCheckpoint });
    await using others = service({
      store: new HibernationStore({ directory: later }),
      saved: later.sessions,
    });
    assertEquals(await valueOf(others.directory.find(session.id, "")), "6");
    assertEquals(await valueOf(session), "6");
    assertEquals([await statesIn(directory), store.bytes("directory"), store.bytes("memory")], [[], 0, 0]);
  });
});

Deno.test("a state in memory is not copied where that has no room, or for a session that ends with the server", async () => {
  await withStore(async (store, directory) => {
    await using sessions = service({ store, maxSessions: 3 });
    const passing = await sessions.create({ owner: "", endsWithServer: true, signal });
    const one = await sessions.create({ owner: "", signal });
    const two = await sessions.create({ owner: "", signal });
    for (const session of [passing, one, two]) assertEquals(await session.life.hibernate(), true);
    await untilRecords(directory, 1);
    assertEquals(await statesIn(directory), [`${one.id}.checkpoint`]);
    await one[Symbol.asyncDispose]();
    assertEquals([await valueOf(two), await valueOf(passing)], ["1", "1"]);
    assertEquals(store.bytes("directory"), 0);
  }, { directoryBytes: 6000 });
});

Deno.test("a state that has a copy leaves the memory without being written again", async () => {
  await withStore(async (store, directory) => {
    await using sessions = service({ store });
    const first = await sessions.create({ owner: "", signal });
    await first.exec("1");
    await first.life.hibernate();
    await untilRecords(directory, 1);
    const save = directory.save.bind(directory);
    const saved: string[] = [];
    directory.save = async (record, checkpoint) => {
      saved.push(record.id);
      await save(record, checkpoint);
    };
    const second = await sessions.create({ owner: "", signal });
    await second.life.hibernate(); // the memory has room for one
    await untilRecords(directory, 2);
    assertEquals([saved, store.bytes("memory") > 0], [[second.id], true]);
    assertEquals([await valueOf(first), await valueOf(second)], ["2", "1"]);
  }, { bytes: 5000 });
});

Deno.test("the error of a copy is reported once, and the session continues", async () => {
  const errors: unknown[] = [];
  await withStore(async (store, directory) => {
    let tries = 0;
    directory.save = () => {
      tries++;
      return Promise.reject(new Error("No space left on device"));
    };
    await using sessions = service({ store });
    const session = await sessions.create({ owner: "", signal });
    for (let at = 1; at < 4; at++) {
      assertEquals(await valueOf(session), String(at));
      await session.life.hibernate();
      await until(() => tries >= at);
    }
    assertEquals([errors.length, await valueOf(session)], [1, "4"]);
  }, { retryAfterMs: 100, onError: (error) => errors.push(error) });
});

Deno.test("copies of a fork that hibernate continue after the server was killed, with random numbers of their own", async () => {
  await withStore(async (store, directory) => {
    await using sessions = service({ store });
    const parent = await sessions.create({ owner: "", signal });
    await parent.exec("5");
    const copies = await sessions.fork(parent, 3, { seed: 7, signal });
    await copies[2]?.life.pause.begin({ memory: false });
    await untilRecords(directory, 3);
    const records = await Deno.readTextFile(join(directory.path, `${copies[2]?.id}.session.json`));
    assertEquals(records.includes('"hasMemory":false'), true, records);
    await using folder = await copyOf(directory);
    using later = await StateDirectory.open(folder.path, { read: readFakeCheckpoint });
    const pool = new BranchingFakePool(count);
    const store2 = new HibernationStore({ directory: later });
    await using others = service({ pool, store: store2, saved: later.sessions });
    const [first, second, third] = copies.map(({ id }) => others.directory.find(id, ""));
    if (!first || !second || !third) throw new Error("there are no copies");
    await third.life.pause.resume();
    assertEquals([await valueOf(second), await valueOf(first), await valueOf(third)], ["6", "6", "1"]);
    assertEquals(pool.restores.map(({ seed }) => seed), [9, 9, 8, 7, undefined]);
  });
});

Deno.test("copies of equal states are one file, which takes its room once until the last of the sessions has woken", async () => {
  await withStore(async (store, directory) => {
    await using sessions = service({ store, maxSessions: 3 });
    const equal = await Promise.all([1, 2, 3].map(() => sessions.create({ owner: "", signal })));
    for (const session of equal) await session.exec("5");
    await Promise.all(equal.map(({ life }) => life.hibernate()));
    await untilRecords(directory, 3);
    await until(() => store.bytes("directory") > 3 * 4096);
    const { storedBytes } = await checkpointOf(5);
    const linksOf = async (at: number) =>
      (await Deno.stat(join(directory.path, `${equal[at]?.id}.checkpoint`))).nlink;
    assertEquals([store.bytes("directory"), await linksOf(0)], [3 * 4096 + storedBytes, 3]);
    for (const session of equal.slice(0, 2)) assertEquals(await valueOf(session), "6");
    assertEquals([store.bytes("directory"), await linksOf(2)], [4096 + storedBytes, 1]);
    assertEquals(await valueOf(equal[2] ?? sessions.directory.find("", "")), "6");
    assertEquals([store.bytes("directory"), store.bytes("memory"), store.count()], [0, 0, 0]);
  });
});

Deno.test("a state is not kept in the file of an equal one that was changed, or cannot be restored", async () => {
  await withStore(async (_, directory) => {
    const checkpoint = await checkpointOf(5);
    const fileOf = (id: string) => join(directory.path, `${id}.checkpoint`);
    const idOf = (digit: string) => digit.repeat(32);
    await directory.save(recordOf(ID, checkpoint), checkpoint);
    await Deno.truncate(fileOf(ID), 3);
    await directory.save(recordOf(OTHER_ID, checkpoint), checkpoint);
    assertEquals((await directory.read(OTHER_ID, checkpoint.id, checkpoint.storedBytes)).id, checkpoint.id);
    directory.distrust(OTHER_ID);
    await directory.save(recordOf(idOf("c"), checkpoint), checkpoint);
    await directory.save(recordOf(idOf("d"), checkpoint), checkpoint);
    await directory.save(recordOf(idOf("e"), checkpoint, { owner: "eve" }), checkpoint);
    const links = [ID, OTHER_ID, idOf("c"), idOf("d"), idOf("e")].map(async (id) =>
      (await Deno.stat(fileOf(id))).nlink
    );
    assertEquals(await Promise.all(links), [1, 1, 2, 2, 1]);
    await Deno.remove(fileOf(idOf("c")));
    await directory.save(recordOf(idOf("f"), checkpoint), checkpoint);
    assertEquals((await Deno.stat(fileOf(idOf("d")))).nlink, 2, "another file of the state is found");
  });
});

Deno.test("a file of a session that could not wake takes its room when the server stops, if others have its memory", async () => {
  await withStore(async (store, directory) => {
    const [one, two] = [await checkpointOf(1), await checkpointOf(2)];
    const first = await store.put("ada", one, { describe: () => recordOf(ID, one) });
    await untilRecords(directory, 1);
    first.beginWake();
    assertEquals([store.bytes("memory"), store.bytes("directory")], [0, 0]);
    await using _second = await store.put("ada", two, {
      describe: () => recordOf(OTHER_ID, two),
      outlivesServer: false,
    });
    first.cancelWake();
    assertEquals(store.bytes("directory"), 0);
    await first.suspend();
    await first[Symbol.asyncDispose]();
    assertEquals(store.bytes("directory"), 4096 + one.storedBytes);
  }, { bytes: 5000 });
});
