import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { SandboxPool } from "../../mod.ts";
import { COMMANDS_PRELOAD } from "../../src/envs/workspace/commands/commands.ts";
import { parseProfile } from "../../src/sandbox/profile/profile.ts";
import { Sandbox } from "../../src/sandbox/sandbox.ts";
import { makeWheel } from "../cli/packages/package_index.ts";
import { copyPlainImage } from "../sandbox/copy_image.ts";
import { served } from "../server/served.ts";
import { TempFolder } from "../temp_folder.ts";

/** Stand-ins for the packages. `wheels_checks.ts` tests the real ones. */
const PYTEST = `
import sys
def main(args, plugins):
    print("the package runs", args[-1])
    class Info: value = KeyboardInterrupt("late") if "late" in open(args[-1]).read() else Stop()
    plugins[0].pytest_keyboard_interrupt(Info)
    return 5
class Stop(KeyboardInterrupt): __module__ = "builtins"
`;
const PYFLAKES = `
class Checker:
    def __init__(self, tree, filename):
        self.messages = [UndefinedName(), UnusedImport()]
class UndefinedName:
    lineno, col, message, message_args = 3, 4, "undefined name %r in " + __name__, ("x",)
class UnusedImport(UndefinedName): pass
`;

/** Makes a profile with both stand-ins. */
async function profileIn(folder: string) {
  const packages: Record<string, object> = {};
  const stand_ins = {
    pytest: { "pytest/__init__.py": PYTEST },
    pyflakes: { "pyflakes/checker.py": PYFLAKES },
  };
  for (const [name, files] of Object.entries(stand_ins)) {
    const { file, bytes, sha256 } = await makeWheel({ name, version: "1.0", files });
    await Deno.writeFile(join(folder, file), bytes);
    packages[name] = { wheel: file, sha256 };
  }
  await copyPlainImage(folder);
  const profile = parseProfile(JSON.stringify({ packages }), { source: "mine", directory: folder });
  return { ...profile, preload: COMMANDS_PRELOAD };
}

Deno.test("tests and lint use pytest and pyflakes where the profile has them", async (t) => {
  await using folder = await TempFolder.of();
  const profile = await profileIn(folder.path);

  await t.step("/run_code runs the pytest of the profile, and returns its exit code", async () => {
    await using pool = new SandboxPool({ profile, size: 1, resetMode: "rewind", cacheDir: folder.path });
    await using server = served({ pool, maxSessions: 1 });
    const run = async (code: string, files: Record<string, string> = {}) =>
      (await server.send("POST", "/run_code", { code, language: "pytest", files })).body.run_result;
    const result = await run("def test_a(): ...");
    assertEquals([result.return_code, result.stdout], [5, "the package runs test_program.py\n"]);
    assertStringIncludes((await run("late")).stderr, "KeyboardInterrupt: late");
  });

  await t.step("the lint uses the pyflakes of the profile, but no folder of that name", async () => {
    await using sandbox = await Sandbox.start({ profile, cacheDir: folder.path });
    await using session = await sandbox.openSession();
    const find =
      "import paddock_commands as p\n[f'{f.code} {f.message}' for f in p.find_faults(b'x', 'a.py')]";
    const values: unknown[] = [];
    for (const prelude of ["", "p._pyflakes.cache_clear()\n"]) {
      const result = await session.exec(prelude + find);
      values.push(result.status === "ok" ? result.value : result);
      await session.writeFile("pyflakes/__init__.py", "");
      await session.writeFile("pyflakes/checker.py", "raise SystemExit('of the workspace')");
      await session.exec(
        "import sys; del sys.modules['pyflakes'], sys.modules['pyflakes.checker']; sys.path.insert(0, '')",
      );
    }
    assertEquals(values, [
      `["F821 undefined name 'x' in pyflakes.checker"]`,
      `["F821 undefined name 'x'"]`,
    ]);
  });
});
