import { assertEquals, assertStringIncludes } from "@std/assert";
import { clearCache, listCache, readCommandLines } from "../../../src/cli/cache/cache_files.ts";
import { baseImageName } from "../../../src/sandbox/image/base_image.ts";
import { loadProfile } from "../../../src/sandbox/profile/profile.ts";
import { Sandbox } from "../../../src/sandbox/sandbox.ts";
import { TempFolder } from "../../temp_folder.ts";
import { runPaddock } from "../run_paddock.ts";

const OLD = "0".repeat(32);
const RUNNING = "1".repeat(32);
const BUILDING = "2".repeat(32);
const DIGEST = "a".repeat(64);

async function cacheFolder(): Promise<TempFolder> {
  return await TempFolder.of({
    [`${OLD}/heap`]: "12345",
    [`${OLD}.lock`]: "",
    [`${RUNNING}/heap`]: "123",
    [`${BUILDING}/heap`]: "1",
    [`${BUILDING}.lock`]: "",
    [`packages/${DIGEST}`]: "wheel",
    "requirements/x.json": "{}",
    "repl_history": "1 + 1\n",
    "notes.txt": "of the user",
    "mine/file": "of the user",
  });
}

Deno.test("listCache() returns images, packages, choices and history, and no other file", async () => {
  await using folder = await cacheFolder();
  const entries = await listCache(folder.path, "");
  assertEquals(entries.map(({ kind, name, bytes }) => [kind, name, bytes]), [
    ["choices", "requirements/x.json", 2],
    ["history", "repl_history", 6],
    ["images", OLD, 5],
    ["images", RUNNING, 3],
    ["images", BUILDING, 1],
    ["packages", `packages/${DIGEST}`, 5],
  ]);
});

Deno.test("listCache() names the profiles of an image, and is empty without a folder", async () => {
  const name = await baseImageName(await loadProfile("strict"));
  await using folder = await TempFolder.of({
    [`${name}/heap`]: "1",
    [`${await baseImageName()}/heap`]: "12",
  });
  const [plain, own] = await listCache(folder.path, "");
  assertEquals([plain?.profiles, own?.profiles.includes("strict")], [["all"], true]);
  assertEquals(await listCache(`${folder.path}/none`, ""), []);
});

Deno.test("clearCache() removes no image of a running sandbox or of a build", async () => {
  await using folder = await cacheFolder();
  using lock = await Deno.open(`${folder.path}/${BUILDING}.lock`, { write: true });
  await lock.lock(true);
  const commandLines = `deno\0run\0--allow-read=${folder.path}/${RUNNING}\0supervisor.js`;
  const entries = await listCache(folder.path, commandLines);
  assertEquals(entries.filter(({ inUse }) => inUse).map(({ name }) => name), [RUNNING, BUILDING]);
  const removed = await clearCache(folder.path, entries.filter(({ kind }) => kind === "images"));
  assertEquals(removed.map(({ name }) => name), [OLD]);
  const left = (await Array.fromAsync(Deno.readDir(folder.path))).map(({ name }) => name).sort();
  assertEquals(
    left,
    [RUNNING, BUILDING, `${BUILDING}.lock`, "mine", "notes.txt", "packages", "repl_history", "requirements"]
      .sort(),
  );
});

Deno.test("clearCache() keeps an image whose build began after it was listed, and follows no link", async () => {
  await using folder = await cacheFolder();
  await using target = await TempFolder.of({ "kept": "1" });
  await Deno.symlink(target.path, `${folder.path}/${"3".repeat(32)}`);
  const entries = await listCache(folder.path, "");
  assertEquals(entries.some(({ name }) => name.startsWith("3")), false);
  using lock = await Deno.open(`${folder.path}/${OLD}.lock`, { write: true });
  await lock.lock(true);
  const removed = await clearCache(folder.path, entries);
  assertEquals(removed.some(({ name }) => name === OLD), false);
  assertEquals(await Deno.readTextFile(`${folder.path}/${OLD}/heap`), "12345");
  assertEquals(await Deno.readTextFile(`${target.path}/kept`), "1");
});

Deno.test("paddock cache lists, sizes and clears by kind and age, as text and JSON", async () => {
  await using folder = await cacheFolder();
  const cache = async (...args: string[]) => await runPaddock(["--cache-dir", folder.path, "cache", ...args]);
  const size = JSON.parse((await cache("size", "--json")).stdout);
  assertEquals([size.bytes, size.kinds.images, size.kinds.packages], [22, { count: 3, bytes: 9 }, {
    count: 1,
    bytes: 5,
  }]);
  assertStringIncludes((await cache("size")).stdout, `0.0 kB in ${folder.path}`);
  assertStringIncludes((await cache("list")).stdout, OLD);
  assertEquals(JSON.parse((await cache("clear", "--unused-days", "1", "--json")).stdout).removed, []);
  const dry = JSON.parse((await cache("clear", "packages", "--dry-run", "--json")).stdout);
  assertEquals(dry.removed.map(({ name }: { name: string }) => name), [`packages/${DIGEST}`]);
  assertEquals(await Deno.readTextFile(`${folder.path}/packages/${DIGEST}`), "wheel");
  assertStringIncludes((await cache("clear")).stdout, "Removed 3 of images");
  const left = JSON.parse((await cache("list", "--json")).stdout).entries;
  assertEquals(left.map(({ kind }: { kind: string }) => kind), ["choices", "history", "packages"]);
});

Deno.test("readCommandLines() names the image of a running sandbox", async () => {
  const profile = await loadProfile("python");
  await using sandbox = await Sandbox.start({ profile });
  const commandLines = await readCommandLines();
  assertEquals(sandbox.profile.name, "python");
  assertStringIncludes(commandLines ?? "", await baseImageName(profile));
});
