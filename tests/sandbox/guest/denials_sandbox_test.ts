import { assertEquals } from "@std/assert";
import { loadProfile } from "../../../mod/sandbox.ts";
import type { DeniedAttempts } from "../../../src/sandbox/contract/exec.ts";
import { withSession } from "../shared_session.ts";

/** Programs, with the attempts that are counted. */
const PROGRAMS: [string, DeniedAttempts | undefined][] = [
  ["open('/etc/passwd')", { files: 1 }],
  [
    "for path in ('/etc/shadow', '/proc/1/environ', '/home/alice/.ssh/id_rsa', '../../etc/hosts'):\n" +
    "    try: open(path)\n    except OSError: pass",
    { files: 4 },
  ],
  ["import socket\ntry: socket.create_connection(('10.0.0.1', 80))\nexcept OSError: pass", { network: 1 }],
  ["import socket\nsocket.socket().connect(('10.0.0.1', 80))", { network: 1 }],
  ["try:\n    import js\nexcept ImportError: pass\nimport pyodide_js", { javascript: 2 }],
  ["import pyodide", { javascript: 1 }],
  ["import os\nos.fork()", { processes: 1 }],
  ["open('/home/alice/notes.txt')", { files: 1 }],
  ["open('/home/pyodide/missing.txt')", undefined],
  ["open('../run/missing.txt')", undefined],
  ["import os\nos.execv('/bin/ls', ['ls'])", { processes: 1 }],
  ["import subprocess\ntry: subprocess.run(['curl', 'x'])\nexcept OSError: pass", undefined],
  ["import platform, uuid\nplatform.platform(), platform.uname(), uuid.uuid1(), uuid.getnode()", undefined],
  ["import platform\nplatform.freedesktop_os_release()", undefined],
  ["open('/proc/meminfo')", undefined],
  [
    "import importlib.util, os\nhasattr(os, 'fork'), os.cpu_count(), importlib.util.find_spec('numpy')",
    undefined,
  ],
  ["print(1 + 1)", undefined],
  ["open('missing.txt')", undefined],
  ["import os\nos.path.exists('/etc/passwd'), os.listdir('.'), os.environ.get('HOME')", undefined],
  [
    "import asyncio, csv, email, hashlib, logging, multiprocessing, platform, random, tempfile, unittest, uuid\n" +
    "with tempfile.TemporaryFile() as file: file.write(b'1')\nuuid.uuid4(), asyncio.run(asyncio.sleep(0))",
    undefined,
  ],
  ["import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'print(1)'])", undefined],
];

Deno.test("Session.exec() counts refused attempts, and none of ordinary programs", async () => {
  await withSession(async (session) => {
    const found: [string, DeniedAttempts | undefined][] = [];
    for (const [code] of PROGRAMS) {
      found.push([code, (await session.exec(code, { timeoutMs: 60_000 })).denied]);
    }
    assertEquals(found, PROGRAMS);
  });
});

Deno.test("importlib.util.find_spec() returns None for the bridge to JavaScript", async () => {
  await withSession(async (session) => {
    const result = await session.exec("import importlib.util\nprint(importlib.util.find_spec('js'))");
    assertEquals([result.status, result.stdout], ["ok", "None\n"]);
  });
});

Deno.test("Session.exec() counts no missing file of a home outside of /home/pyodide", async () => {
  const profile = { ...await loadProfile("python"), home: "/home/alice" };
  await withSession(async (session) => {
    assertEquals((await session.exec("open('/home/alice/missing.txt')")).denied, undefined);
    assertEquals((await session.exec("open('/etc/shadow')")).denied, { files: 1 });
  }, { profile });
});

Deno.test("Session.exec() keeps counts that a program forges within bounds, and uses no others", async () => {
  await withSession(async (session) => {
    const forge = (counts: string) =>
      "import sys\nframe = sys._getframe()\nwhile frame:\n    missing = frame.f_builtins.get('_missing')\n" +
      `    if missing: missing.denials.update(${counts})\n    frame = frame.f_back`;
    const huge = await session.exec(forge("{'files': 10**9, 'network': 0}"));
    assertEquals([huge.status, huge.denied], ["ok", { files: 1_000_000 }]);
    for (const counts of ["{'files': -1}", "{'files': 1.5}", "{'gold': 1}", "{'files': 'x'}"]) {
      const result = await session.exec(forge(counts));
      assertEquals([counts, result.status, result.denied], [counts, "crashed", undefined]);
    }
  });
});
