import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Session } from "../../../src/sandbox/session.ts";
import { startWithPackage, WHEEL } from "./native_package.ts";
import { TempFolder } from "../../temp_folder.ts";
import {
  assembleSideModule,
  baseLibrary,
  extensionModule,
  startLibrary,
  userLibrary,
} from "./side_modules.ts";
import { value } from "../started.ts";

const OPEN = "import ctypes\nuser = ctypes.CDLL(SITE + '/native/libuser.so')";

Deno.test("a package with native code", async (t) => {
  await using folder = await TempFolder.of();
  await using sandbox = await startWithPackage(folder.path, {
    preimports: ["native", "numpy"],
    files: {
      "native/__init__.py":
        "import native.fast, ctypes, os\nbase = ctypes.CDLL(os.path.dirname(__file__) + '/libbase.so')\n" +
        "assert base.count(5) == 15",
      "numpy/__init__.py": "from numpy import random",
      "numpy/random.py": "state = 'of the image'\ndef seed(value):\n    global state\n    state = value",
      "native/fast.cpython-314-wasm32-emscripten.so": extensionModule(),
      "native/libbase.so": baseLibrary(),
      "native/libuser.so": userLibrary(),
      "native/libstart.so": startLibrary(),
    },
  });
  await using session = await sandbox.openSession();
  const run = async (code: string, from: Session = session) => value(await from.exec(`${PRELUDE}${code}`));

  await t.step(
    "an extension module of the image has its relocations and what its constructor did",
    async () => {
      assertEquals(await run("import native.fast\nnative.fast.answer()"), "42");
    },
  );

  await t.step("a library of the image keeps its data", async () => {
    assertEquals(await run("import native\nnative.base.count(1)"), "16");
  });

  await t.step("a library uses the data, functions and exceptions of one that it needs", async () => {
    const results = "[user.read(), user.add(2), user.add_by_address(3), user.catch(77), user.factorial(6)]";
    assertEquals(await run(`${OPEN}\n${results}`), "[16, 18, 21, 77, 720]");
  });

  await t.step("a function of CPython has the address that CPython's own module uses", async () => {
    const slot = "ctypes.cast(ctypes.pythonapi.PyLong_FromLong, ctypes.c_void_p).value";
    assertEquals(await run(`${OPEN}\nuser.slot_of_long() == ${slot}`), "True");
  });

  await t.step("a rewind restores libraries of the image and forgets the others", async () => {
    for (let round = 0; round < 5; round++) {
      assertEquals(await run(`${OPEN}\n[user.add(1), user.read()]`), round === 0 ? "[22, 22]" : "[16, 16]");
      await session.reset({ mode: "rewind" });
    }
    assertEquals(await run("import native\nnative.base.count(0)"), "15");
  });

  await t.step("sessions of one process have their own data", async () => {
    await using other = await sandbox.openSession();
    assertEquals(await run("import native\nnative.base.count(100)", other), "115");
    assertEquals(await run("native.base.count(0)"), "15");
  });

  await t.step(
    "an endless loop in a library is stopped, and the session continues with a new state",
    async () => {
      const result = await session.exec(`${PRELUDE}${OPEN}\nuser.loop()`, { timeoutMs: 1000 });
      assertEquals(result.status, "timeout");
      assertEquals(await run("import native\nnative.base.count(0)"), "15");
    },
  );

  await t.step("a library gets no more memory than the session", async () => {
    const pages = Number(await run(`${OPEN}\nuser.grow()`));
    assert(pages * 65536 < sandbox.profile.limits.memoryBytes, `${pages} pages`);
    await session.reset();
  });

  await t.step("calls beyond the memory, and the end of the program, end only the interpreter", async () => {
    for (const call of ["read_at(0x7ffffff0)", "stop()"]) {
      assertEquals([call, (await session.exec(`${PRELUDE}${OPEN}\nuser.${call}`)).status], [call, "crashed"]);
      assertEquals(await run("import native.fast\nnative.fast.answer()"), "42");
    }
  });

  await t.step("a library with code that runs at its start harms only its own interpreter", async () => {
    await session.exec(`${PRELUDE}import ctypes\nctypes.CDLL(SITE + '/native/libstart.so').nothing()`);
    await session.reset();
    assertEquals(await run("import native\nnative.base.count(0)"), "15");
  });

  await t.step("dlopen() refuses files that the profile does not list", async () => {
    const attempts = [
      "open('/tmp/libx.so', 'wb').write(open(SITE + '/native/libuser.so', 'rb').read()); p = '/tmp/libx.so'",
      "import os; os.symlink(SITE + '/native/libuser.so', '/tmp/liby.so'); p = '/tmp/liby.so'",
      "p = SITE + '/native/../native/libuser.so'",
      "p = 'libuser.so'",
      "p = '__proto__'",
      "p = 'constructor'",
      "p = 'A' * 100_000",
    ];
    for (const attempt of attempts) {
      const code =
        `import ctypes\n${attempt}\ntry:\n    ctypes.CDLL(p)\nexcept OSError:\n    print('refused')`;
      assertEquals([attempt, (await session.exec(PRELUDE + code)).stdout], [attempt, "refused\n"]);
    }
  });

  await t.step("numpy.random is seeded like random", async () => {
    const states: (string | undefined)[] = [];
    for (const options of [{}, { seed: 7 }, { seed: 2 ** 32 + 3 }]) {
      await using seeded = await sandbox.openSession(options);
      states.push(await run("import numpy\nnumpy.random.state", seeded));
    }
    assertEquals(states, [undefined, "7", "3"]);
  });

  await t.step("the files of libraries are empty", async () => {
    assertEquals(await run("import os\nos.path.getsize(SITE + '/native/libuser.so')"), "0");
  });
});

Deno.test("Sandbox.start() refuses native code that is of another platform or cannot be linked", async () => {
  await using folder = await TempFolder.of();
  const library = assembleSideModule(`(import "env" "backtrace" (func))`, "");
  const start = (wheel: string) =>
    startWithPackage(folder.path, { preimports: [], wheel, files: { "native/core.so": library } });
  await assertRejects(
    () => start("native-1.0-cp314-cp314-manylinux_2_28_x86_64.whl"),
    TypeError,
    "Cannot install package 'native' as it must be for any platform or",
  );
  await assertRejects(
    () => start("native-1.0-py3-none-any.whl"),
    TypeError,
    "Cannot install package 'native' as its native code must be for pyemscripten_2026_0_wasm32: found " +
      "'native/core.so' in 'native-1.0-py3-none-any.whl'",
  );
  await assertRejects(
    () => start(WHEEL),
    TypeError,
    "Cannot link native library 'core.so' as it needs the symbol 'backtrace', which neither CPython nor",
  );
});

const PRELUDE = "SITE = '/lib/python3.14/site-packages'\n";
