import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { delay } from "@std/async";
import { join } from "node:path";
import {
  type ExecResult,
  loadProfile,
  parseProfile,
  type Profile,
  type PythonSession,
  Sandbox,
  SandboxPool,
} from "../../mod/sandbox.ts";
import { SandboxError } from "../../src/errors.ts";
import { HANG_MS } from "../deadline.ts";
import { copyImage, copyPlainImage } from "./copy_image.ts";
import { childrenOf, isAlive } from "../../bench/processes.ts";
import { value } from "./started.ts";

const linux = Deno.build.os === "linux";
const profile = await loadProfile("python");

Deno.test("SandboxPool states once what a process for each lease costs, unless the mode was chosen", async () => {
  const said: string[] = [];
  const { warn } = console;
  Object.assign(console, { warn: (text: string) => said.push(text) });
  try {
    for (const resetMode of [undefined, "fresh"] as const) {
      await using pool = new SandboxPool({ profile, size: 1, resetMode });
      await using _lease = await pool.acquire();
      const leave = new AbortController();
      const waiting = Array.from({ length: 40 }, () => pool.acquire({ signal: leave.signal }));
      leave.abort(new Error("not needed"));
      await Promise.allSettled(waiting);
      assertEquals(said.map((text) => text.includes("starts a process for each lease")), [true]);
    }
  } finally {
    Object.assign(console, { warn });
  }
});

Deno.test("SandboxPool refuses an invalid size", () => {
  for (const size of [0, -1, 1.5, NaN, Infinity, 5_000]) {
    assertThrows(
      () => new SandboxPool({ profile, size }),
      RangeError,
      `Cannot create pool as 'size' must be from 1 to 4096: current value is ${size}`,
    );
  }
});

Deno.test("SandboxPool refuses an invalid number of spare sessions", () => {
  for (const spare of [-1, 0.5, NaN, 5_000]) {
    assertThrows(
      () => new SandboxPool({ profile, size: 1, spare }),
      RangeError,
      `Cannot create pool as 'spare' must be from 0 to 4096: current value is ${spare}`,
    );
  }
});

Deno.test("SandboxPool refuses an invalid profile before anything starts", () => {
  const none = undefined as unknown as Profile;
  assertThrows(() => new SandboxPool({ profile: none }), TypeError, "'profile' must be a profile");
});

Deno.test("SandboxPool leases its session to one caller after the other", async (t) => {
  await using pool = new SandboxPool({ profile, size: 1, resetMode: "rewind" });
  await t.step("acquire() waits when every session is leased, first come first served", async () => {
    const order: number[] = [];
    const first = await pool.acquire();
    await first.session.exec("left = 'behind'");
    const waiting = [1, 2, 3].map(async (number) => {
      await using lease = await pool.acquire();
      order.push(number);
      assertEquals(value(await lease.session.exec("'left' in globals()")), "False");
      await lease.session.exec("left = 'behind'");
    });
    assertEquals(order, []);
    await first[Symbol.asyncDispose]();
    await Promise.all(waiting);
    assertEquals(order, [1, 2, 3]);
  });
  await t.step("acquire() can be cancelled while it waits, and loses no session", async () => {
    const first = await pool.acquire();
    const controller = new AbortController();
    const waiting = pool.acquire({ signal: controller.signal });
    controller.abort(new Error("changed my mind"));
    await assertRejects(() => waiting, Error, "changed my mind");
    await assertRejects(
      () => pool.acquire({ signal: AbortSignal.abort(new Error("too late")) }),
      Error,
      "too late",
    );
    await first[Symbol.asyncDispose]();
    await using second = await pool.acquire();
    assertEquals(value(await second.session.exec("1")), "1");
  });
  await t.step("a lease rejects all calls after it is disposed", async () => {
    const lease = await pool.acquire();
    await lease[Symbol.asyncDispose]();
    await lease[Symbol.asyncDispose]();
    await assertRejects(() => lease.session.exec("1"), Error, "Cannot use session as its lease is over");
    await using next = await pool.acquire();
    assertEquals(value(await next.session.exec("1")), "1");
  });
  await t.step("a lease aborts the running exec when it is disposed", async () => {
    const lease = await pool.acquire();
    const running = lease.session.exec("while True: pass", { timeoutMs: 3_600_000 });
    await lease[Symbol.asyncDispose]();
    await assertRejects(() => running, Error, "its lease is over");
    await using next = await pool.acquire();
    assertEquals((await next.session.exec("1")).status, "ok");
  });
  await t.step({
    name: "a session that its guest has crashed is leased again",
    sanitizeOps: false, // the session gets another process; the whole test is checked
    sanitizeResources: false,
    fn: async () => {
      for (let i = 0; i < 2; i++) {
        await using lease = await pool.acquire();
        assertEquals((await lease.session.exec("import os\nos.abort()")).status, "crashed");
      }
      await using lease = await pool.acquire();
      const result = await lease.session.exec("1");
      assertEquals([value(result), result.restarted], ["1", undefined]);
    },
  });
});

Deno.test({
  name: "SandboxPool leases a spare session while another is reset, and never more than its size",
  ignore: !linux,
}, async () => {
  await using cache = await cacheWithImage();
  const { cacheDir } = cache;
  await using pool = new SandboxPool({ profile, size: 1, spare: 1, cacheDir });
  const first = await pool.acquire();
  while ((await childrenOf(Deno.pid, cacheDir)).length < 2) await delay(10);
  await first.session.exec("left = 'behind'");
  let isLeased = false;
  const waiting = pool.acquire().then((lease) => {
    isLeased = true;
    return lease;
  });
  await delay(500); // the spare session starts in this time
  assertEquals(isLeased, false);
  await first[Symbol.asyncDispose]();
  await using second = await waiting;
  assertEquals(value(await second.session.exec("'left' in globals()")), "False");
  const controller = new AbortController();
  const third = pool.acquire({ signal: controller.signal });
  await delay(500); // the first session is reset in this time
  controller.abort(new Error("enough"));
  await assertRejects(() => third, Error, "enough");
});

Deno.test("SandboxPool.acquire() makes sessions with equal seeds reproducible", async () => {
  await using pool = new SandboxPool({ profile, size: 2, resetMode: "rewind" });
  await using one = await pool.acquire({ seed: 5 });
  await using two = await pool.acquire({ seed: 5 });
  const code = "import random, secrets\nrandom.random(), secrets.token_hex()";
  assertEquals(value(await one.session.exec(code)), value(await two.session.exec(code)));
  await assertRejects(
    () => pool.acquire({ seed: NaN }),
    RangeError,
    "Cannot seed session as 'seed' must be a safe integer: current value is NaN",
  );
});

Deno.test("SandboxPool rejects waiting callers and ends its processes when it is disposed", async () => {
  const pool = new SandboxPool({ profile, size: 1 });
  const lease = await pool.acquire();
  const running = await started(lease.session);
  const waiting = pool.acquire();
  const failed = assertRejects(() => waiting, Error, "Cannot acquire session as the pool is disposed");
  await pool[Symbol.asyncDispose]();
  await pool[Symbol.asyncDispose]();
  await failed;
  assertEquals((await running.result).status, "crashed");
  await assertRejects(() => pool.acquire(), Error, "Cannot acquire session as the pool is disposed");
});

Deno.test("SandboxPool can be disposed before anything has started", async () => {
  const pool = new SandboxPool({ profile, size: 2 });
  await pool[Symbol.asyncDispose]();
});

Deno.test("SandboxPool cancels the build of a base image when it is disposed, and starts no other", async () => {
  const cacheDir = await Deno.makeTempDir();
  let builds = 0;
  const begun = Promise.withResolvers<void>();
  const onBuild = () => {
    builds++;
    begun.resolve();
  };
  try {
    {
      await using _pool = new SandboxPool({ profile, size: 2, cacheDir, onBuild });
      await begun.promise;
    }
    const names = await Array.fromAsync(Deno.readDir(cacheDir), ({ name }) => name);
    assertEquals([builds, names.filter((name) => !name.endsWith(".lock"))], [1, []]);
  } finally {
    await Deno.remove(cacheDir, { recursive: true });
  }
});

Deno.test("SandboxPool.acquire() rejects when no sandbox can start", async () => {
  const impossible = { ...profile, preimports: ["there_is_no_such_module"] };
  const cacheDir = await Deno.makeTempDir();
  try {
    await copyPlainImage(cacheDir);
    await using pool = new SandboxPool({ profile: impossible, size: 1, cacheDir });
    const error = await assertRejects(() => pool.acquire(), SandboxError);
    assert(error.message.includes("there_is_no_such_module"), error.message);
  } finally {
    await Deno.remove(cacheDir, { recursive: true });
  }
});

Deno.test({
  name: "SandboxPool gives a session to who waits, though the process was killed while it started",
  ignore: !linux,
}, async () => {
  await using cache = await cacheWithImage();
  const { cacheDir } = cache;
  // The wrappers of a sandbox and the sandbox itself start within these milliseconds.
  for (const ms of [0, 5, 10, 20, 40]) {
    await using pool = new SandboxPool({ profile, size: 1, cacheDir });
    const waiting = pool.acquire();
    let [pid] = await childrenOf(Deno.pid, cacheDir);
    while (pid === undefined) [pid] = await childrenOf(Deno.pid, cacheDir);
    await delay(ms);
    Deno.kill(pid, "SIGKILL");
    while (await isAlive(pid));
    await using lease = await waiting;
    assertEquals(value(await lease.session.exec("1 + 1")), "2");
  }
});

Deno.test("SandboxPool starts a few sessions at once and leases each to a waiting caller", async () => {
  const dense = { ...profile, sessionsPerProcess: 16 };
  const size = Math.min(12, 2 * navigator.hardwareConcurrency + 1); // one more than start at once
  await using pool = new SandboxPool({ profile: dense, size, resetMode: "rewind" });
  const leases = await Promise.all(Array.from({ length: size }, () => pool.acquire()));
  const values = leases.map(async ({ session }, i) => value(await session.exec(`x = ${i}\nx`)));
  assertEquals(await Promise.all(values), Array.from({ length: size }, (_, i) => String(i)));
});

Deno.test({
  name: "SandboxPool holds several sessions in one process if the profile allows it",
  ignore: !linux,
}, async () => {
  const limits = { ...profile.limits, graceMs: 200 };
  const dense = { ...profile, sessionsPerProcess: 3, limits };
  await using cache = await cacheWithImage();
  const { cacheDir } = cache;
  await using pool = new SandboxPool({ profile: dense, size: 3, resetMode: "rewind", cacheDir });
  const leases = await Promise.all([pool.acquire(), pool.acquire(), pool.acquire()]);
  assertEquals((await childrenOf(Deno.pid, cacheDir)).length, 1);
  const results = await Promise.all(
    leases.map(({ session }, i) => session.exec(`x = ${i}\nimport time\ntime.sleep(0.05)\nx`)),
  );
  assertEquals(results.map(value), ["0", "1", "2"]);
  const [one, two, three] = leases.map(({ session }) => session);
  assert(one && two && three);
  assertEquals((await two.exec("import os\nos.abort()")).status, "crashed");
  assertEquals([value(await one.exec("x")), value(await three.exec("x"))], ["0", "2"]);
  assertEquals(value(await two.exec("'x' in globals()")), "False");
  for (const lease of leases) await lease[Symbol.asyncDispose]();
});

Deno.test({
  name: "Sandbox leaves no process when it is disposed, also when it is disposed twice",
  ignore: !linux,
}, async () => {
  await using cache = await cacheWithImage();
  const { cacheDir } = cache;
  const sandbox = await Sandbox.start({ profile, cacheDir });
  const session = await sandbox.openSession();
  const [pid] = await childrenOf(Deno.pid, cacheDir);
  assert(pid !== undefined);
  const running = await started(session);
  await Promise.all([sandbox[Symbol.asyncDispose](), sandbox[Symbol.asyncDispose]()]);
  assert(!await isAlive(pid));
  assertEquals((await running.result).status, "crashed");
  await assertRejects(() => sandbox.openSession(), Error, "Cannot open session as the sandbox is disposed");
});

Deno.test({
  name: "Sandbox ends with its host, also when the host is killed",
  ignore: !linux,
  timeout: HANG_MS,
}, async () => {
  const mod = new URL("../../mod/sandbox.ts", import.meta.url).href;
  const host = `
    import { loadProfile, Sandbox } from ${JSON.stringify(mod)};
    const sandbox = await Sandbox.start({ profile: await loadProfile("python") });
    const session = await sandbox.openSession();
    await session.exec("print('ready', flush=True)\\nwhile True: pass", { timeoutMs: 60_000, onOutput: () => console.log("ready") });`;
  const config = decodeURIComponent(new URL("../../deno.json", import.meta.url).pathname);
  const script = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(script, host);
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", `--config=${config}`, script],
    stdout: "piped",
    stdin: "null",
    stderr: "inherit",
  }).spawn();
  const reader = process.stdout.getReader();
  await reader.read();
  const [sandbox] = await childrenOf(process.pid);
  assert(sandbox !== undefined);
  process.kill("SIGKILL");
  await process.status;
  await reader.cancel();
  while (await isAlive(sandbox)) await new Promise((done) => setTimeout(done, 50));
  await Deno.remove(script);
});

Deno.test("Sandbox rebuilds a damaged base image, whichever file is damaged", async (t) => {
  const profile = parseProfile("{}", { source: "plain" }); // no pre-imports, so that a build takes less
  await using cache = await cacheWithImage(profile);
  const { cacheDir, directory } = cache;
  const plain = await copyPlainImage(cacheDir);
  const damage: Record<string, () => Promise<void>> = {
    "a byte of the image": () => changeByte(join(directory, "image.bin")),
    "the plain image, when the image is built from it": async () => {
      await changeByte(join(plain, "image.bin"));
      await Deno.remove(join(directory, "manifest.json"));
    },
    "the manifest": () => Deno.writeTextFile(join(directory, "manifest.json"), "{}"),
    "the supervisor": () => Deno.writeTextFile(join(directory, "supervisor.js"), "Deno.exit(0)"),
    "a missing library": () => Deno.remove(join(directory, "library.bin")),
  };
  for (const [what, harm] of Object.entries(damage)) {
    await t.step(what, async () => {
      await harm();
      let builds = 0;
      const options = { profile, cacheDir, onBuild: () => builds++ };
      await using sandbox = await Sandbox.start(options);
      assertEquals(value(await (await sandbox.openSession()).exec("6 * 7")), "42");
      await using again = await Sandbox.start(options);
      assertEquals(value(await (await again.openSession()).exec("6 * 7")), "42");
      assertEquals(builds, 1);
    });
  }
});

/** Starts an exec that runs until it is killed. Resolves when it runs. */
async function started(session: PythonSession): Promise<{ result: Promise<ExecResult> }> {
  const runs = Promise.withResolvers<void>();
  const result = session.exec("print('on', flush=True)\nwhile True: pass", {
    onOutput: () => runs.resolve(),
  });
  await runs.promise;
  return { result };
}

async function changeByte(path: string): Promise<void> {
  const bytes = await Deno.readFile(path);
  bytes[1_000] = (bytes[1_000] ?? 0) ^ 255;
  await Deno.writeFile(path, bytes);
}

/** Makes a cache with a copy of the image. The processes of the test have its path in their command lines. */
async function cacheWithImage(
  of: Profile = profile,
): Promise<AsyncDisposable & { cacheDir: string; directory: string }> {
  const cacheDir = await Deno.makeTempDir();
  const directory = await copyImage(of, cacheDir);
  return { cacheDir, directory, [Symbol.asyncDispose]: () => Deno.remove(cacheDir, { recursive: true }) };
}

Deno.test("SandboxPool.acquire({ once }) resets the session after its exec", async (t) => {
  for (const resetMode of ["rewind", "fresh"] as const) {
    await t.step(resetMode, async () => {
      await using pool = new SandboxPool({ profile: await loadProfile("python"), size: 1, resetMode });
      for (let round = 0; round < 3; round++) {
        await using lease = await pool.acquire({ once: true });
        assertEquals(value(await lease.session.exec("'x' in globals()\nx = 1\nx")), "1");
      }
      await using lease = await pool.acquire();
      assertEquals(value(await lease.session.exec("'x' in globals()")), "False");
    });
  }
});

Deno.test("SandboxPool has Python's loop optimized at the start if its processes run many programs", async () => {
  const profile = await loadProfile("python");
  const cases = [
    [{ resetMode: "rewind" }, true],
    [{ resetMode: "rewind", optimize: "use" }, false],
    [{ resetMode: "fresh" }, false],
    [{ optimize: "start" }, true],
  ] as const;
  await using cache = await cacheWithImage();
  const { cacheDir } = cache;
  for (const [options, isOptimized] of cases) {
    await using pool = new SandboxPool({ profile, size: 1, cacheDir, ...options });
    await using _lease = await pool.acquire();
    const [pid = 0] = await childrenOf(Deno.pid, cacheDir);
    const commands = await Promise.all([pid, ...await childrenOf(pid)].map(commandLine));
    const flags = commands.flatMap((command) => /--wasm-eager-tier-up-function=\d{4}/.exec(command) ?? []);
    assertEquals(flags.length > 0, isOptimized, JSON.stringify(options));
  }
});

async function commandLine(pid: number): Promise<string> {
  return await Deno.readTextFile(`/proc/${pid}/cmdline`);
}
