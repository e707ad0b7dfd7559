import { assertEquals, assertRejects } from "@std/assert";
import { UsageError } from "../../../src/cli/cli_errors.ts";
import { downloadPackages, type Installation, resolvePackages } from "../../../src/cli/packages/install.ts";
import { PipResolver } from "../../../src/cli/packages/pip.ts";
import { ResolutionError } from "../../../src/cli/packages/resolution.ts";
import { SandboxResolver } from "../../../src/cli/packages/sandbox_resolver.ts";
import { isIntact } from "../../../src/sandbox/image/package_store.ts";
import { type DistributionLock, readDistributionLock } from "../../../src/sandbox/image/pyodide.ts";
import type { PackageFile } from "../../../src/sandbox/profile/packages.ts";
import { copyPlainImage } from "../../sandbox/copy_image.ts";
import { TempFolder } from "../../temp_folder.ts";
import { makeWheel, makeZip, PackageIndex, type ServedFile, type TestWheel } from "./package_index.ts";

const PLATFORM = "cp314-cp314-pyemscripten_2026_0_wasm32";
const WHEELS: readonly TestWheel[] = [
  { name: "app", version: "1.0", requires: ["middle>=1", "base<2", "windows; sys_platform == 'win32'"] },
  { name: "app", version: "0.9" },
  { name: "middle", version: "1.5", requires: ["base>=1", "linux; sys_platform == 'linux'"] },
  { name: "middle", version: "1.6", requires: ["base>=2", "wasm; platform_machine == 'wasm32'"] },
  { name: "base", version: "1.0" },
  { name: "base", version: "1.4", tags: PLATFORM },
  { name: "base", version: "2.0", tags: "cp314-cp314-manylinux_2_17_x86_64" },
  { name: "wasm", version: "1.0" },
  {
    name: "extra",
    version: "1.0",
    extras: ["more"],
    requires: ["base; extra == 'more'", "python-old; python_version < '3.14'"],
  },
  { name: "newest", version: "1.0", python: ">=3.14" },
  { name: "any", version: "1.0", tags: "py3-none-pyemscripten_2026_0_wasm32", requires: ["base"] },
  { name: "elsewhere", version: "1.0", tags: "cp314-cp314-win_amd64" },
  { name: "user", version: "2.0", requires: ["elsewhere>=1"] },
  { name: "old", version: "1.0", yanked: true },
  { name: "old", version: "0.9" },
  { name: "forged", version: "1.0", statedSha256: "a".repeat(64) },
  { name: "outer", version: "1.0", requires: ["linked"] },
  { name: "linked", version: "1.0", requires: ["source @ http://127.0.0.1:9/source-1.0.tar.gz"] },
  { name: "cloned", version: "1.0", requires: ["source @ git+http://127.0.0.1:9/source.git"] },
  {
    name: "elsewhere-only",
    version: "1.0",
    requires: ["source @ http://127.0.0.1:9/s-1.0.tar.gz ; sys_platform == 'win32'"],
  },
  { name: "language", version: "3.0", requires: ["base", "elsewhere", "unwritten>=2"] },
  { name: "language", version: "2.0", requires: ["elsewhere"] },
  { name: "language", version: "1.0", requires: ["elsewhere<1"] },
  { name: "spoken", version: "2.0", requires: ["elsewhere"] },
  { name: "spoken", version: "1.0", requires: ["base"] },
  { name: "first", version: "1.0", requires: ["base<1.2"] },
  { name: "second", version: "1.0", requires: ["base>=1.3"] },
];

Deno.env.set("PIP_RETRIES", "0"); // an index that cannot be reached is not tried for seconds

/** Reports what was chosen, in the form `name version source`. */
function chosen(packages: readonly PackageFile[]): string[] {
  return packages.map(({ name, stored }) => `${name} ${stored?.version} ${stored?.source}`);
}

/** The resolvers of this machine. Without pip, only that of the sandbox can be tested. */
const pip = await PipResolver.find({});
const RESOLVERS = pip === undefined ? ["sandbox"] as const : ["pip", "sandbox"] as const;

for (const kind of RESOLVERS) {
  Deno.test(`packages are resolved by ${kind}`, async (t) => {
    await using index = await PackageIndex.serve(WHEELS, { links: await slashedLink() });
    await using folder = await TempFolder.of();
    if (kind === "sandbox") await copyPlainImage(folder.path);
    const installation = installationOf(kind, folder.path, index.url);
    const resolve = async (...requirements: string[]) =>
      chosen(await resolvePackages({ requirements, pinned: [] }, installation));

    await t.step("with the versions, markers and tags of the sandbox", async () => {
      assertEquals(await resolve("app"), ["app 1.0 index", "base 1.4 index", "middle 1.5 index"]);
      assertEquals(await resolve("app==0.9", "any"), ["any 1.0 index", "app 0.9 index", "base 1.4 index"]);
      assertEquals(await resolve("wasm; sys_platform == 'emscripten'"), ["wasm 1.0 index"]);
    });

    await t.step("with the sandbox's version of Python, not the host's", async () => {
      assertEquals(await resolve("newest"), ["newest 1.0 index"]);
    });

    await t.step("with extras", async () => {
      assertEquals(await resolve("extra"), ["extra 1.0 index"]);
      assertEquals(await resolve("extra[more]"), ["base 1.4 index", "extra 1.0 index"]);
    });

    await t.step("with the reason why each is there", async () => {
      const packages = await resolvePackages({ requirements: ["app>=1"], pinned: [] }, installation);
      assertEquals(packages.map(({ name, stored }) => [name, stored?.requirement, stored?.neededBy]), [
        ["app", "app>=1", []],
        ["base", undefined, ["app", "middle"]],
        ["middle", undefined, ["app"]],
      ]);
    });

    await t.step("with pinned versions where they can be kept", async () => {
      const pinned = await resolvePackages({ requirements: ["base==1.0"], pinned: [] }, installation);
      const keep = { requirements: ["app"], pinned };
      assertEquals(chosen(await resolvePackages(keep, installation)).slice(0, 2), [
        "app 1.0 index",
        "base 1.0 index",
      ]);
      const change = { requirements: ["second"], pinned };
      assertEquals(chosen(await resolvePackages(change, installation)), [
        "base 1.4 index",
        "second 1.0 index",
      ]);
    });

    await t.step("and an unsolvable request names what excludes what", async () => {
      const error = await assertRejects(() => resolve("first", "second"), ResolutionError);
      assertEquals(error.failure.kind, "conflict");
      for (const part of ["first 1.0 needs base<1.2", "second 1.0 needs base>=1.3"]) {
        assertEquals(error.message.includes(part), true, error.message);
      }
    });

    await t.step("and a wheel of another platform names the package that needs it", async () => {
      const error = await assertRejects(() => resolve("user"), ResolutionError);
      assertEquals(
        error.message,
        "Cannot add 'elsewhere', which user 2.0 needs, as 'elsewhere>=1' needs a pure wheel or one for " +
          "pyemscripten_2026_0_wasm32: found 'elsewhere-1.0-cp314-cp314-win_amd64.whl'",
      );
    });

    await t.step("and the packages without a wheel are named, not what older versions exclude", async () => {
      const error = await assertRejects(() => resolve("language"), ResolutionError);
      assertEquals(
        error.message,
        "Cannot add 'elsewhere', which language 3.0 needs, as 'elsewhere' needs a pure wheel or one for " +
          "pyemscripten_2026_0_wasm32: found 'elsewhere-1.0-cp314-cp314-win_amd64.whl'; nor 'unwritten', which " +
          "language 3.0 needs, as 'unwritten>=2' needs a pure wheel or one for pyemscripten_2026_0_wasm32: the index " +
          "has none",
      );
      assertEquals(await resolve("spoken"), ["base 1.4 index", "spoken 1.0 index"]);
    });

    await t.step("and unknown packages are refused", async () => {
      const text =
        "Cannot add 'nothing' as 'nothing>1' needs a pure wheel or one for pyemscripten_2026_0_wasm32: " +
        "the index has none";
      await assertRejects(() => resolve("nothing>1"), ResolutionError, text);
      const hint = "Pyodide's distribution has numpy 2.4.6: add --yes to download from there";
      await assertRejects(() => resolve("numpy"), ResolutionError, hint);
    });

    await t.step("and a yanked version is not chosen, and refused if requested", async () => {
      assertEquals(await resolve("old"), ["old 0.9 index"]);
      await assertRejects(() => resolve("old==1.0"), UsageError, "its version 1.0 was yanked");
    });

    await t.step("and a file with another hash than its index states is refused", async () => {
      const error = await assertRejects(() => resolve("forged"), ResolutionError);
      assertEquals(error.failure.kind, "hash");
    });

    await t.step(
      "and a package that needs an address is refused, wherever it stands in the tree",
      async () => {
        const error = await assertRejects(() => resolve("outer"), ResolutionError);
        assertEquals(error.failure.kind, "address");
        assertEquals(
          error.message,
          "Cannot add 'source', which linked 1.0 needs, as packages come from the index only, and the requirement " +
            "names an address: source @ http://127.0.0.1:9/source-1.0.tar.gz",
        );
        const repository = await assertRejects(() => resolve("cloned"), ResolutionError);
        assertEquals(repository.failure.kind, "address");
        assertEquals(await resolve("elsewhere-only"), ["elsewhere-only 1.0 index"]); // another platform needs the address
      },
    );

    await t.step("and the name of a file that could name a path is refused", async () => {
      const error = await assertRejects(() => resolve("slashed"), ResolutionError);
      assertEquals(error.failure.kind, "missing");
    });

    await t.step("and downloads are checked and stored by their hash", async () => {
      const packages = await resolvePackages({ requirements: ["app"], pinned: [] }, installation);
      assertEquals((await downloadPackages(packages, installation)).length, 3);
      for (const { sha256 } of packages) assertEquals(await isIntact(folder.path, sha256), true);
      assertEquals(await downloadPackages(packages, installation), []);
      const [app] = packages;
      const changed = { ...app, sha256: "b".repeat(64) } as PackageFile;
      const error = await assertRejects(() => downloadPackages([changed], installation), ResolutionError);
      assertEquals(error.failure.kind, "hash");
    });

    await t.step("and an index that cannot be reached is named", async () => {
      const offline = installationOf(kind, folder.path, "http://127.0.0.1:9/simple/");
      const error = await assertRejects(
        () => resolvePackages({ requirements: ["base"], pinned: [] }, offline),
        ResolutionError,
      );
      assertEquals(
        error.message,
        "Cannot reach the package index at http://127.0.0.1:9/simple/base/: " +
          "check the network and the configuration of pip",
      );
    });

    await t.step("and packages of a distribution bring their shared libraries", async () => {
      const { lock, files } = await makeDistribution();
      await using mirror = await PackageIndex.serve(WHEELS, { mirrored: files });
      const options = {
        ...installationOf(kind, folder.path, mirror.url),
        lock: () => Promise.resolve(lock),
        pyodideUrl: mirror.mirrorUrl,
      };
      const packages = await resolvePackages({ requirements: ["plots", "base"], pinned: [] }, options);
      assertEquals(chosen(packages), [
        "arrays 2.0 pyodide",
        "base 1.4 index",
        "fortran 0.3 pyodide",
        "libalgebra 0.3 pyodide",
        "plots 3.0 pyodide",
        "science 1.0 pyodide",
      ]);
      assertEquals(packages[3]?.stored?.neededBy, ["arrays"]);
      await downloadPackages(packages, options);
      for (const { sha256 } of packages) assertEquals(await isIntact(folder.path, sha256), true);
    });
  });
}

function installationOf(
  kind: "pip" | "sandbox",
  cacheDir: string,
  index: string,
): Installation {
  const { signal } = new AbortController();
  const found = kind === "pip" ? PipResolver.find({ index }) : undefined; // a search starts pip
  return {
    cacheDir,
    signal,
    resolver: async () => await found ?? new SandboxResolver({ index, cacheDir }),
  };
}

/** Returns a link to a wheel whose decoded name has separators. */
async function slashedLink(): Promise<Record<string, string>> {
  const { sha256 } = await makeWheel({ name: "slashed", version: "1.0" });
  const file = "slashed-1.0-1%2F..%2F..%2Fslashed-py3-none-any.whl";
  return { slashed: `<a href="/files/${file}#sha256=${sha256}">slashed</a>` };
}

/** A small distribution whose packages depend on each other as those of numpy, scipy and matplotlib do. */
async function makeDistribution(): Promise<{ lock: DistributionLock; files: ServedFile[] }> {
  const { info } = await readDistributionLock();
  const wheels: (TestWheel & { depends: string[] })[] = [
    { name: "plots", version: "3.0", requires: ["science>=1", "arrays"], depends: ["science", "arrays"] },
    { name: "science", version: "1.0", requires: ["arrays>=2"], depends: ["arrays"] },
    { name: "arrays", version: "2.0", depends: ["libalgebra"] },
  ];
  const files: ServedFile[] = [];
  const packages: Record<string, DistributionLock["packages"][string]> = {};
  const add = (name: string, version: string, type: string, depends: string[], served: ServedFile) => {
    files.push(served);
    const { file, sha256 } = served;
    packages[name] = { name, version, file_name: file, sha256, depends, package_type: type };
  };
  for (const { depends, ...wheel } of wheels) {
    add(wheel.name, wheel.version, "package", depends, await makeWheel({ ...wheel, tags: PLATFORM }));
  }
  for (const [name, depends] of [["libalgebra", ["fortran"]], ["fortran", []]] as const) {
    const bytes = makeZip({ [`lib/${name}.so`]: "" });
    const sha256 = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
    add(name, "0.3", "shared_library", [...depends], { file: `${name}-0.3.zip`, bytes, sha256 });
  }
  return { lock: { info, packages }, files };
}
