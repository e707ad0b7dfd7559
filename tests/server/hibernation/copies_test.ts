import { assertEquals } from "@std/assert";
import { join } from "node:path";
import {
  HibernationStore,
  type HibernationStoreOptions,
} from "../../../src/server/hibernation/hibernation_store.ts";
import { StateDirectory } from "../../../src/server/hibernation/state_directory.ts";
import { readFakeCheckpoint } from "../../fake_pool.ts";
import { TempFolder } from "../../temp_folder.ts";
import { service, signal, until, valueOf } from "./counting_sessions.ts";
import { namesOf } from "./saved_states.ts";

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

Deno.test("a session that hibernates in memory continues after the server was killed", async () => {
  await withStore(async (store, directory) => {
    await using sessions = service({ store });
    const session = await sessions.create({ owner: "", signal });
    await session.exec("5");
    assertEquals(await session.life.hibernate(), true);
    await untilRecords(directory, 1);
    await using folder = await TempFolder.of();
    await Deno.chmod(folder.path, 0o700);
    for (const name of await namesOf(directory)) {
      await Deno.copyFile(join(directory.path, name), join(folder.path, name));
    }
    using later = await StateDirectory.open(folder.path, { read: readFakeCheckpoint });
    await using others = service({
      store: new HibernationStore({ directory: later }),
      saved: later.sessions,
    });
    assertEquals(await valueOf(others.find(session.id, "")), "6");
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
      await until(() => tries === at);
    }
    assertEquals([errors.length, await valueOf(session)], [1, "4"]);
  }, { onError: (error) => errors.push(error) });
});
