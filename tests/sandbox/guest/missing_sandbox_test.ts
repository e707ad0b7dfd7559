import { assertEquals, assertStringIncludes } from "@std/assert";
import type { ExecResult } from "../../../src/sandbox/contract/exec.ts";
import { withSession } from "../shared_session.ts";
import { traceback, value } from "../started.ts";

const [NETWORK, SIZES] = [
  "the sandbox has no network: use files, or the tools of the session if it has any",
  "Python is a 32-bit program here: sizes, indexes and lengths must be less than 2**31",
];

/** Programs that need what the sandbox lacks, with the last line of each report. */
const MESSAGES: Record<string, string> = {
  "import numpy.linalg":
    "ModuleNotFoundError: No module named 'numpy' (not in profile \"python\"; paddock packages add numpy)",
  "import tkinter":
    "ModuleNotFoundError: No module named 'tkinter'; the sandbox has no display: print the result instead",
  "import readline":
    "ModuleNotFoundError: No module named 'readline'; the sandbox has no terminal: read sys.stdin and write sys.stdout instead",
  "import micropip":
    "ModuleNotFoundError: No module named 'micropip'; Python cannot call JavaScript here: use the standard library instead",
  "import syslog":
    "ModuleNotFoundError: No module named 'syslog'; this module needs what WebAssembly lacks: use another module of the standard library",
  "import no_such_module": "ModuleNotFoundError: No module named 'no_such_module'",
  "import winreg": "ModuleNotFoundError: No module named 'winreg'",
  "import socket; socket.create_connection(('example.com', 80))":
    `socket.gaierror: [Errno -2] Name does not resolve; ${NETWORK}`,
  "from urllib.request import urlopen; urlopen('http://example.com')":
    `urllib.error.URLError: <urlopen error [Errno -2] Name does not resolve>; ${NETWORK}`,
  "import itertools; itertools.repeat(1, 10**10)":
    `OverflowError: Python int too large to convert to C ssize_t; ${SIZES}`,
  "[0] * 2**32": "MemoryError",
  "%matplotlib inline\nprint('ok')":
    "SyntaxError: invalid syntax; line 1 is an IPython magic (%matplotlib): leave the line out, as figures show themselves",
  "x = 1\nif x:\n    !echo it's":
    "SyntaxError: unterminated string literal (detected at line 3); line 3 is a shell command of IPython: use subprocess.run(command, shell=True)",
  "import os\nos.path?": "SyntaxError: invalid syntax; line 2 is a question of IPython: use help()",
  "%%no_such_magic a\nx":
    "SyntaxError: invalid syntax; line 1 is an IPython magic (%%no_such_magic): use plain Python",
  "x = = 1": "SyntaxError: invalid syntax",
  "1.0e400 ** 2; int(1e400)": "OverflowError: cannot convert float infinity to integer",
};

Deno.test("Session.exec() reports what is missing, why, and what to do", async () => {
  await withSession(async (session) => {
    const found: Record<string, string | undefined> = {};
    for (const code of Object.keys(MESSAGES)) {
      found[code] = traceback(await session.exec(code, { timeoutMs: 60_000 })).trimEnd().split("\n").at(-1);
    }
    assertEquals(found, MESSAGES);
  });
});

Deno.test("a program that handles the error of a missing module finds CPython's text", async () => {
  const code = `import importlib.util
try: import numpy
except ImportError as error: text = str(error), error.name
text, importlib.util.find_spec("numpy")`;
  await withSession(async (session) => {
    assertEquals(value(await session.exec(code)), "((\"No module named 'numpy'\", 'numpy'), None)");
  });
});

/** The function of human-eval, bigcode and LiveCodeBench that removes what a submission must not call. */
const GUARD = `
def reliability_guard():
    import faulthandler, platform, resource
    for limit in (resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_STACK):
        resource.setrlimit(limit, (4 << 30, 4 << 30))
    faulthandler.disable()
    import builtins, os, shutil, subprocess, sys
    builtins.exit = builtins.quit = None
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in ("kill system putenv remove removedirs rmdir fchdir setuid fork forkpty killpg rename renames truncate "
                 "replace unlink fchmod fchown chmod chown chroot lchflags lchmod lchown getcwd chdir").split():
        setattr(os, name, None)
    shutil.rmtree = shutil.move = shutil.chown = None
    subprocess.Popen = None
    for name in ("ipdb", "joblib", "resource", "psutil", "tkinter"):
        sys.modules[name] = None
reliability_guard()
`;

Deno.test("reliability_guard() harms neither the next block, nor a program, nor the state after a rewind", async () => {
  await withSession(async (session) => {
    assertEquals((await session.exec(GUARD)).status, "ok");
    const next =
      "import asyncio, tempfile\nasync def f(): return 1\nprint(await f(), input())\nopen('x', 'w').write('a')";
    const result = await session.exec(next, { stdin: "line\n" });
    assertEquals([value(result), result.stdout], ["1", "1 line\n"]);
    assertEquals(
      (await session.exec("print(__file__)", { argv: ["main.py"] })).stdout,
      "/home/pyodide/main.py\n",
    );
    assertStringIncludes(traceback(await session.exec("1 / 0")), "ZeroDivisionError");
    await session.reset({ mode: "rewind" });
    const after =
      "import os, resource, shutil, subprocess\nos.mkdir('d'), os.rmdir('d'), os.getcwd(), None in (os.kill, os.fork, shutil.move, subprocess.Popen, quit)";
    assertEquals(value(await session.exec(after)), "(None, None, '/home/pyodide', False)");
  });
});

Deno.test("the numbers of blocks begin at 1 after a rewind", async () => {
  await withSession(async (session) => {
    const first = (result: ExecResult) => traceback(result).match(/<block \d+>/)?.[0];
    assertEquals(first(await session.exec("1 / 0")), "<block 1>");
    assertEquals(first(await session.exec("1 / 0")), "<block 2>");
    await session.reset({ mode: "rewind" });
    assertEquals(first(await session.exec("1 / 0")), "<block 1>");
    await session.reset({ mode: "fresh" });
    assertEquals(first(await session.exec("1 / 0")), "<block 1>");
  });
});
