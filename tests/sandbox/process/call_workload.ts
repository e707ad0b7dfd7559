// Makes processes of sandboxes do all that they can do, so that a tracer sees the system calls that Deno then makes.
import { assertEquals } from "@std/assert";
import { detectLayers } from "../../../src/sandbox/process/layers.ts";
import { loadProfile, type Profile } from "../../../src/sandbox/profile/profile.ts";
import { Sandbox } from "../../../src/sandbox/sandbox.ts";
import type { Session } from "../../../src/sandbox/session.ts";

const detected = await detectLayers();

/** Programs that end as they should, and what each prints. */
const PROGRAMS: Readonly<Record<string, { readonly code: string; readonly stdout: string }>> = {
  "files": {
    code: "import os\nopen('a', 'w').write('x' * 10**6)\nos.rename('a', 'b')\nprint(os.listdir())",
    stdout: "['b']\n",
  },
  "the clock and sleep": {
    code: "import time\ntime.sleep(0.05)\nprint(time.time() > 0, time.process_time() >= 0)",
    stdout: "True True\n",
  },
  "randomness": {
    code: "import os, uuid\nprint(len(os.urandom(64)), len(str(uuid.uuid4())))",
    stdout: "64 36\n",
  },
  "threads": {
    code: "import threading\nt = [threading.Thread(target=print, args=(i,)) for i in range(8)]\n" +
      "[x.start() for x in t]\n[x.join() for x in t]\nprint('joined')",
    stdout: "0\n1\n2\n3\n4\n5\n6\n7\njoined\n",
  },
  "processes": {
    code: "import subprocess, sys\n" +
      "print(subprocess.run([sys.executable, '-c', 'print(6 * 7)'], capture_output=True, text=True).stdout)",
    stdout: "42\n\n",
  },
  "a pool of processes": {
    code: "from multiprocessing import Pool\nwith Pool(2) as pool: print(pool.map(abs, [-1, -2]))",
    stdout: "[1, 2]\n",
  },
  "asyncio": {
    code:
      "import asyncio\nasync def main():\n    await asyncio.gather(*(asyncio.sleep(0.01) for _ in range(20)))\n" +
      "asyncio.run(main())\nprint('slept')",
    stdout: "slept\n",
  },
  "a module of C that is loaded": {
    code: "import sqlite3\nprint(sqlite3.connect(':memory:').total_changes)",
    stdout: "0\n",
  },
  "code that V8 optimizes": {
    code: "total = 0\nfor i in range(3_000_000):\n    total += i & 7\nprint(total)",
    stdout: "10500000\n",
  },
  "a heap that grows and is collected": {
    code: "import gc\nbig = [bytearray(20 * 2**20) for _ in range(5)]\ndel big\n" +
      "for _ in range(5):\n    x = [[] for _ in range(200_000)]\n    gc.collect()\nprint('done')",
    stdout: "done\n",
  },
  "much output": { code: "for _ in range(20): print('x' * 10_000)", stdout: "" },
};

/** A program that ends its interpreter or is ended, and the statuses that may follow. */
interface Crash {
  readonly code: string;
  readonly statuses: readonly string[];
  /** @default 5_000 */
  readonly timeoutMs?: number;
}

const CRASHES: Readonly<Record<string, Crash>> = {
  "an address that is invalid": {
    code: "import ctypes\nctypes.string_at(2**32 - 8, 64)",
    statuses: ["crashed", "error"],
  },
  "memory beyond the limit": {
    code: "big = []\nwhile True: big.append(bytearray(2**24))",
    statuses: ["crashed", "error", "memory", "killed"],
  },
  "deep recursion in C": {
    code: "x = []\nfor _ in range(200_000): x = [x]\nrepr(x)",
    statuses: ["crashed", "error", "memory"],
  },
  "a loop that ignores an interrupt": {
    code: "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    statuses: ["timeout"],
    timeoutMs: 500,
  },
};

async function useSession(session: Session, profile: Profile): Promise<void> {
  for (const [name, { code, stdout }] of Object.entries(PROGRAMS)) {
    const result = await session.exec(code);
    assertEquals(result.status, "ok", `${name}: ${JSON.stringify(result)}`);
    if (stdout !== "") assertEquals(result.stdout, stdout, name);
  }
  if (profile.shell) {
    assertEquals((await session.shell("echo a b | wc -w && seq 3 | sort -r")).status, "ok");
  }
  await session.writeFile("f.bin", new Uint8Array(3 * 2 ** 20));
  assertEquals((await session.readFile("f.bin")).length, 3 * 2 ** 20);
  await session.exec("kept = [bytes(100)] * 1000");
  const checkpoint = await session.checkpoint();
  for (const copy of await session.fork(1)) await copy[Symbol.asyncDispose]();
  for (const mode of ["rewind", "fresh"] as const) await session.reset({ mode });
  await session.restore(checkpoint);
  assertEquals((await session.exec("len(kept)")).status, "ok");
  const interrupted = await session.exec("while True: pass", { timeoutMs: 300 });
  assertEquals(interrupted.status, "timeout");
}

async function crash(session: Session): Promise<void> {
  for (const [name, { code, statuses, timeoutMs = 5_000 }] of Object.entries(CRASHES)) {
    const { status } = await session.exec(code, { timeoutMs });
    assertEquals(statuses.includes(status), true, `${name} ended as '${status}'`);
    assertEquals((await session.exec("1 + 1")).status, "ok", `after ${name}`);
  }
}

const python = await loadProfile("python");
const profiles: Readonly<Record<string, Profile>> = {
  "one session": python,
  "two sessions": { ...python, sessionsPerProcess: 2 },
  "a shell": await loadProfile("workspace"),
};
for (const [name, profile] of Object.entries(profiles)) {
  await using sandbox = await Sandbox.start({
    profile,
    detected,
    optimize: name === "one session" ? "start" : "use",
  });
  const sessions = await Promise.all(
    Array.from({ length: profile.sessionsPerProcess }, () => sandbox.openSession()),
  );
  await Promise.all(sessions.map((session) => useSession(session, profile)));
  for (const session of sessions) await crash(session);
  for (const session of sessions) await session[Symbol.asyncDispose]();
  const last = await sandbox.openSession();
  assertEquals((await last.exec("print('x' * 100_000)")).status, "ok");
}
