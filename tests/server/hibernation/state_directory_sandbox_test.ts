import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { CheckpointError, SandboxError } from "../../../src/errors.ts";
import { readHostKey } from "../../../src/sandbox/checkpoint/host_key.ts";
import { sealRecord } from "../../../src/server/hibernation/saved_sessions.ts";
import { StateDirectory } from "../../../src/server/hibernation/state_directory.ts";
import { readFakeCheckpoint } from "../../fake_pool.ts";
import { TempFolder } from "../../temp_folder.ts";
import { checkpointOf, ID, idsOf, namesOf, OTHER_ID, recordOf, reopenAfter } from "./saved_states.ts";

Deno.test("StateDirectory.open() finds what was saved", async () => {
  await reopenAfter(async () => {}, async (directory, warnings) => {
    assertEquals([idsOf(directory), warnings], [[ID, OTHER_ID], []]);
    const [{ record, bytes } = { record: undefined, bytes: 0 }] = directory.sessions;
    assertEquals(bytes, (await checkpointOf(1)).storedBytes);
    assertEquals((await directory.read(ID, record?.checkpoint ?? "", bytes)).id, (await checkpointOf(1)).id);
  });
});

Deno.test("StateDirectory.open() does not use records that were changed, swapped or written with another key", async (t) => {
  const record = (folder: string, id = ID) => join(folder, `${id}.session.json`);
  const edit = (from: string, to: string) => async (folder: string) => {
    const text = await Deno.readTextFile(record(folder));
    await Deno.writeTextFile(record(folder), text.replace(from, to));
  };
  const changes: Record<string, (folder: string) => Promise<unknown>> = {
    "another owner": edit('"owner":"ada"', '"owner":"eve"'),
    "another MAC": async (folder) => {
      const text = await Deno.readTextFile(record(folder));
      await Deno.writeTextFile(record(folder), `${"0".repeat(64)}${text.slice(64)}`);
    },
    "a record in the place of another": (folder) => Deno.copyFile(record(folder, OTHER_ID), record(folder)),
    "half of it": async (folder) => await Deno.truncate(record(folder), 100),
    "nothing": (folder) => Deno.writeTextFile(record(folder), ""),
    "two megabytes": (folder) => Deno.writeTextFile(record(folder), "x".repeat(2 ** 21)),
    "a link": async (folder) => {
      await Deno.remove(record(folder));
      await Deno.symlink(record(folder, OTHER_ID), record(folder));
    },
    "a folder": async (folder) => {
      await Deno.remove(record(folder));
      await Deno.mkdir(record(folder));
    },
  };
  for (const [name, change] of Object.entries(changes)) {
    await t.step(name, async () => {
      await reopenAfter(change, async (directory, warnings) => {
        assertEquals(idsOf(directory), [OTHER_ID]);
        assertEquals(directory.unreadable.get(ID)?.code, "checkpoint_damaged");
        assertEquals(warnings.length, 1);
        const text = `This server cannot read 1 session of '${directory.path}' ('${ID}.session.json': `;
        assertStringIncludes(warnings.join(), text);
        assertEquals(
          (await namesOf(directory)).filter((name) => name.startsWith(ID)).length,
          2,
          "its files stay",
        );
        assertEquals(directory.unused, { count: 1, bytes: (await checkpointOf(1)).storedBytes });
      });
    });
  }
  await t.step("another key", async () => {
    await reopenAfter(
      (folder) => Deno.writeFile(join(folder, "checkpoint.key"), new Uint8Array(32)),
      (directory, warnings) => {
        assertEquals([idsOf(directory), directory.unreadable.size, warnings.length], [[], 2, 1]);
        assertStringIncludes(warnings.join(), "the key of its folder was replaced");
      },
    );
  });
});

Deno.test("StateDirectory.open() keeps a record of another version of Paddock, and says so", async () => {
  const record = (folder: string) => join(folder, `${ID}.session.json`);
  const key = async (folder: string) => await readHostKey(folder);
  for (const change of [{ format: 2 }, { unknownPart: 1 }]) {
    await reopenAfter(async (folder) => {
      const [, json = ""] = (await Deno.readTextFile(record(folder))).split("\n");
      await Deno.writeFile(
        record(folder),
        await sealRecord({ ...JSON.parse(json), ...change }, await key(folder)),
      );
    }, (directory, warnings) => {
      assertEquals([idsOf(directory), directory.unreadable.get(ID)?.code], [
        [OTHER_ID],
        "checkpoint_other_format",
      ]);
      assertStringIncludes(warnings.join(), "another version of Paddock wrote the record");
    });
  }
});

Deno.test("StateDirectory.open() reads records without the name of a profile, and names that of the server", async () => {
  await using folder = await TempFolder.of();
  const path = join(folder.path, "state");
  const one = await checkpointOf(1);
  for (const profile of [undefined, "serve"]) {
    using directory = await StateDirectory.open(path, { profile, read: readFakeCheckpoint });
    await directory.save(recordOf(ID, one), one);
  }
  using directory = await StateDirectory.open(path, { read: readFakeCheckpoint });
  assertEquals(directory.sessions.map(({ record }) => record.profile), ["serve"]);
});

Deno.test("StateDirectory.read() refuses the checkpoint of another session, and one that is missing", async (t) => {
  const state = (folder: string, id = ID) => join(folder, `${id}.checkpoint`);
  await t.step("swapped", async () => {
    await reopenAfter(
      (folder) => Deno.copyFile(state(folder, OTHER_ID), state(folder)),
      async (directory) => {
        const { id, storedBytes } = await checkpointOf(1);
        const error = await assertRejects(() => directory.read(ID, id, storedBytes), CheckpointError);
        assertEquals(error.code, "checkpoint_damaged");
      },
    );
  });
  await t.step("removed after the start", async () => {
    await reopenAfter(async () => {}, async (directory) => {
      await Deno.remove(state(directory.path));
      const { id, storedBytes } = await checkpointOf(1);
      const error = await assertRejects(() => directory.read(ID, id, storedBytes), CheckpointError);
      assertEquals(error.code, "checkpoint_damaged");
    });
  });
});

const OTHER_FILES = ["notes.txt", "novel.draft", "model.checkpoint", "training.session.json"];

Deno.test("StateDirectory.open() removes what was not saved completely, and no other file", async () => {
  await reopenAfter(async (folder) => {
    await Deno.writeTextFile(join(folder, `${"c".repeat(32)}.checkpoint`), "state without a record");
    await Deno.writeTextFile(join(folder, `${ID}.checkpoint.draft`), "half");
    for (const name of OTHER_FILES) await Deno.writeTextFile(join(folder, name), "mine");
  }, async (directory, warnings) => {
    assertEquals(warnings, []);
    const names = await Array.fromAsync(Deno.readDir(directory.path), ({ name }) => name);
    assertEquals(
      names.toSorted(),
      [ID, OTHER_ID].flatMap((id) => [`${id}.checkpoint`, `${id}.session.json`])
        .concat("checkpoint.key", "lock", ...OTHER_FILES).toSorted(),
    );
  });
});

Deno.test("StateDirectory.open() refuses a folder that other users can use, and one that a server uses", async () => {
  await using folder = await TempFolder.of({ "file": "" });
  await Deno.chmod(folder.path, 0o755);
  const open = await assertRejects(() => StateDirectory.open(folder.path), SandboxError);
  assertStringIncludes(open.message, "its mode is 755; run chmod 700");
  await Deno.chmod(folder.path, 0o700);
  using _first = await StateDirectory.open(folder.path);
  const second = await assertRejects(() => StateDirectory.open(folder.path), SandboxError);
  assertStringIncludes(second.message, "another server uses it");
  const file = join(folder.path, "file");
  await assertRejects(() => StateDirectory.open(file), SandboxError);
});

Deno.test("StateDirectory.open() does not use a checkpoint that is missing, a link or a pipe", async (t) => {
  const state = (folder: string, id = ID) => join(folder, `${id}.checkpoint`);
  const changes: Record<string, (folder: string) => Promise<unknown>> = {
    "nothing": () => Promise.resolve(),
    "a link": (folder) => Deno.symlink(state(folder, OTHER_ID), state(folder)),
    "a pipe": (folder) => new Deno.Command("mkfifo", { args: [state(folder)] }).output(),
  };
  for (const [name, change] of Object.entries(changes)) {
    await t.step(name, async () => {
      await reopenAfter(async (folder) => {
        await Deno.remove(state(folder));
        await change(folder);
      }, async (directory, warnings) => {
        assertEquals(idsOf(directory), [OTHER_ID]);
        const damaged = directory.sessions.find(({ record }) => record.id === ID);
        assertEquals(damaged?.unusable?.code, "checkpoint_damaged");
        assertStringIncludes(warnings.join(), "1 with checkpoint_damaged: only a copy of their files");
        assert((await namesOf(directory)).includes(`${ID}.session.json`));
      });
    });
  }
});

Deno.test("StateDirectory.read() does not wait for a pipe, and reads no file that has grown", async (t) => {
  const changes: Record<string, (path: string) => Promise<unknown>> = {
    "a pipe": async (path) => {
      await Deno.remove(path);
      await new Deno.Command("mkfifo", { args: [path] }).output();
    },
    "a terabyte": (path) => Deno.truncate(path, 2 ** 40),
  };
  for (const [name, change] of Object.entries(changes)) {
    await t.step(name, async () => {
      await reopenAfter(async () => {}, async (directory) => {
        await change(join(directory.path, `${ID}.checkpoint`));
        const { id, storedBytes } = await checkpointOf(1);
        const error = await assertRejects(() => directory.read(ID, id, storedBytes), CheckpointError);
        assertEquals(error.code, "checkpoint_damaged");
      });
    });
  }
});

Deno.test("StateDirectory.save() leaves no file of a session that cannot be saved", async () => {
  await reopenAfter(async () => {}, async (directory) => {
    const id = "d".repeat(32);
    const draft = join(directory.path, `${id}.session.json.draft`);
    await Deno.mkdir(draft); // the record cannot be written
    const one = await checkpointOf(1);
    await assertRejects(() => directory.save(recordOf(id, one), one));
    const names = await Array.fromAsync(Deno.readDir(directory.path), ({ name }) => name);
    assertEquals(names.filter((name) => name.startsWith(id)), []);
  });
});

Deno.test("StateDirectory.open() finds a session with the longest name and variables that clients may give", async () => {
  await using folder = await TempFolder.of();
  const path = join(folder.path, "state");
  const attachment = JSON.stringify({
    envVars: { x: "\x01".repeat(64 * 1024 - 1) },
    templateId: "x".repeat(256),
  });
  {
    using directory = await StateDirectory.open(path, { read: readFakeCheckpoint });
    const one = await checkpointOf(1);
    await directory.save(recordOf(ID, one, { name: "n".repeat(16 * 1024), attachment }), one);
  }
  using directory = await StateDirectory.open(path, { read: readFakeCheckpoint });
  assertEquals(directory.sessions.map(({ record }) => record.attachment === attachment), [true]);
});

Deno.test({
  name: "StateDirectory.open() refuses a folder of another user",
  ignore: Deno.uid() !== 0, // only root can give a folder away
  async fn() {
    await using folder = await TempFolder.of();
    await Deno.chmod(folder.path, 0o700);
    await Deno.chown(folder.path, 1000, 1000);
    const error = await assertRejects(() => StateDirectory.open(folder.path), SandboxError);
    assertStringIncludes(error.message, "it belongs to user 1000; run chown 0");
  },
});
