import { assertEquals, assertRejects } from "@std/assert";
import { zipSync } from "fflate";
import { readPackageFiles } from "../../../src/sandbox/image/image_files.ts";
import { storeFile } from "../../../src/sandbox/image/package_store.ts";
import { readDistributionLock } from "../../../src/sandbox/image/pyodide.ts";
import { normalizeName } from "../../../src/sandbox/profile/packages.ts";
import { loadProfile, parseProfile } from "../../../src/sandbox/profile/profile.ts";
import { Sandbox } from "../../../src/sandbox/sandbox.ts";
import { sha256 } from "../../../src/hash.ts";
import { copyPlainImage } from "../copy_image.ts";
import { TempFolder } from "../../temp_folder.ts";
import { baseLibrary, userLibrary } from "./side_modules.ts";
import { value } from "../started.ts";

const OPEN = "import ctypes\nuser = ctypes.CDLL('/lib/python3.14/site-packages/native/libuser.so')\n";

Deno.test("a library of a stored package finds a shared library of the distribution by its file name", async () => {
  await using folder = await TempFolder.of();
  await copyPlainImage(folder.path);
  const profile = parseProfile(
    JSON.stringify({
      packages: {
        native: await store(folder.path, "native-1.0-py3-none-pyemscripten_2026_0_wasm32.whl", {
          "native/__init__.py": "",
          "native/libuser.so": userLibrary(),
        }),
        libbase: await store(folder.path, "libbase-1.0.zip", {
          "lib/libbase.so": baseLibrary(),
          "README": "",
        }),
      },
    }),
    { source: "mine" },
  );
  await using sandbox = await Sandbox.start({ profile, cacheDir: folder.path });
  await using session = await sandbox.openSession();
  assertEquals(value(await session.exec(`${OPEN}[user.add(5), user.read()]`)), "[15, 15]");
});

Deno.test("Sandbox.start() names the command for a stored package whose file is missing", async () => {
  await using folder = await TempFolder.of();
  await copyPlainImage(folder.path);
  const reason = await loadProfile("reason");
  const missing = { ...reason, packages: reason.packages.filter(({ name }) => name === "six") };
  await assertRejects(
    () => Sandbox.start({ profile: missing, cacheDir: folder.path }),
    TypeError,
    "Cannot install package 'six' as its file 'six-1.17.0-py2.py3-none-any.whl' is not downloaded; run " +
      "'paddock packages lock' for the profile",
  );
});

Deno.test("readPackageFiles() leaves out urllib3's use of a browser", async () => {
  await using folder = await TempFolder.of();
  const file = { "urllib3/contrib/emscripten/__init__.py": "import js\n", "urllib3/__init__.py": "x = 1\n" };
  const { packages } = parseProfile(
    JSON.stringify({
      packages: { urllib3: await store(folder.path, "urllib3-2.8.0-py3-none-any.whl", file) },
    }),
    { source: "mine" },
  );
  const files = await readPackageFiles(packages, folder.path);
  assertEquals(files.map(({ contents }) => new TextDecoder().decode(contents)), [
    "def inject_into_urllib3() -> None:\n    pass\n",
    "x = 1\n",
  ]);
});

Deno.test("the profile science has the files of the distribution that the interpreter is part of", async () => {
  const { packages } = await readDistributionLock();
  const science = await loadProfile("science");
  const files = (from: typeof science.packages) => from.map(({ name, path, sha256 }) => [name, path, sha256]);
  const expected = science.packages.map(({ name }) => packages[name]);
  assertEquals(
    files(science.packages),
    expected.map((entry) => [normalizeName(entry?.name ?? ""), entry?.file_name, entry?.sha256]),
  );
  const names = new Set(science.packages.map(({ name }) => name));
  assertEquals(expected.flatMap((entry) => entry?.depends ?? []).filter((name) => !names.has(name)), []);
});

async function store(
  cacheDir: string,
  file: string,
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<object> {
  const encoder = new TextEncoder();
  const entries = Object.entries(files).map(([path, text]) =>
    [path, typeof text === "string" ? encoder.encode(text) : text] as const
  );
  const contents = zipSync(Object.fromEntries(entries));
  const digest = await sha256(contents);
  await storeFile(cacheDir, { name: file, sha256: digest, contents });
  return { version: "1.0", file, sha256: digest, source: "pyodide" };
}
