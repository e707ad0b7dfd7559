import { assertEquals } from "@std/assert";
import type { BranchingSession } from "../../../src/sandbox/contract/pool.ts";
import { TempFolder } from "../../temp_folder.ts";
import { startWithPackage } from "../profile/native_package.ts";
import { baseLibrary, extensionModule, userLibrary } from "../profile/side_modules.ts";
import { value } from "../started.ts";

/** A package with one library in the image, and two that only a program loads. */
const FILES = {
  "native/__init__.py":
    "import ctypes, os\nPATH = os.path.dirname(__file__)\nbase = ctypes.CDLL(PATH + '/libbase.so')",
  "native/fast.cpython-314-wasm32-emscripten.so": extensionModule(),
  "native/libbase.so": baseLibrary(),
  "native/libuser.so": userLibrary(),
};
const LOAD_USER = "import ctypes, native\nuser = ctypes.CDLL(native.PATH + '/libuser.so')";
const LOAD_FAST = "import native.fast as fast";
const LOAD_BOTH = `${LOAD_USER}\n${LOAD_FAST}`;
const LOOK_UP = "import native\ncount = native.base.count"; // the image has no address of it
const USE_USER =
  "[user.read(), user.add(2), user.add_by_address(3), user.catch(77), user.factorial(6), native.base.count(0)]";
const USED = "[10, 12, 15, 77, 720, 15]";

/** Programs, and an expression that continues from each, with its value. */
const CONTINUED: Record<string, [program: string, expression: string, value: string]> = {
  "a function of the image's library, without an address in the image": [
    `${LOOK_UP}\ncount(5)`,
    "count(1), native.base.count(1)",
    "(16, 17)",
  ],
  "an extension module": [LOAD_FAST, "fast.answer()", "42"],
  "a library that needs one of the image": [LOAD_USER, USE_USER, USED],
  "both, in one order": [LOAD_BOTH, `${USE_USER}, fast.answer()`, `(${USED}, 42)`],
  "both, in the other order": [
    `${LOAD_FAST}\n${LOAD_USER}`,
    `${USE_USER}, fast.answer()`,
    `(${USED}, 42)`,
  ],
  "addresses of CPython's functions": [
    `${LOAD_USER}\nlong = ctypes.pythonapi.PyLong_FromLong; long.restype = ctypes.py_object`,
    "user.slot_of_long() == ctypes.cast(long, ctypes.c_void_p).value, long(5)",
    "(True, 5)",
  ],
  "addresses that were looked up between two loads": [
    `${LOAD_FAST}\n${LOOK_UP}\n${LOAD_USER}`,
    `${USE_USER}, fast.answer(), count(2)`,
    `(${USED}, 42, 17)`,
  ],
};

Deno.test("a checkpoint has the native libraries that a program has loaded", async (t) => {
  await using folder = await TempFolder.of();
  await using sandbox = await startWithPackage(folder.path, { preimports: ["native"], files: FILES });
  await using session = await sandbox.openSession();
  const run = async (code: string, from: BranchingSession = session) => value(await from.exec(code));

  for (const [name, [program, expression, expected]] of Object.entries(CONTINUED)) {
    await t.step(name, async () => {
      await session.reset({ mode: "rewind" });
      await run(program);
      const checkpoint = await session.checkpoint();
      const [lease] = await session.fork(1);
      assertEquals(await run(expression), expected, "in the session itself");
      assertEquals(lease && await run(expression, lease.session), expected, "in another interpreter");
      await lease?.[Symbol.asyncDispose]();
      await session.restore(checkpoint);
      assertEquals(await run(expression), expected, "after restore()");
    });
  }

  await t.step("an interpreter in which other libraries have their places is replaced", async () => {
    await session.reset();
    await run(LOAD_BOTH);
    const checkpoint = await session.checkpoint();
    await session.reset();
    await run(`${LOAD_FAST}\n${LOAD_USER}\n${LOOK_UP}`);
    await session.restore(checkpoint);
    assertEquals(await run(`${USE_USER}, fast.answer()`), `(${USED}, 42)`);
  });
});
