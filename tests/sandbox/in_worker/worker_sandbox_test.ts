import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { join } from "node:path";
import { SandboxError } from "../../../src/errors.ts";
import { readImageFile } from "../../../src/sandbox/in_worker/image_file.ts";
import { parseProfile } from "../../../src/sandbox/profile/profile.ts";
import { WorkerSandbox } from "../../../src/sandbox/in_worker/worker_sandbox.ts";
import type { ExecResult } from "../../../src/sandbox/contract/exec.ts";
import type { BranchingLease, PythonSession } from "../../../src/sandbox/contract/pool.ts";
import { stoppedAfterOutput } from "../started.ts";

const PROFILE = parseProfile('{ "limits": { "graceMs": 1000, "fileBytes": 1048576, "outputBytes": 1000 } }', {
  source: "workers",
});
/** Statements that never end. */
const STUBBORN: Record<string, string> = {
  "a loop that swallows its interrupts": "while True: pass",
  "a loop in C": "sum(range(10 ** 15))",
  "a sleep that starts again": "time.sleep(1000)",
};

/** Returns a program that ignores interrupts. It prints inside its loop, so that no interrupt comes before the loop. */
function stubbornProgram(statement: string): string {
  const block = `    print(1, flush=True)\n    ${statement}`;
  return `import time\nwhile True:\n  try:\n${block}\n  except BaseException: pass`;
}

async function makeCache(): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = await Deno.makeTempDir();
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

Deno.test("WorkerSandbox runs Python in workers of this process, with a profile's limits", async (t) => {
  await using images = await makeCache();
  let builds = 0;
  const options = { profile: PROFILE, maxWorkers: 2, cacheDir: images.path, onBuild: () => void builds++ };
  await using sandbox = new WorkerSandbox(options);
  await sandbox.ready();
  const threads = new Set<string>();
  /** Notes the threads that start during some work. Other tests of the process may start some as well. */
  const noteThreads = async <T>(work: Promise<T>): Promise<T> => {
    const before = new Set(workerThreads());
    const result = await work;
    for (const thread of workerThreads()) if (!before.has(thread)) threads.add(thread);
    return result;
  };
  await t.step("a further sandbox takes the image from the cache", async () => {
    await using other = new WorkerSandbox(options);
    await using lease = await other.acquire();
    assertEquals(valueOf(await lease.session.exec("sum(range(10))")), "45");
    assertEquals(builds, 1);
  });
  await t.step("an image that is damaged, or that others may write, is not used", async () => {
    const [name = ""] = await Array.fromAsync(Deno.readDir(images.path), ({ name }) => name);
    const bytes = await Deno.readFile(join(images.path, name));
    assert(await readImageFile(images.path, name));
    bytes[bytes.length >> 1] = 255 - (bytes[bytes.length >> 1] ?? 0);
    await Deno.writeFile(join(images.path, name), bytes);
    assertEquals(await readImageFile(images.path, name), undefined);
    await Deno.chmod(images.path, 0o777);
    await assertRejects(() => readImageFile(images.path, name), SandboxError, "only their owner may write");
  });
  const first = await sandbox.acquire({ seed: 7 });
  const second = await sandbox.acquire({ seed: 7 });
  await t.step("acquire() starts a new interpreter", async () => {
    await first.session.exec("mine = 1");
    assertEquals((await second.session.exec("mine")).status, "error");
    assertEquals(valueOf(await first.session.exec("mine + 1")), "2");
  });
  await t.step("acquire() makes randomness reproducible with a seed", async () => {
    const draw = "import random, os\n(random.random(), os.urandom(4))";
    assertEquals(valueOf(await first.session.exec(draw)), valueOf(await second.session.exec(draw)));
  });
  let lease = first;
  await t.step("acquire() waits when the maximum number of workers runs", async () => {
    let came = false;
    const waiting = sandbox.acquire().then((lease) => {
      came = true;
      return lease;
    });
    await first.session.exec("1");
    assert(!came);
    await first[Symbol.asyncDispose]();
    lease = await waiting;
    assertEquals(valueOf(await lease.session.exec("1 + 1")), "2");
  });
  await second[Symbol.asyncDispose]();
  const { session } = lease;
  await t.step("exec() interrupts a loop and keeps its state", async () => {
    const code = "kept = 5\nprint(1, flush=True)\nwhile True: pass";
    const { result } = await stoppedAfterOutput((timeoutMs) => session.exec(code, { timeoutMs }));
    assertEquals([result.status, result.stateKept], ["timeout", true]);
    assertEquals(valueOf(await session.exec("kept")), "5");
  });
  await t.step("fork() and acquire({ from }) continue in other workers", async () => {
    await session.exec("it = iter(range(9)); next(it)\nopen('f', 'w').write('x')");
    const checkpoint = await session.checkpoint();
    const [fork] = await session.fork(1);
    assertEquals(
      valueOf(await (fork as BranchingLease).session.exec("next(it), open('f').read()")),
      "(1, 'x')",
    );
    await fork?.[Symbol.asyncDispose]();
    await using copy = await sandbox.acquire({ from: checkpoint });
    assertEquals(valueOf(await copy.session.exec("next(it), open('f').read()")), "(1, 'x')");
    assertEquals(valueOf(await session.exec("next(it)")), "1");
  });
  await t.step("exec() runs threads, and recursion through C of 600 levels", async () => {
    const threads =
      "import threading\nr = []\nt = threading.Thread(target=r.append, args=(1,))\nt.start()\nt.join()\nr";
    assertEquals(valueOf(await session.exec(threads)), "[1]");
    const deep =
      "import functools, sys\nsys.setrecursionlimit(10**6)\n@functools.lru_cache(None)\ndef f(n): return n and 1 + f(n - 1)\n";
    assertEquals(valueOf(await session.exec(`${deep}f(600)`)), "600");
    const result = await session.exec("f(10**6)");
    assert(result.status === "error" && result.error.type === "RecursionError", JSON.stringify(result));
  });
  await t.step("exec() raises RecursionError at the end of a thread's stack", async () => {
    const code = `import threading
def work():
    try: f(10**6)
    except RecursionError as error: r.append(type(error).__name__)
r = []
threading.stack_size(2**27)
t = threading.Thread(target=work)
t.start()
t.join()
r`;
    assertEquals(valueOf(await session.exec(code)), "['RecursionError']");
  });
  await t.step("exec() frees chains of 100,000 objects", async () => {
    const code = `class Node: pass
node = items = closure = None
for _ in range(10**5):
    last, node, items, closure = node, Node(), [items], (lambda it: lambda: it)(closure)
    node.next = last
del node, last, items, closure`;
    assertEquals((await session.exec(code)).status, "ok");
  });
  for (const [name, statement] of Object.entries(STUBBORN)) {
    await t.step(`exec() ends ${name}, and the next meets a fresh interpreter`, async () => {
      const code = stubbornProgram(statement);
      const stopping = stoppedAfterOutput((timeoutMs) => session.exec(code, { timeoutMs }));
      const { result } = await noteThreads(stopping);
      assertEquals([result.status, result.stateKept], ["timeout", false]);
      const next = await noteThreads(session.exec("6 * 7"));
      assertEquals([valueOf(next), next.restarted], ["42", true]);
    });
  }
  await t.step("exec() enforces the limits of memory, files and output", () => holdsLimits(session));
  await t.step("exec() refuses to load a native library", async () => {
    const code = "open('x.so', 'wb').write(bytes([0, 97, 115, 109, 1, 0, 0, 0]))\n" +
      "import ctypes\nctypes.CDLL('/home/pyodide/x.so')";
    assertEquals((await session.exec(code)).status, "error");
    assertEquals(valueOf(await session.exec("6 * 7")), "42");
  });
  await t.step("a terminated interpreter leaves no thread", async () => {
    await lease[Symbol.asyncDispose]();
    assert(Deno.build.os !== "linux" || threads.size >= 3);
    while (workerThreads().some((thread) => threads.has(thread))) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
  await t.step("acquire() rejects when the sandbox is disposed", async () => {
    await sandbox[Symbol.asyncDispose]();
    await assertRejects(() => sandbox.acquire(), Error, "disposed");
  });
});

Deno.test("WorkerSandbox refuses a profile with settings that a worker cannot have", () => {
  for (
    const wish of ['"shell": true', '"mounts": { "/data": "/data" }', '"layers": { "rlimits": "required" }']
  ) {
    const profile = parseProfile(`{ ${wish} }`, { source: "wish" });
    assertThrows(() => new WorkerSandbox({ profile, maxWorkers: 1 }), TypeError, "profile 'wish'");
  }
});

async function holdsLimits(session: PythonSession): Promise<void> {
  const memory = await session.exec("x = [bytearray(10 ** 7) for _ in range(1000)]");
  assertEquals([memory.status, memory.stateKept], ["memory", true]);
  assertEquals((await session.exec("open('big', 'wb').write(bytes(2 ** 21))")).status, "error");
  const cut = await session.exec("print('x' * 5000)");
  assertEquals([cut.status, cut.stdout.length, cut.truncated], ["ok", 1000, true]);
  assertEquals((await session.exec("while True: print('x' * 5000)")).status, "output");
}

function valueOf(result: ExecResult): string | undefined {
  return result.status === "ok" ? result.value : result.status;
}

/** Returns the names of the threads of workers. Each worker of a process has a name that no other has had. */
function workerThreads(): string[] {
  if (Deno.build.os !== "linux") return [];
  const tasks = Array.from(Deno.readDirSync("/proc/self/task"), ({ name }) => threadName(name));
  return tasks.filter((name) => name.startsWith("worker-"));
}

function threadName(task: string): string {
  try {
    return Deno.readTextFileSync(`/proc/self/task/${task}/comm`);
  } catch {
    return ""; // it has ended
  }
}
