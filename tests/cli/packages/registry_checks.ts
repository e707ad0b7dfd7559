import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { ROOT, run } from "../../../packaging/sources.ts";
import { PAGE, readExamples, runExample } from "../../../scripts/gallery.ts";
import { loadProfile } from "../../../src/sandbox/profile/profile.ts";
import { Sandbox } from "../../../src/sandbox/sandbox.ts";
import { copyPlainImage } from "../../sandbox/copy_image.ts";
import { TempFolder } from "../../temp_folder.ts";
import { runPaddock } from "../run_paddock.ts";
import cases from "./registry_cases.json" with { type: "json" };

Deno.test("the example z3_solver of the gallery prints what docs/gallery.md shows", async () => {
  const command = ["run", "-A", "src/cli.ts", "--yes", "exec", "--profile", "reason", "-e", "import z3"];
  await run(Deno.execPath(), command, { cwd: ROOT });
  const example = readExamples(await Deno.readTextFile(PAGE)).find(({ name }) => name === "z3_solver");
  assertEquals(await runExample("z3_solver"), example?.output);
});

Deno.test("packages of the registry are added and run", async (t) => {
  await using folder = await TempFolder.of();
  await copyPlainImage(folder.path);
  const file = join(folder.path, "mine.jsonc");
  const packages = async (command: string, ...args: string[]) =>
    await runPaddock(["--cache-dir", folder.path, "packages", command, "--profile", file, ...args]);

  await t.step("paddock packages add resolves and downloads them", async () => {
    const { code, stderr } = await packages("add", ...cases.map((row) => row.package));
    assertEquals([code, stderr], [0, ""]);
  });

  await using sandbox = await Sandbox.start({ profile: await loadProfile(file), cacheDir: folder.path });
  await using session = await sandbox.openSession();
  for (const row of cases) {
    await t.step(`${row.package} runs`, async () => {
      const result = await session.exec(row.code, { timeoutMs: 120_000 });
      const found = result.status === "ok" ? result.value : JSON.stringify(result);
      assertEquals(found, row.value);
    });
  }

  await t.step("contourpy names numpy, which it needs", async () => {
    const { code, stderr } = await packages("add", "contourpy");
    assertEquals(code, 2);
    assertStringIncludes(stderr, "Cannot add 'numpy', which contourpy");
    assertStringIncludes(stderr, "add --yes to download from there, or give a mirror with --pyodide-url");
  });

  await t.step("a package without a wheel for the platform names a wheel that it has", async () => {
    const { code, stderr } = await packages("add", "uvloop");
    assertEquals(code, 2);
    assertStringIncludes(stderr, "needs a pure wheel or one for pyemscripten_2026_0_wasm32: found 'uvloop-");
  });
});
