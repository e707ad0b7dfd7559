import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { downloadPackages, type Installation, resolvePackages } from "../../../src/cli/packages/install.ts";
import { PipResolver } from "../../../src/cli/packages/pip.ts";
import { ResolutionError } from "../../../src/cli/packages/resolution.ts";
import { SandboxResolver } from "../../../src/cli/packages/sandbox_resolver.ts";
import { sha256 } from "../../../src/hash.ts";
import { isIntact, storePath } from "../../../src/sandbox/image/package_store.ts";
import { parseProfile } from "../../../src/sandbox/profile/profile.ts";
import { Sandbox } from "../../../src/sandbox/sandbox.ts";
import { copyPlainImage } from "../../sandbox/copy_image.ts";
import { TempFolder } from "../../temp_folder.ts";
import { makeZip, PackageIndex, type ServedFile } from "./package_index.ts";

/** A build backend that makes a wheel by the tool of another package. It compiles first, and goes on without. */
const BACKEND = `
import pathlib, subprocess
from wheel_tool import write

def build_wheel(folder, config_settings=None, metadata_directory=None):
    try:
        subprocess.run(["cc", "-c", "quick.c"], check=True)
    except OSError as error:
        print("there is no compiler:", type(error).__name__)
    return write(folder, EXTRA)
`;

/** The tool that the build needs. The name of its wheel is that of another platform's, as for packages with libraries. */
const TOOL = `
import os, time, zipfile

def write(folder, extra):
    name = "quick-1.5-cp314-cp314-emscripten_5_0_3_wasm32.whl"
    info = "quick-1.5.dist-info"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        wheel.writestr("quick/__init__.py", "answer = 42\\n")
        for path in extra:
            wheel.writestr(path, str(time.time()))
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: quick\\nVersion: 1.5\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nTag: cp314-cp314-emscripten_5_0_3_wasm32\\n")
        wheel.writestr(f"{info}/RECORD", "")
    return name
`;

const PYPROJECT = `[build-system]
requires = ["wheel-tool>=1"]
build-backend = "backend"
backend-path = ["."]
`;

/** Returns bytes that cannot be compressed. */
function randomBytes(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  return bytes;
}

/** Makes a source distribution of the package quick. */
async function makeSource(
  version: string,
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<ServedFile> {
  const folder = `quick-${version}`;
  const entries = Object.entries(files).map(([path, text]) => [`${folder}/${path}`, text] as const);
  const bytes = makeZip(Object.fromEntries(entries));
  return { file: `${folder}.zip`, bytes, sha256: await sha256(bytes) };
}

const sources = [
  await makeSource("1.5", {
    "pyproject.toml": PYPROJECT,
    "backend.py": BACKEND.replace("EXTRA", "[]"),
    "words.bin": randomBytes(3 * 1024 * 1024),
  }),
  await makeSource("2.0", {
    "pyproject.toml": PYPROJECT,
    "backend.py": BACKEND.replace("EXTRA", '["quick/fast.so"]'),
  }),
  await makeSource("3.0", {
    "setup.py": 'from setuptools import Extension, setup\nsetup(ext_modules=[Extension("q", ["q.c"])])\n',
  }),
];

const hasPip = await PipResolver.find({}) !== undefined;

for (const kind of hasPip ? ["pip", "sandbox"] as const : ["sandbox"] as const) {
  Deno.test(`a source distribution is built in a sandbox, with the resolver ${kind}`, async (t) => {
    await using mirror = await PackageIndex.serve([], { mirrored: sources });
    const links = sources.map(({ file, sha256 }) =>
      `<a href="${mirror.mirrorUrl}${file}#sha256=${sha256}">${file}</a>`
    );
    await using index = await PackageIndex.serve([
      { name: "user", version: "1.0", requires: ["quick<2"] },
      { name: "native-user", version: "1.0", requires: ["quick<3"] },
      { name: "compiled-user", version: "1.0", requires: ["quick"] },
      { name: "wheel-tool", version: "1.0", files: { "wheel_tool/__init__.py": TOOL } },
    ], { links: { quick: links.join("") } });
    await using folder = await TempFolder.of();
    await copyPlainImage(folder.path);
    const { signal } = new AbortController();
    const found = kind === "pip" ? PipResolver.find({ index: index.url }) : undefined; // a search starts pip
    const installation: Installation = {
      cacheDir: folder.path,
      signal,
      resolver: async () => await found ?? new SandboxResolver({ index: index.url, cacheDir: folder.path }),
    };
    const resolve = (name: string) => resolvePackages({ requirements: [name], pinned: [] }, installation);

    await t.step("into a pure wheel that programs import", async () => {
      const packages = await resolve("user");
      assertEquals(packages.map(({ name, path, stored }) => [name, path, stored?.source, stored?.neededBy]), [
        ["quick", "quick-1.5-py3-none-any.whl", "built", ["user"]],
        ["user", "user-1.0-py3-none-any.whl", "index", []],
      ]);
      await downloadPackages(packages, installation);
      const profile = { ...parseProfile("{}", { source: "built" }), packages };
      await using sandbox = await Sandbox.start({ profile, cacheDir: folder.path });
      const session = await sandbox.openSession();
      const result = await session.exec("import quick, user\nprint(quick.answer)");
      assertEquals([result.status, result.stdout], ["ok", "42\n"]);
    });

    await t.step("and again to the same bytes, for a profile from another machine", async () => {
      const packages = await resolve("user");
      const [quick] = packages;
      assert(quick);
      await Deno.remove(storePath(folder.path, quick.sha256));
      assertEquals(await downloadPackages([quick], installation), [quick]);
      assertEquals(await isIntact(folder.path, quick.sha256), true);
      const other = { ...quick, sha256: "b".repeat(64) };
      await assertRejects(
        () => downloadPackages([other], installation),
        Error,
        "Cannot build 'quick==1.5' again",
      );
    });

    await t.step("and keeps its origin when other packages are added", async () => {
      const pinned = await resolve("user");
      const again = await resolvePackages({ requirements: ["user", "wheel-tool"], pinned }, installation);
      assertEquals(again.map(({ stored }) => stored?.source), ["built", "index", "index"]);
    });

    await t.step("but not if its wheel has native code, or it cannot do without a compiler", async () => {
      const native = await assertRejects(() => resolve("native-user"), ResolutionError);
      assertStringIncludes(native.message, "Cannot add 'quick', which native-user 1.0 needs, as");
      assertStringIncludes(
        native.message,
        "'quick-2.0.zip' cannot be built as its wheel has native code: quick/fast.so",
      );
      const compiled = await assertRejects(() => resolve("compiled-user"), ResolutionError);
      assertStringIncludes(
        compiled.message,
        "'quick-3.0.zip' cannot be built as its native extension is not optional, and a sandbox has no compiler",
      );
    });
  });
}
