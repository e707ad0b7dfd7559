import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { checkpointOrigin, sealCheckpoint } from "../../../src/sandbox/checkpoint/checkpoint.ts";
import { CheckpointCompressor } from "../../../src/sandbox/checkpoint/compression.ts";
import { createKey } from "../../../src/sandbox/checkpoint/host_key.ts";
import type { SessionRecord } from "../../../src/server/hibernation/session_record.ts";
import { StateDirectory } from "../../../src/server/hibernation/state_directory.ts";
import { readFakeCheckpoint } from "../../fake_pool.ts";
import { TempFolder } from "../../temp_folder.ts";
import {
  checkpointOf,
  HOUR_MS,
  ID,
  idsOf,
  namesOf,
  OTHER_ID,
  recordOf,
  reopenAfter,
  timeIn,
} from "./saved_states.ts";

Deno.test("StateDirectory.open() leaves the sessions of other owners for a later server until they end", async (t) => {
  const open = (path: string, onWarning: (message: string) => void) =>
    StateDirectory.open(path, { owners: new Set(["ada"]), read: readFakeCheckpoint, onWarning });
  await t.step("all are left", async () => {
    await reopenAfter(async (path) => {
      const warnings: string[] = [];
      using directory = await open(path, (message) => warnings.push(message));
      assertEquals(idsOf(directory), [ID]);
      assertEquals(directory.unused, { count: 1, bytes: (await checkpointOf(2)).storedBytes });
      assertEquals(warnings, [
        `'${path}' has 1 session of tokens that this server does not have. ` +
        "Files of such sessions stay until they end; a server with these tokens continues them",
      ]);
    }, (directory) => assertEquals(idsOf(directory), [ID, OTHER_ID]));
  });
  const lives: [string, Partial<SessionRecord>, boolean][] = [
    ["used 23 hours ago", { usedAt: timeIn(-23 * HOUR_MS), idleMs: 600_000 }, true],
    ["used 25 hours ago", { usedAt: timeIn(-25 * HOUR_MS), idleMs: 600_000 }, false],
    [
      "used 25 hours ago, with an hour to live",
      { usedAt: timeIn(-25 * HOUR_MS), expiresAt: timeIn(HOUR_MS) },
      true,
    ],
    ["expired", { expiresAt: timeIn(-1) }, false],
    ["paused as its time was over", { expiresAt: timeIn(-HOUR_MS), pausesAtEnd: true }, true],
    ["paused for 25 hours", { expiresAt: timeIn(-25 * HOUR_MS), pausesAtEnd: true }, false],
    ["paused 25 hours ago", { usedAt: timeIn(-25 * HOUR_MS), isPaused: true }, false],
  ];
  for (const [name, life, isLeft] of lives) {
    await t.step(name, async () => {
      await using folder = await TempFolder.of();
      const path = join(folder.path, "state");
      {
        using directory = await StateDirectory.open(path);
        const one = await checkpointOf(1);
        await directory.save(recordOf(ID, one, { owner: "eve", ...life }), one);
      }
      const warnings: string[] = [];
      using directory = await open(path, (message) => warnings.push(message));
      assertEquals([directory.unused.count, warnings.length], isLeft ? [1, 1] : [0, 0]);
      assertEquals((await namesOf(directory)).includes(`${ID}.checkpoint`), isLeft);
    });
  }
});

Deno.test("StateDirectory removes sessions of other owners when they end", async () => {
  await using folder = await TempFolder.of();
  const path = join(folder.path, "state");
  const one = await checkpointOf(1);
  {
    using directory = await StateDirectory.open(path);
    await directory.save(recordOf(ID, one, { owner: "eve", expiresAt: timeIn(HOUR_MS) }), one);
    await directory.save(recordOf(OTHER_ID, one, { owner: "eve", expiresAt: timeIn(9 * HOUR_MS) }), one);
  }
  using directory = await StateDirectory.open(path, { owners: new Set(["ada"]) });
  assertEquals(directory.unused, { count: 2, bytes: one.storedBytes }, "equal states are one file");
  await directory.removeEnded();
  assertEquals(directory.unused.count, 2);
  await directory.removeEnded(Date.now() + 2 * HOUR_MS);
  assertEquals(directory.unused.count, 1);
  assertEquals(await namesOf(directory), [
    `${OTHER_ID}.checkpoint`,
    `${OTHER_ID}.session.json`,
    "checkpoint.key",
    "lock",
  ]);
});

Deno.test("StateDirectory.open() compares the origin of each checkpoint with that of the server", async (t) => {
  await using compressor = new CheckpointCompressor();
  const [key, image, profile] = [await createKey(), "1".repeat(64), "2".repeat(64)];
  const scope = { key, image, profile, maxBytes: 1 << 20, compressor };
  const origin = await checkpointOrigin(scope);
  const other = "3".repeat(64);
  const cases: [string, (folder: string) => Promise<unknown>, typeof origin, string | undefined][] = [
    ["the same", async () => {}, origin, undefined],
    [
      "another profile",
      async () => {},
      { ...origin, profile: other, image: other },
      "checkpoint_other_profile",
    ],
    ["another image", async () => {}, { ...origin, image: other }, "checkpoint_other_image"],
    ["another key", async () => {}, { ...origin, key: other }, "checkpoint_foreign"],
    ["an older format", (file) => changeByte(file, 8), origin, "checkpoint_other_format"],
    ["another header", (file) => changeByte(file, 80), origin, "checkpoint_damaged"],
    ["no end", async (file) => await Deno.truncate(file, 600), origin, "checkpoint_truncated"],
    ["half of a header", async (file) => await Deno.truncate(file, 60), origin, "checkpoint_truncated"],
  ];
  for (const [name, change, of, code] of cases) {
    await t.step(name, async () => {
      await using folder = await TempFolder.of();
      const path = join(folder.path, "state");
      {
        using directory = await StateDirectory.open(path, { origin, profile: "serve" });
        const checkpoint = await sealCheckpoint(crypto.getRandomValues(new Uint8Array(9000)), scope, {
          owner: "ada",
          tools: [],
        });
        await directory.save(recordOf(ID, checkpoint), checkpoint);
      }
      await change(join(path, `${ID}.checkpoint`));
      const before = await contentsOf(path);
      const warnings: string[] = [];
      using directory = await StateDirectory.open(path, {
        origin: of,
        onWarning: (text) => warnings.push(text),
      });
      assertEquals(directory.sessions.map(({ unusable }) => unusable?.code), [code]);
      assertEquals(warnings.length, code === undefined ? 0 : 1);
      if (code) {
        assertStringIncludes(warnings.join(), `cannot continue 1 session of '${path}' (1 with ${code}`);
      }
      if (code === "checkpoint_other_profile") {
        assertStringIncludes(warnings.join(), "had profile 'serve': start the server with the profile");
      }
      assertEquals(await contentsOf(path), before);
    });
  }
});

async function changeByte(file: string, at: number): Promise<void> {
  const bytes = await Deno.readFile(file);
  await Deno.writeFile(file, bytes.with(at, (bytes[at] ?? 0) ^ 0x40));
}

async function contentsOf(folder: string): Promise<Record<string, string>> {
  const names = await Array.fromAsync(Deno.readDir(folder), ({ name }) => name);
  const files = names.toSorted().map(async (
    name,
  ) => [name, (await Deno.readFile(join(folder, name))).toHex()]);
  return Object.fromEntries(await Promise.all(files));
}
