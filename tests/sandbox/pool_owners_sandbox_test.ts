import { assertEquals, assertNotEquals } from "@std/assert";
import { delay } from "@std/async";
import { childrenOf } from "../../bench/processes.ts";
import { loadProfile, SandboxPool, type SandboxPoolOptions } from "../../mod/sandbox.ts";
import { copyImage } from "./copy_image.ts";
import { value } from "./started.ts";

const linux = Deno.build.os === "linux";
const profile = await loadProfile("python");

/** A pool in mode `owner`, and what shows its processes. */
async function open(options: Omit<SandboxPoolOptions, "profile" | "resetMode" | "cacheDir">) {
  const cacheDir = await Deno.makeTempDir();
  await copyImage(profile, cacheDir);
  const pool = new SandboxPool({ profile, resetMode: "owner", cacheDir, ...options });
  return {
    pool,
    processes: () => childrenOf(Deno.pid, cacheDir),
    /** Runs a program that leaves a name, in a lease of its own. Returns the processes, and whether the name was there. */
    async visit(owner?: string): Promise<{ processes: number[]; found: string | undefined }> {
      await using lease = await pool.acquire({ owner });
      const found = value(await lease.session.exec("'left' in globals()"));
      await lease.session.exec("left = 'behind'");
      return { processes: await childrenOf(Deno.pid, cacheDir), found };
    },
    async [Symbol.asyncDispose]() {
      await pool[Symbol.asyncDispose]();
      await Deno.remove(cacheDir, { recursive: true });
    },
  };
}

Deno.test({
  name: "SandboxPool in mode owner rewinds for the same owner, and has another process for another one",
  ignore: !linux,
}, async () => {
  await using opened = await open({ size: 1 });
  const [first, again] = [await opened.visit("a"), await opened.visit("a")];
  assertEquals(again, first);
  const other = await opened.visit("b");
  assertEquals(other.found, "False");
  assertEquals(other.processes.length, 1);
  assertNotEquals(other.processes, first.processes);
});

Deno.test({
  name: "SandboxPool in mode owner has another process after each lease without an owner",
  ignore: !linux,
}, async () => {
  await using opened = await open({ size: 1 });
  const [first, second] = [await opened.visit(), await opened.visit()];
  assertEquals([first.found, second.found], ["False", "False"]);
  assertNotEquals(second.processes, first.processes);
});

Deno.test({
  name: "SandboxPool in mode owner keeps interpreters of further owners, each for its owner",
  ignore: !linux,
}, async () => {
  await using opened = await open({ size: 1, keep: 2 });
  for (const owner of ["a", "b", "c"]) await opened.visit(owner);
  const kept = await opened.processes();
  assertEquals(kept.length, 3);
  for (const owner of ["a", "b", "c"]) assertEquals((await opened.visit(owner)).found, "False");
  assertEquals(await opened.processes(), kept);
});

Deno.test({
  name: "SandboxPool in mode owner ends interpreters that their owners no longer use",
  ignore: !linux,
}, async () => {
  await using opened = await open({ size: 1, keep: 2, keepMs: 100 });
  for (const owner of ["a", "b", "c"]) await opened.visit(owner);
  while ((await opened.processes()).length > 1) await delay(20);
  assertEquals((await opened.visit("a")).found, "False");
});

Deno.test({
  name: "SandboxPool in mode owner has an owner wait for its own interpreters before others lose theirs",
  ignore: !linux,
}, async () => {
  await using opened = await open({ size: 3 });
  const { pool } = opened;
  for (const owner of ["a", "b"]) await opened.visit(owner);
  await using clean = await pool.acquire({ owner: "c" });
  const processes = await opened.processes();
  const own = await pool.acquire({ owner: "a" });
  const waiting = pool.acquire({ owner: "a" });
  await own[Symbol.asyncDispose]();
  await using _second = await waiting;
  assertEquals(await opened.processes(), processes);
  assertEquals(value(await clean.session.exec("1")), "1");
  await using third = await pool.acquire({ owner: "a" }); // none of its own becomes free
  assertEquals(value(await third.session.exec("1")), "1");
  assertNotEquals(await opened.processes(), processes);
});

Deno.test("SandboxPool in mode owner forks a session into interpreters of its owner", async () => {
  await using opened = await open({ size: 2 });
  {
    await using lease = await opened.pool.acquire({ owner: "a" });
    await lease.session.exec("x = 7");
    const copies = await lease.session.fork(1);
    for (const copy of copies) {
      assertEquals(value(await copy.session.exec("x")), "7");
      await copy[Symbol.asyncDispose]();
    }
  }
  assertEquals((await opened.visit("a")).found, "False");
});
