import { assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { SandboxPool } from "../../mod.ts";
import { COMMANDS_PRELOAD } from "../../src/envs/workspace/commands/commands.ts";
import { loadProfile } from "../../src/sandbox/profile/profile.ts";
import { Sandbox } from "../../src/sandbox/sandbox.ts";
import { runPaddock } from "../cli/run_paddock.ts";
import { copyPlainImage } from "../sandbox/copy_image.ts";
import { served } from "../server/served.ts";
import { TempFolder } from "../temp_folder.ts";

const TESTS = `import sys, pytest
from unittest.mock import patch

@pytest.fixture(params=[1, 2])
def number(request): return request.param
@pytest.mark.parametrize("x", [1, 2])
def test_product(number, x, tmp_path, capsys): assert number * x > 0
def test_wheel(): assert "site-packages" in pytest.__file__
def test_wrong(): assert [1, 2] == [1, 3]
`;

/** Downloads the packages with pip and returns a profile that has them. */
async function addPackages(folder: string, options: { base: string; names: readonly string[] }) {
  const file = join(folder, `${options.base}.jsonc`);
  const shipped = new URL(`../../sandboxes/${options.base}.jsonc`, import.meta.url);
  await Deno.copyFile(shipped, file);
  const { code, stderr } = await runPaddock(
    ["--cache-dir", folder, "packages", "add", "--profile", file, ...options.names],
  );
  assertEquals([code, stderr], [0, ""]);
  return await loadProfile(file);
}

Deno.test("/run_code runs tests with the wheel of pytest", async () => {
  await using folder = await TempFolder.of();
  await copyPlainImage(folder.path);
  const profile = await addPackages(folder.path, { base: "serve", names: ["pytest"] });
  await using pool = new SandboxPool({ profile, size: 1, resetMode: "rewind", cacheDir: folder.path });
  await using server = served({ pool, maxSessions: 1 });
  const run = async (code: string, seconds = 60) =>
    (await server.send("POST", "/run_code", { code, language: "pytest", run_timeout: seconds })).body;
  const { status, run_result: result } = await run(TESTS);
  assertEquals(
    [status, result.status, result.return_code],
    ["Failed", "Finished", 1],
    JSON.stringify(result),
  );
  assertMatch(result.stdout, /test_program\.py::test_product\[1-1\] PASSED/);
  assertMatch(result.stdout, /At index 1 diff: 2 != 3/);
  assertMatch(result.stdout, /FAILED test_program.py::test_wrong - /);
  assertMatch(result.stdout, /1 failed, 5 passed in /);
  const late = await run("import time\ndef test_late():\n    while True: time.sleep(0.01)", 3);
  assertEquals(late.run_result.status, "TimeLimitExceeded", JSON.stringify(late));
  assertEquals((await run("x = 1")).run_result.return_code, 5);
  const broken = await run("import no_such_module");
  assertEquals(broken.run_result.return_code, 2, JSON.stringify(broken));
});

Deno.test("the agent's lint uses the wheel of pyflakes", async () => {
  await using folder = await TempFolder.of();
  await copyPlainImage(folder.path);
  const profile = await addPackages(folder.path, { base: "workspace", names: ["pyflakes"] });
  await using sandbox = await Sandbox.start({
    profile: { ...profile, preload: COMMANDS_PRELOAD },
    cacheDir: folder.path,
  });
  await using session = await sandbox.openSession();
  const code = `import paddock_commands as p
assert p._pyflakes().__file__.endswith("/site-packages/pyflakes/checker.py")
[tuple(f) for text in ("print(x)", "__all__ = ['f']", "if 1:\\n  x = 1", "def f(: ...", "def f():\\n    import os")
  for f in p.find_faults(text.encode(), "a.py")]`;
  const result = await session.exec(code, { timeoutMs: 60_000 });
  assertEquals(
    result.status === "ok" ? result.value : JSON.stringify(result),
    `[(1, 7, 'F821', "undefined name 'x'"), (1, 1, 'F822', "undefined name 'f' in __all__"), ` +
      `(2, 3, 'E111', 'indentation is not a multiple of 4'), (1, 7, 'E999', 'SyntaxError: invalid syntax')]`,
  );
});
